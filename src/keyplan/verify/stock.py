"""The generated entities as they are now: what patterns are run on, and what their answers are held against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from keyplan.client.codec import OWNER, Sorter, reader_of
from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.field_types import plain
from keyplan.design.keys import BoundKey
from keyplan.design.requests_guards import expiry_of
from keyplan.design.requests_items import IndexKey, Item, key_attribute, maker_of
from keyplan.design.schema import Schema
from keyplan.verify.recording import Exchange
from keyplan.verify.shelves import canonical, table_place


@lru_cache(maxsize=4096)
def index_key(bound: BoundKey, spec: EntitySpec) -> IndexKey:
    """Who is in an index."""
    return IndexKey(bound, spec)


def place_of(spec: EntitySpec, entity: Entity) -> bytes:
    """Where an entity's item lies in its table."""
    return table_place(spec.schema, canonical(maker_of(spec).key(entity.__dict__)))


def as_read(spec: EntitySpec, entity: Entity) -> Entity:
    """An entity as it is read back after it was stored. Raises UnreadableItemError."""
    return reader_of(spec).entity(maker_of(spec).item(entity))


def sentinels_of(spec: EntitySpec, entity: Entity) -> list[Item]:
    """The items that keep an entity's unique values."""
    values = entity.__dict__
    found = []
    for rule in spec.sentinels:
        if any(values.get(name) is None for name in rule.fields):
            continue
        item: Item = {part.attribute: key_attribute(part)(values) or {} for part in rule.key.attributes}
        item[OWNER] = {"M": maker_of(spec).key(values)}
        expiry = maker_of(spec).item(entity).get(expiry_of(spec) or "")
        if expiry is not None:
            item[str(expiry_of(spec))] = expiry
        found.append(item)
    return found


class Stock:
    """Entities by kind and place, following every write."""

    def __init__(self, specs: Iterable[EntitySpec]) -> None:
        self._live: dict[EntitySpec, dict[bytes, Entity]] = {spec: {} for spec in specs}
        self._lists: dict[EntitySpec, list[Entity]] = {}
        self._groups: dict[tuple[EntitySpec, tuple[str, ...]], dict[Any, list[Entity]]] = {}

    def add(self, spec: EntitySpec, entity: Entity) -> None:
        """A new entity, or another in its place."""
        self._live[spec][place_of(spec, entity)] = entity
        self._forget()

    def all(self, spec: EntitySpec) -> Sequence[Entity]:
        """Every entity of a kind."""
        if spec not in self._lists:
            self._lists[spec] = list(self._live[spec].values())
        return self._lists[spec]

    def at(self, spec: EntitySpec, entity: Entity) -> Entity | None:
        """The entity that has the key of another, if there is one."""
        return self._live[spec].get(place_of(spec, entity))

    def alike(self, spec: EntitySpec, fields: tuple[str, ...], entity: Entity) -> Sequence[Entity]:
        """Every entity of a kind whose fields have the same values as another's."""
        return self.having(spec, fields, [getattr(entity, name) for name in fields])

    def having(self, spec: EntitySpec, fields: tuple[str, ...], values: Sequence[Any]) -> Sequence[Entity]:
        """Every entity of a kind whose fields have these values."""
        if not fields:
            return self.all(spec)
        groups = self._groups.get((spec, fields))
        if groups is None:
            groups = self._groups[spec, fields] = {}
            for one in self.all(spec):
                groups.setdefault(_hashable([getattr(one, name) for name in fields]), []).append(one)
        return groups.get(_hashable(values), [])

    def is_there(self, spec: EntitySpec, entity: Entity) -> bool:
        """Whether there is an item with the entity's key, of any kind."""
        place = place_of(spec, entity)
        return any(place in live for other, live in self._live.items() if other.schema is spec.schema)

    def follow(
        self, exchanges: Iterable[Exchange], schemas: Mapping[str, Schema]
    ) -> list[tuple[EntitySpec, Item, Entity]]:
        """Take over what requests wrote; what was written, with the entity that it reads as."""
        told = []
        for exchange in exchanges:
            for written in exchange.written:
                schema = schemas[written.table]
                place = table_place(schema, canonical(written.key))
                live = self._gone(schema, place)
                if written.stored is not None and OWNER not in written.stored:
                    spec = live or self._kind(schema, written.stored)
                    if spec is not None:
                        entity = reader_of(spec).entity(written.stored)
                        self._live[spec][place] = entity
                        told.append((spec, written.stored, entity))
        self._forget()
        return told

    def _gone(self, schema: Schema, place: bytes) -> EntitySpec | None:
        """Take an entity away; of which kind it was."""
        for spec, live in self._live.items():
            if spec.schema is schema and live.pop(place, None) is not None:
                return spec
        return None

    def _kind(self, schema: Schema, item: Item) -> EntitySpec | None:
        specs = [spec for spec in self._live if spec.schema is schema]
        reader = Sorter(specs, specs).reader(item) if specs else None
        return None if reader is None else reader.spec

    def _forget(self) -> None:
        self._lists.clear()
        self._groups.clear()


def _hashable(values: Sequence[Any]) -> tuple[Any, ...]:
    """Values that are equal in Python are alike; what has no hash is told apart by how it reads."""
    return tuple(one if one.__hash__ is not None else repr(one) for one in map(plain, values))
