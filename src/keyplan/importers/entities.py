"""Plan entities from a source's knowledge about a table's items: typed fields, keys and discriminators."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from keyplan.design.schema import Index
from keyplan.importers.python_text import PythonNames, field_name
from keyplan.importers.schemas import Item, SourceEntity, SourceTable

_PLAIN = {
    "S": "str",
    "B": "bytes",
    "BOOL": "bool",
    "M": "dict[str, Any]",
    "L": "list[Any]",
    "SS": "set[str]",
    "BS": "set[bytes]",
}
ANY = "Any"


_SETS = ("SS", "NS", "BS")


_SEPARATOR = "#"
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]*")
_TELLING_LENGTH = 6
"""Values of this length are unlikely to be equal by chance."""
_MADE = re.compile(r"^[gl]si|[ps]k[\W_]*\d*$", re.IGNORECASE)


def is_item(value: object) -> bool:
    """Return True if a value has the form of an item: each attribute a type with its content."""
    return isinstance(value, Mapping) and all(map(_is_value, value.values()))


def _is_value(value: object) -> bool:
    if not (isinstance(value, Mapping) and len(value) == 1):
        return False
    ((code, content),) = value.items()
    return code not in _SETS or isinstance(content, list)


def python_type(code: str | None, values: Iterable[Mapping[str, Any]]) -> str:
    """Return the annotation for an attribute of a type (None if unknown) with these values.

    Numbers without values are Decimal, which reads all of them.
    """
    contents = [next(iter(value.items())) for value in values if "NULL" not in value]
    codes = {name for name, _ in contents} or ({code} if code else set())
    if len(codes) != 1:
        return ANY
    (found,) = codes
    if found == "N":
        return _number([content for _, content in contents])
    if found == "NS":
        return f"set[{_number([element for _, content in contents for element in content])}]"
    return _PLAIN.get(found, ANY)


def _number(contents: list[Any]) -> str:
    return "int" if contents and all(map(_is_whole, contents)) else "Decimal"


def _is_whole(content: object) -> bool:
    try:
        number = Decimal(str(content))
    except InvalidOperation:
        return False
    return number.is_finite() and number == number.to_integral_value()


@dataclass(frozen=True)
class Shape:
    """The pattern of a key attribute: literal words, and None for values."""

    words: tuple[str | None, ...]
    values: tuple[tuple[str, ...], ...]
    """For each value part, its values in the samples."""
    called: tuple[str, ...]
    """For each value part, its name in the source or the word before it, or ""."""

    @property
    def text(self) -> str:
        """Return the words, with {} for each value."""
        return _SEPARATOR.join("{}" if word is None else word for word in self.words)


def shape_of(texts: Sequence[str], alias: str = "") -> Shape | None:
    """Return the common shape of texts, or None if it is ambiguous."""
    if not texts or any(brace in text for text in texts for brace in "{}"):
        return None
    split = [text.split(_SEPARATOR) for text in texts]
    names = alias.split(_SEPARATOR)
    size = len(split[0])
    if any(len(parts) != size for parts in split) or (size == 1 and not _is_one_word(texts, alias)):
        return None
    names = names if len(names) == size else [""] * size
    columns = [tuple(parts[at] for parts in split) for at in range(size)]
    if any(_doubtful(columns[at], names[at]) for at in range(1, size - 1)):
        return None
    varied = len(set(texts)) > 1
    words = tuple(_word(columns, at, names[at], varied=varied) for at in range(size))
    values = tuple(column for column, word in zip(columns, words, strict=True) if word is None)
    if words[0] is None or not any(words) or any(not value for column in values for value in column):
        return None
    called = tuple(_called(words, at, names[at]) for at in range(size) if words[at] is None)
    aliases = [name for name in alias.split(_SEPARATOR) if name]
    if len(aliases) == len(values):  # an alias that names only the values: SubId#SKU of SUB#17#SKU#99
        called = tuple(map(_bare, aliases))
    return Shape(words, values, called)


def _doubtful(column: Sequence[str], name: str) -> bool:
    """Return True if a part in the middle may be a word or a value: open in STATUS#open#17."""
    text = column[0]
    is_word = len(set(column)) == 1 and _WORD.fullmatch(text) is not None
    return is_word and not text.isupper() and not name


def _is_one_word(texts: Sequence[str], alias: str) -> bool:
    """Return True if a key without separators is always the same word: its alias, or equal in several items."""
    return len(set(texts)) == 1 and (texts[0] == alias or (len(texts) > 1 and texts[0].isupper()))


def _word(columns: Sequence[tuple[str, ...]], at: int, name: str, *, varied: bool) -> str | None:
    """Return the literal text of a part, or None for a value."""
    column = columns[at]
    if len(set(column)) > 1:
        return None
    text = column[0]
    if text == "":
        return text
    if at and name and text != name and not text.isupper():
        return None  # the alias names a value
    is_last = at == len(columns) - 1
    likely = _WORD.fullmatch(text) is not None and (not is_last or varied or len(columns) == 1)
    return text if text == name or likely else None


