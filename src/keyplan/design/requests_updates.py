"""The update expression of a partial update: its own changes, what they do to index keys, and the version.

What a clause is depends on the call: None, and a set without members, are stored as nothing, so setting a
field to them removes it; and an index key is set or removed as the entity enters or leaves the index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError

from keyplan.design.conditions import UNKNOWN, Path
from keyplan.design.entities import EntitySpec
from keyplan.design.fields import AttributeValue, StoredField, encode_value, member_encoder
from keyplan.design.keys import BoundKey
from keyplan.design.plan import IndexEffect, Plan
from keyplan.design.requests_items import IndexKey
from keyplan.design.requests_sources import Arguments, Read, reader
from keyplan.design.requests_text import Fragment, Placeholders, Writer, called
from keyplan.design.symbols import Source
from keyplan.design.terms import Action


@dataclass
class Clauses:
    """The clauses of one call's update expression."""

    names: dict[str, str]
    values: dict[str, AttributeValue]
    sets: list[str] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
    adds: list[str] = field(default_factory=list)
    deletes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The whole expression; empty where nothing changes."""
        told = (("SET", self.sets), ("REMOVE", self.removes), ("ADD", self.adds), ("DELETE", self.deletes))
        return " ".join(f"{word} {', '.join(clauses)}" for word, clauses in told if clauses)


Clause = Callable[[Arguments, Clauses], None]


class Update:
    """The update expression of one plan."""

    def __init__(self, plan: Plan, placeholders: Placeholders) -> None:
        self._spec, self._placeholders = plan.entity, placeholders
        self._clauses: list[Clause] = [self._clause(action) for action in plan.actions]
        if self._spec.version is not None:
            self._clauses.append(self._counting(self._spec.version))
        effects = plan.effects
        if plan.exists == "may":
            self._clauses += self._creating(plan)
            effects = (*effects, *_known_indexes(plan))
        if effects:
            self._clauses.append(_Effects(effects, self._spec, placeholders).bind)

    def bind(self, arguments: Arguments, names: dict[str, str], values: dict[str, AttributeValue]) -> str:
        """The update expression of a call."""
        clauses = Clauses(names, values)
        for clause in self._clauses:
            clause(arguments, clauses)
        return clauses.text()

    def _writer(self) -> Writer:
        return Writer(self._placeholders, self._spec.fields)

    def _clause(self, action: Action) -> Clause:
        stored = self._spec.fields[action.path.field]
        inner = action.path.parts[1:]
        encode = member_encoder(stored.annotation, inner) if inner else _checked(stored)
        return _CLAUSES[action.name](self._writer, action.path, action.source, encode)

    def _counting(self, version: str) -> Clause:
        writer = self._writer()
        name = writer.name(self._spec.fields[version].attribute)
        fragment = writer.fragment(f"{name} {writer.value('one', lambda _arguments: {'N': '1'})}")
        return _always("adds", fragment)

    def _creating(self, plan: Plan) -> list[Clause]:
        """What makes an item of it, where the update creates one: fields of the key, the discriminator."""
        spec = self._spec
        clauses = []
        for name, source in _key_sources(plan).items():
            stored = spec.fields[name]
            if stored.attribute not in spec.schema.key and name not in spec.is_in_key_only:
                clauses.append(_set(self._writer, Path(name), source, stored.encode))
        attribute = spec.schema.discriminator
        if attribute is not None and all(stored.attribute != attribute for stored in spec.fields.values()):
            writer = self._writer()
            value = writer.value(attribute, lambda _arguments: {"S": spec.name})
            clauses.append(_always("sets", writer.fragment(f"{writer.name(attribute)} = {value}")))
        return clauses


def _checked(stored: StoredField) -> Encode:
    """A field's encoder for values that no model has seen."""
    validate, encode = validator(stored), stored.encode
    return lambda value: encode(validate(value))


@lru_cache(maxsize=4096)
def validator(stored: StoredField) -> Callable[[Any], Any]:
    """The value that a field's model would make of a value. Raises ValueError for what it would refuse."""
    limits = stored.info.metadata
    declared: Any = Annotated[(stored.info.annotation, *limits)] if limits else stored.info.annotation
    validate, name = TypeAdapter(declared).validate_python, stored.name

    def checked(value: Any) -> Any:
        try:
            return validate(value)
        except ValidationError as error:
            problems = "; ".join(one["msg"] for one in error.errors())
            raise ValueError(f"{name}={value!r} is not what the entity takes: {problems}") from None

    return checked


def _key_sources(plan: Plan) -> dict[str, Source]:
    assert plan.key is not None, "an update names its item"
    parts = (*plan.key.partition, *(part.low for part in plan.key.sort))
    return {name: source for part in parts for name, source in part.sources.items()}


def _known_indexes(plan: Plan) -> list[IndexEffect]:
    """Keys of indexes that an update which creates the item knows all of, though it does not change them."""
    known = _key_sources(plan)
    for action in plan.actions:
        if action.name == "set" and len(action.path.parts) == 1:
            known[action.path.field] = action.source
    told = {id(effect.key) for effect in plan.effects}
    return [
        IndexEffect(bound, {name: known[name] for name in bound.depends_on})
        for bound in plan.entity.indexes
        if id(bound) not in told and all(name in known for name in bound.depends_on)
    ]


def _always(part: str, fragment: Fragment) -> Clause:
    def clause(arguments: Arguments, clauses: Clauses) -> None:
        getattr(clauses, part).append(fragment.bind(arguments, clauses.names, clauses.values))

    return clause


# One function per action. `writer` makes a new writer, because a clause may have several forms.

NewWriter = Callable[[], Writer]
Encode = Callable[[Any], AttributeValue]


