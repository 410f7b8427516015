"""The update expression of a partial update: its own changes, what they do to index keys, and the version.

Its own changes are clauses (`requests_clauses`); an index key is set or removed as the entity enters or leaves
the index.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from keyplan.design.conditions import UNKNOWN, Path
from keyplan.design.entities import EntitySpec
from keyplan.design.field_encoding import Encode, member_encoder
from keyplan.design.field_types import AttributeValue
from keyplan.design.fields import StoredField, validator
from keyplan.design.keys import BoundKey
from keyplan.design.plan import IndexEffect, Plan
from keyplan.design.requests_clauses import CLAUSES, Clause, Clauses, always, set_always, set_clause
from keyplan.design.requests_items import IndexKey
from keyplan.design.requests_sources import Arguments, reader
from keyplan.design.requests_text import Placeholders, Writer
from keyplan.design.symbols import Source, is_never_none
from keyplan.design.terms_writes import Action


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
        self._effects = _Effects(effects, self._spec, placeholders) if effects else None

    def bind(self, arguments: Arguments, names: dict[str, str], values: dict[str, AttributeValue]) -> str:
        """The update expression of a call."""
        clauses = Clauses(names, values)
        for clause in self._clauses:
            clause.bind(arguments, clauses)
        if self._effects is not None:
            self._effects.bind(arguments, clauses)
        return clauses.text()

    @property
    def longest(self) -> str:
        """The update expression of the call for which it is longest, as far as that is sure."""
        clauses = Clauses({}, {})
        for clause in self._clauses:
            getattr(clauses, clause.part).append(clause.longest)
        if self._effects is not None:
            clauses.sets += self._effects.sure
        return clauses.text()

    def _writer(self) -> Writer:
        return Writer(self._placeholders, self._spec.fields)

    def _clause(self, action: Action) -> Clause:
        stored = self._spec.fields[action.path.field]
        inner = action.path.parts[1:]
        encode = member_encoder(stored.annotation, inner) if inner else _checked(stored)
        if action.name == "set" and not inner and stored.is_needed:
            return set_always(self._writer, action.path, action.source, encode)
        return CLAUSES[action.word](self._writer, action.path, action.source, encode)

    def _counting(self, version: str) -> Clause:
        writer = self._writer()
        name = writer.name(self._spec.fields[version].attribute)
        fragment = writer.fragment(f"{name} {writer.value('one', lambda _arguments: {'N': '1'})}")
        return always("adds", fragment)

    def _creating(self, plan: Plan) -> list[Clause]:
        """What makes an item of it, where the update creates one: fields of the key, the discriminator."""
        spec = self._spec
        clauses = []
        for name, source in _key_sources(plan).items():
            stored = spec.fields[name]
            if stored.attribute not in spec.schema.key and name not in spec.is_in_key_only:
                clauses.append(set_clause(self._writer, Path(name), source, stored.encode))
        attribute = spec.schema.discriminator
        if attribute is not None and all(stored.attribute != attribute for stored in spec.fields.values()):
            writer = self._writer()
            value = writer.value(attribute, lambda _arguments: {"S": spec.name})
            clauses.append(always("sets", writer.fragment(f"{writer.name(attribute)} = {value}")))
        return clauses


def _checked(stored: StoredField) -> Encode:
    """A field's encoder for values that no model has seen."""
    validate, encode = validator(stored), stored.encode
    return lambda value: encode(validate(value))


def _key_sources(plan: Plan) -> dict[str, Source]:
    assert plan.key is not None, "an update names its item"
    return {name: source for value in plan.key.values for name, source in value.sources.items()}


def _known_indexes(plan: Plan) -> list[IndexEffect]:
    """Keys of indexes that an update which creates the item knows all of, though it does not change them."""
    known = _key_sources(plan)
    for action in plan.actions:
        if action.name in {"set", "add"} and len(action.path.parts) == 1:
            known[action.path.field] = action.source if action.name == "set" else UNKNOWN
    told = {id(effect.key) for effect in plan.effects}
    return [
        IndexEffect(bound, {name: known[name] for name in bound.depends_on})
        for bound in plan.entity.indexes
        if id(bound) not in told and all(name in known for name in bound.depends_on)
    ]


class _Effects:
    """What an update does to index keys: set as a whole, or removed as a whole."""

    def __init__(self, effects: tuple[IndexEffect, ...], spec: EntitySpec, placeholders: Placeholders) -> None:
        self._effects = [
            (
                IndexKey(effect.key, spec),
                [(name, reader(source), validator(spec.fields[name])) for name, source in effect.sources.items()],
                partial(_check_leaves, effect, _unknown(effect, spec)),
            )
            for effect in effects
        ]
        self._kept = _used_elsewhere([effect.key for effect in effects], spec)
        self._places: dict[str, tuple[str, str]] = {}
        for index, _, _ in self._effects:
            for attribute, _make in index.made:
                writer = Writer(placeholders, spec.fields)
                self._places[attribute] = (writer.name(attribute), placeholders.value(attribute))
        self._sure = [
            attribute
            for effect, (index, _, _) in zip(effects, self._effects, strict=True)
            if effect.key.when is None and all(source is not None for source in effect.sources.values())
            for attribute, _make in index.made
        ]

    @property
    def sure(self) -> list[str]:
        """What is set in every call that gives all values; whether an index with a condition is, depends on them."""
        return [" = ".join(self._places[attribute]) for attribute in dict.fromkeys(self._sure)]

    def bind(self, arguments: Arguments, clauses: Clauses) -> None:
        """Add the clauses of a call."""
        found: dict[str, AttributeValue | None] = {}
        for index, sources, check_leaves in self._effects:
            values = {}
            for name, read, checked in sources:
                value = read(arguments)
                values[name] = value if value is None or value is UNKNOWN else checked(value)
            inside = index.holds(values)
            if inside:
                check_leaves(values)
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


def _unknown(effect: IndexEffect, spec: EntitySpec) -> list[str]:
    """Fields that an index key is made of and the update does not know: the item leaves the index, by its plan."""
    made_of = dict.fromkeys(name for part in spec.made_in(effect.key) for name in part.fields)
    return [name for name in made_of if effect.sources.get(name) is UNKNOWN]


def _check_leaves(effect: IndexEffect, unknown: list[str], values: Mapping[str, object]) -> None:
    """Refuse None where the plan rests on there being a value, by which the item leaves the index."""
    nothing = [name for name, source in effect.sources.items() if values[name] is None and is_never_none(source)]
    if unknown and nothing:
        raise ValueError(
            f"{nothing[0]} is None, which the annotation of {effect.sources[nothing[0]]!r} leaves out: the key of index"
            f" {effect.key.index.name} would also need {', '.join(unknown)}"
        )


def _used_elsewhere(touched: list[BoundKey], spec: EntitySpec) -> Mapping[str, object]:
    """Attributes that keys of other indexes, which the update leaves alone, are made of too."""
    told = {id(bound) for bound in touched}
    others = [bound for bound in spec.indexes if id(bound) not in told]
    return {part.attribute: bound for bound in others for part in bound.attributes}