def _called(words: Sequence[str | None], at: int, name: str) -> str:
    if name:
        return _bare(name)
    before = words[at - 1]
    return f"{before.lower()}_id" if before else ""


def _bare(name: str) -> str:
    return name.strip("<>{}[]$ ")


def is_telling(column: Sequence[str]) -> bool:
    """Return True if equal columns hold the same value rather than being equal by chance."""
    return len(set(column)) > 1 or len(column[0]) >= _TELLING_LENGTH


@dataclass(frozen=True)
class PlannedField:
    """A field of an entity."""

    name: str
    attribute: str
    """The attribute in which it is stored."""
    annotation: str
    is_required: bool = False
    column: tuple[str, ...] | None = None
    """Its text in each sample, or None if missing or not a text."""


@dataclass(frozen=True)
class PlannedKey:
    """The composition of a key attribute: a template with fields, or a single field."""

    attribute: str
    template: str | None
    fields: tuple[str, ...]
    shape: str = ""
    """The sample shape from which the template was guessed."""


@dataclass
class PlannedEntity:
    """An entity to write."""

    name: str
    source: SourceEntity
    fields: dict[str, PlannedField] = field(default_factory=dict)
    """By name."""
    key: tuple[PlannedKey, ...] = ()
    indexes: dict[str, tuple[PlannedKey, ...]] = field(default_factory=dict)
    """By index that it can be in."""
    partition_sizes: dict[str, int] = field(default_factory=dict)
    """By index: the number of partition key attributes."""
    templated: frozenset[str] = frozenset()
    """Indexes with template keys."""
    keeps_key_fields: bool = True
    """True if a field in a key is also stored as an attribute."""

    @property
    def is_guessed(self) -> bool:
        """Return True if a key is guessed."""
        return any(part.shape for key in (self.key, *self.indexes.values()) for part in key)


def plan_entities(table: SourceTable, discriminator: str | None = None) -> list[PlannedEntity]:
    """Return a table's entities: one for each known kind of items, or one for all items."""
    known = table.entities or (SourceEntity(name="", attributes=()),)
    projected = [name for index in table.indexes if isinstance(index.project, tuple) for name in index.project]
    unclaimed = [
        name
        for name in (*table.key_attributes, *projected, *([table.ttl] if table.ttl else []))
        if not any(name in _attributes(table, value) for value in known)
    ]
    return [_Planner(table, value, unclaimed, discriminator).plan() for value in known]


def _attributes(table: SourceTable, entity: SourceEntity) -> list[str]:
    """Return the attributes of a kind of items: primary key first, then index keys."""
    held = dict.fromkeys((*entity.attributes, *(name for item in entity.samples for name in item)))
    first = [name for name in table.key_attributes if name in held or name in table.key]
    return list(dict.fromkeys((*table.key, *first, *held)))