def _set(new_writer: NewWriter, path: Path, source: Source, encode: Encode) -> Clause:
    read = reader(source)
    writer, removing = new_writer(), new_writer()
    set_to = writer.fragment(
        f"{writer.path(path)} = {writer.value(_called(path), lambda arguments: encode(read(arguments)))}"
    )
    removed = removing.fragment(removing.path(path))

    def clause(arguments: Arguments, clauses: Clauses) -> None:
        if is_nothing(read(arguments)):
            clauses.removes.append(removed.bind(arguments, clauses.names, clauses.values))
        else:
            clauses.sets.append(set_to.bind(arguments, clauses.names, clauses.values))

    return clause


def _set_if_missing(new_writer: NewWriter, path: Path, source: Source, encode: Encode) -> Clause:
    writer = new_writer()
    name = writer.path(path)
    value = writer.value(_called(path), lambda arguments: encode(reader(source)(arguments)))
    return _unless_nothing("sets", writer.fragment(f"{name} = if_not_exists({name}, {value})"), reader(source))


def _remove(new_writer: NewWriter, path: Path, _source: Source, _encode: Encode) -> Clause:
    writer = new_writer()
    return _always("removes", writer.fragment(writer.path(path)))


def _add(new_writer: NewWriter, path: Path, source: Source, _encode: Encode) -> Clause:
    writer = new_writer()
    name = writer.path(path)
    value = writer.source(_called(path), source, encode_value)
    if len(path.parts) == 1:
        return _always("adds", writer.fragment(f"{name} {value}"))
    # ADD takes attributes only, not what lies in them.
    zero = writer.value("zero", lambda _arguments: {"N": "0"})
    return _always("sets", writer.fragment(f"{name} = if_not_exists({name}, {zero}) + {value}"))


def _append(new_writer: NewWriter, path: Path, source: Source, _encode: Encode) -> Clause:
    writer = new_writer()
    read = reader(source)
    name = writer.path(path)

    def members(arguments: Arguments) -> AttributeValue:
        value = read(arguments)
        return encode_value(value if isinstance(value, (list, tuple)) else [value])

    empty = writer.value("empty", lambda _arguments: {"L": []})
    text = f"{name} = list_append(if_not_exists({name}, {empty}), {writer.value(_called(path), members)})"
    return _always("sets", writer.fragment(text))


def _members(part: str) -> Callable[[NewWriter, Path, Source, Encode], Clause]:
    """Adding to sets and removing from them: a member, or a set of members."""

    def make(new_writer: NewWriter, path: Path, source: Source, _encode: Encode) -> Clause:
        writer = new_writer()
        read = reader(source)

        def members(arguments: Arguments) -> AttributeValue:
            value = read(arguments)
            return encode_value(set(value) if isinstance(value, (set, frozenset, list, tuple)) else {value})

        text = f"{writer.path(path)} {writer.value(_called(path), members)}"
        return _unless_nothing(part, writer.fragment(text), read)

    return make


def _unless_nothing(part: str, fragment: Fragment, read: Read) -> Clause:
    clause = _always(part, fragment)

    def told(arguments: Arguments, clauses: Clauses) -> None:
        if not is_nothing(read(arguments)):
            clause(arguments, clauses)

    return told


def is_nothing(value: object) -> bool:
    """Whether a value is stored as the absence of its attribute."""
    return value is None or (isinstance(value, (set, frozenset)) and not value)


def _called(path: Path) -> str:
    return called(path.parts[-1])


_CLAUSES: dict[str, Callable[[NewWriter, Path, Source, Encode], Clause]] = {
    "set": _set,
    "set_if_missing": _set_if_missing,
    "remove": _remove,
    "add": _add,
    "append": _append,
    "add_to_set": _members("adds"),
    "remove_from_set": _members("deletes"),
}


class _Effects:
    """What an update does to index keys: set as a whole, or removed as a whole."""

    def __init__(self, effects: tuple[IndexEffect, ...], spec: EntitySpec, placeholders: Placeholders) -> None:
        self._effects = [
            (
                IndexKey(effect.key, spec),
                [(name, reader(source), validator(spec.fields[name])) for name, source in effect.sources.items()],
            )
            for effect in effects
        ]
        self._kept = _used_elsewhere([effect.key for effect in effects], spec)
        self._places: dict[str, tuple[str, str]] = {}
        for index, _ in self._effects:
            for attribute, _make in index.made:
                writer = Writer(placeholders, spec.fields)
                self._places[attribute] = (writer.name(attribute), placeholders.free(f":{attribute}"))

    def bind(self, arguments: Arguments, clauses: Clauses) -> None:
        """Add the clauses of a call."""
        found: dict[str, AttributeValue | None] = {}
        for index, sources in self._effects:
            values = {}
            for name, read, checked in sources:
                value = read(arguments)
                values[name] = value if value is None or value is UNKNOWN else checked(value)
            inside = index.holds(values)
            for attribute, make in index.made:
                made = make(values) if inside else None
                if made is not None or attribute not in found:
                    found[attribute] = made
        for attribute, made in found.items():
            name, placeholder = self._places[attribute]
            if made is not None:
                clauses.sets.append(f"{name} = {placeholder}")
                clauses.values[placeholder] = made
                clauses.names[name] = attribute
            elif attribute not in self._kept:
                clauses.removes.append(name)
                clauses.names[name] = attribute


def _used_elsewhere(touched: list[BoundKey], spec: EntitySpec) -> Mapping[str, object]:
    """Attributes that keys of other indexes, which the update leaves alone, are made of too."""
    told = {id(bound) for bound in touched}
    others = [bound for bound in spec.indexes if id(bound) not in told]
    return {part.attribute: bound for bound in others for part in bound.attributes}
