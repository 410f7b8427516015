"""Entities planned of what a source knows of a table's items: fields with their types, keys, what tells them apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from keyplan.design.schema import Index
from keyplan.importers.key_shapes import Shape, is_telling, shape_of
from keyplan.importers.names import Names, field_name
from keyplan.importers.samples import python_type
from keyplan.importers.source import Item, SourceEntity, SourceTable

_MADE = re.compile(r"^[gl]si|[ps]k[\W_]*\d*$", re.IGNORECASE)


@dataclass(frozen=True)
class PlannedField:
    """A field of an entity."""

    name: str
    attribute: str
    """The attribute it is stored under."""
    annotation: str
    is_required: bool = False
    column: tuple[str, ...] | None = None
    """Its text in each sample; None where one has none, or it is no text."""


@dataclass(frozen=True)
class PlannedKey:
    """How an attribute of a key is made: of text with fields in it, or it is a field."""

    attribute: str
    template: str | None
    fields: tuple[str, ...]
    shape: str = ""
    """The samples' shape that the template was guessed from."""


@dataclass
class PlannedEntity:
    """An entity as it will be written."""

    name: str
    source: SourceEntity
    fields: dict[str, PlannedField] = field(default_factory=dict)
    """By name."""
    key: tuple[PlannedKey, ...] = ()
    indexes: dict[str, tuple[PlannedKey, ...]] = field(default_factory=dict)
    """By index that it can be in."""
    partition_sizes: dict[str, int] = field(default_factory=dict)
    """By such an index: how many attributes its partition key has."""
    templated: frozenset[str] = frozenset()
    """Indexes whose key is made of templates."""
    keeps_key_fields: bool = True
    """Whether a field that keys hold is also an attribute of its own."""

    @property
    def is_guessed(self) -> bool:
        """Whether a key is a guess."""
        return any(part.shape for key in (self.key, *self.indexes.values()) for part in key)


def planned(table: SourceTable, discriminator: str | None = None) -> list[PlannedEntity]:
    """The entities of a table: one for each kind of items that is known, or one for all."""
    known = table.entities or (SourceEntity(name="", attributes=()),)
    projected = [name for index in table.indexes if isinstance(index.project, tuple) for name in index.project]
    unclaimed = [
        name
        for name in (*table.key_attributes, *projected, *([table.ttl] if table.ttl else []))
        if not any(name in _attributes(table, one) for one in known)
    ]
    return [_Planner(table, one, unclaimed, discriminator).plan() for one in known]


def _attributes(table: SourceTable, entity: SourceEntity) -> list[str]:
    """The attributes of a kind of items, those of the primary key first, then those of indexes."""
    held = dict.fromkeys((*entity.attributes, *(name for item in entity.samples for name in item)))
    first = [name for name in table.key_attributes if name in held or name in table.key]
    return list(dict.fromkeys((*table.key, *first, *held)))


class _Planner:
    """Plans one entity of a table."""

    def __init__(
        self, table: SourceTable, source: SourceEntity, unclaimed: Sequence[str], discriminator: str | None
    ) -> None:
        self._table, self._source = table, source
        self._names = Names.of_class()
        self._made = PlannedEntity(source.name, source)
        self._attributes = [
            name
            for name in dict.fromkeys((*_attributes(table, source), *unclaimed))
            if name != discriminator or name in table.key_attributes
        ]
        self._shapes = {name: shape for name in table.key if (shape := self._shape(name)) is not None}

    def plan(self) -> PlannedEntity:
        """The entity."""
        made = self._made
        for attribute in self._attributes:
            if attribute not in self._shapes:
                self._add(attribute, self._annotation(attribute), self._column(attribute))
        keys = {name: self._key(name, may_add=True) for name in self._table.key}
        made.key = tuple(keys[name] for name in self._table.key)
        in_key = {name: made.fields[name] for part in made.key for name in part.fields}
        made.fields = {name: replace(one, is_required=True) for name, one in in_key.items()} | {
            name: one for name, one in made.fields.items() if name not in in_key
        }
        held = [name for part in made.key if part.template for name in part.fields]
        made.keeps_key_fields = not held or any(name in self._stored_before for name in held)
        for index in self._table.indexes:
            self._plan_index(index, keys)
        return made

    @property
    def _stored_before(self) -> set[str]:
        """Fields that are attributes of the samples, not only parts of their keys."""
        return {one.name for one in self._made.fields.values() if one.attribute in self._attributes}

    def _plan_index(self, index: Index, keys: dict[str, PlannedKey]) -> None:
        """The key in an index, if its items have all attributes of it; `keys` are those planned so far."""
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
        """How a key attribute is made. `may_add`: whether a value in it may become a field of its own."""
        shape = self._shapes.get(attribute) if may_add else self._shape(attribute)
        own = next((one for one in self._made.fields.values() if one.attribute == attribute), None)
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
        """Whether an attribute is only there for an index, as its name says: GSI1PK."""
        return attribute not in self._table.key and _MADE.search(attribute) is not None

    def _shape(self, attribute: str) -> Shape | None:
        """The shape of a text; only if every item has it, or items would come into an index that it is of."""
        if attribute == self._table.ttl or self._table.types.get(attribute) != "S":
            return None
        texts = [item[attribute]["S"] for item in self._source.samples if "S" in item.get(attribute, ())]
        if len(texts) < len(self._source.samples) or not all(isinstance(text, str) for text in texts):
            return None
        alias = self._source.aliases.get(attribute, "")
        return shape_of(texts, "" if alias in self._attributes else alias)

    def _holder(self, called: str, column: tuple[str, ...] | None, besides: str) -> str:
        """The field whose value a part of a key is in every sample."""
        for one in self._made.fields.values():
            if column is None or one.column != column or one.attribute == besides or self._is_made(one.attribute):
                continue
            if called in {one.name, one.attribute} or is_telling(column):
                return one.name
        return ""

    def _new(self, called: str, column: tuple[str, ...], *, may_add: bool) -> str:
        """A field for a value that only a key holds."""
        if not may_add:
            return ""
        name = self._names.take(field_name(called))
        while name in self._attributes:
            name = self._names.take(name)
        self._made.fields[name] = PlannedField(name, name, "str", column=column)
        return name

    def _alias(self, attribute: str) -> str:
        """What the source calls a key attribute, if that is a name of its own."""
        alias = self._source.aliases.get(attribute, "")
        return alias if alias.isidentifier() and alias not in self._attributes else ""

    def _add(self, attribute: str, annotation: str, column: tuple[str, ...] | None) -> None:
        name = self._names.take(field_name(self._alias(attribute) or attribute))
        needed = attribute in self._table.key
        self._made.fields[name] = PlannedField(name, attribute, annotation, needed, column)

    def _drop(self, one: PlannedField | None) -> None:
        """Take away the field of an attribute that a template makes."""
        if one is not None:
            del self._made.fields[one.name]

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
    """The attribute that tells kinds of items apart in all samples, with its value for each kind."""
    if len(table.entities) < 2 or not all(one.samples for one in table.entities):
        return None, ()
    for attribute in table.entities[0].samples[0]:
        values = [_constant(one.samples, attribute) for one in table.entities]
        told = [value for value in values if value]
        if attribute not in table.key_attributes and len(set(told)) == len(values) == len(told):
            return attribute, tuple(told)
    return None, ()


def _constant(samples: Sequence[Item], attribute: str) -> str:
    """The text that an attribute has in all samples; "" where there is none."""
    found = {str(item.get(attribute, {}).get("S", "")) for item in samples}
    return found.pop() if len(found) == 1 else ""