class _Planner:
    """Plans one entity of a table."""

    def __init__(
        self, table: SourceTable, source: SourceEntity, unclaimed: Sequence[str], discriminator: str | None
    ) -> None:
        self._table, self._source = table, source
        self._names = PythonNames.of_class()
        self._made = PlannedEntity(source.name, source)
        self._attributes = [
            name
            for name in dict.fromkeys((*_attributes(table, source), *unclaimed))
            if name != discriminator or name in table.key_attributes
        ]
        self._shapes = {name: shape for name in table.key if (shape := self._shape(name)) is not None}

    def plan(self) -> PlannedEntity:
        """Return the entity."""
        entity = self._made
        for attribute in self._attributes:
            if attribute not in self._shapes:
                self._add(attribute, self._annotation(attribute), self._column(attribute))
        keys = {name: self._key(name, may_add=True) for name in self._table.key}
        entity.key = tuple(keys[name] for name in self._table.key)
        in_key = {name: entity.fields[name] for part in entity.key for name in part.fields}
        entity.fields = {name: replace(planned_field, is_required=True) for name, planned_field in in_key.items()} | {
            name: planned_field for name, planned_field in entity.fields.items() if name not in in_key
        }
        held = [name for part in entity.key if part.template for name in part.fields]
        entity.keeps_key_fields = not held or any(name in self._stored_before for name in held)
        for index in self._table.indexes:
            self._plan_index(index, keys)
        return entity

    @property
    def _stored_before(self) -> set[str]:
        """Return fields that are attributes of the samples, not only parts of their keys."""
        return {field.name for field in self._made.fields.values() if field.attribute in self._attributes}

    def _plan_index(self, index: Index, keys: dict[str, PlannedKey]) -> None:
        """Plan the key in an index if the items have all its attributes; `keys`: the keys planned so far."""
        if not all(name in self._attributes for name in index.attributes):
            return
        for name in index.attributes:
            if name not in keys:
                keys[name] = self._key(name, may_add=False)
        parts = tuple(keys[name] for name in index.attributes)
        self._made.indexes[index.name] = parts
        self._made.partition_sizes[index.name] = len(index.partition)
        if any(part.template for part in parts if part.attribute not in self._table.key):
            self._made.templated |= {index.name}

    def _key(self, attribute: str, *, may_add: bool) -> PlannedKey:
        """Plan a key attribute. `may_add`: whether one of its values may become a new field."""
        shape = self._shapes.get(attribute) if may_add else self._shape(attribute)
        own = next((field for field in self._made.fields.values() if field.attribute == attribute), None)
        if shape is not None:
            names = [
                self._holder(called, column, attribute) or self._new(called or attribute, column, may_add=may_add)
                for called, column in zip(shape.called, shape.values, strict=True)
            ]
            if all(names):
                self._drop(own)
                template = shape.text.format(*(f"{{{name}}}" for name in names))
                return PlannedKey(attribute, template, tuple(dict.fromkeys(names)), shape.text)
        holder = self._holder("", own.column, attribute) if own is not None and self._is_made(attribute) else ""
        if holder and not may_add:
            self._drop(own)
            return PlannedKey(attribute, f"{{{holder}}}", (holder,), "{}")
        return PlannedKey(attribute, None, () if own is None else (own.name,))

    def _is_made(self, attribute: str) -> bool:
        """Return True if an attribute exists only for an index, judging by its name, such as GSI1PK."""
        return attribute not in self._table.key and _MADE.search(attribute) is not None

    def _shape(self, attribute: str) -> Shape | None:
        """Return the shape of a text if every item has the attribute: otherwise more items would enter the index."""
        if attribute == self._table.ttl or self._table.types.get(attribute) != "S":
            return None
        texts = [item[attribute]["S"] for item in self._source.samples if "S" in item.get(attribute, ())]
        if len(texts) < len(self._source.samples) or not all(isinstance(text, str) for text in texts):
            return None
        alias = self._source.aliases.get(attribute, "")
        return shape_of(texts, "" if alias in self._attributes else alias)

    def _holder(self, called: str, column: tuple[str, ...] | None, besides: str) -> str:
        """Return the field with the value of a key part in every sample."""
        for candidate in self._made.fields.values():
            if (
                column is None
                or candidate.column != column
                or candidate.attribute == besides
                or self._is_made(candidate.attribute)
            ):
                continue
            if called in {candidate.name, candidate.attribute} or is_telling(column):
                return candidate.name
        return ""

    def _new(self, called: str, column: tuple[str, ...], *, may_add: bool) -> str:
        """Add a field for a value that only a key contains."""
        if not may_add:
            return ""
        name = self._names.take(field_name(called))
        while name in self._attributes:
            name = self._names.take(name)
        self._made.fields[name] = PlannedField(name, name, "str", column=column)
        return name

    def _alias(self, attribute: str) -> str:
        """Return the source's name for a key attribute, if it has its own."""
        alias = self._source.aliases.get(attribute, "")
        return alias if alias.isidentifier() and alias not in self._attributes else ""

    def _add(self, attribute: str, annotation: str, column: tuple[str, ...] | None) -> None:
        name = self._names.take(field_name(self._alias(attribute) or attribute))
        needed = attribute in self._table.key
        self._made.fields[name] = PlannedField(name, attribute, annotation, needed, column)

    def _drop(self, planned_field: PlannedField | None) -> None:
        """Remove the field of an attribute that a template composes."""
        if planned_field is not None:
            del self._made.fields[planned_field.name]

    def _annotation(self, attribute: str) -> str:
        found = python_type(self._table.types.get(attribute), self._values(attribute))
        if attribute in self._table.key_attributes:
            code = self._table.types[attribute]
            fits = {"S": ("str",), "N": ("int", "Decimal"), "B": ("bytes",)}[code]
            found = found if found in fits else fits[-1]
        if attribute == self._table.ttl and found in {"int", "Decimal", "Any"}:
            return "datetime" if self._expires_whole(attribute) else "Decimal"
        return found

    def _expires_whole(self, attribute: str) -> bool:
        values = self._values(attribute)
        return not values or python_type("N", values) == "int"

    def _values(self, attribute: str) -> list[Mapping[str, object]]:
        return [item[attribute] for item in self._source.samples if attribute in item]

    def _column(self, attribute: str) -> tuple[str, ...] | None:
        texts = [item.get(attribute, {}).get("S") for item in self._source.samples]
        known = tuple(text for text in texts if isinstance(text, str))
        return known if known and len(known) == len(texts) else None


def discriminator(table: SourceTable) -> tuple[str | None, tuple[str, ...]]:
    """Return the attribute that distinguishes kinds of items in all samples, with its value for each kind."""
    if len(table.entities) < 2 or not all(kind.samples for kind in table.entities):
        return None, ()
    for attribute in table.entities[0].samples[0]:
        values = [_constant(kind.samples, attribute) for kind in table.entities]
        known = [value for value in values if value]
        if attribute not in table.key_attributes and len(set(known)) == len(values) == len(known):
            return attribute, tuple(known)
    return None, ()


def _constant(samples: Sequence[Item], attribute: str) -> str:
    """Return the constant text of an attribute in all samples, or ""."""
    found = {str(item.get(attribute, {}).get("S", "")) for item in samples}
    return found.pop() if len(found) == 1 else ""
