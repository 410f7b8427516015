"""A simple model of tables and entity objects, which is updated after every request that writes.

Items have the same order as in `keyplan.dynamodb.values.keybytes`: partitions by hash, items of a partition by sort
key, and items of a global index with equal keys by a hash of their primary key. Plans are evaluated on the model
without the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from keyplan.client.codec import EntityMatcher, reader_of
from keyplan.client.requests import WRITES
from keyplan.cost.units import READS, ConsumedUnits, consumed_units, entry_of
from keyplan.design.entities import OWNER, Entity, EntitySpec, ReadModel
from keyplan.design.fields.annotations import plain_value
from keyplan.design.keys.entity_keys import BoundKey
from keyplan.design.requests.items import EntityIndexKey, item_builder, key_attribute_maker
from keyplan.design.requests.items import Item as EntityItem
from keyplan.design.schema import Index, Schema
from keyplan.dynamodb.values.attribute import item_bytes, normalise_item
from keyplan.dynamodb.values.keybytes import escape, join_parts, partition_prefix, scalar_key, tie_hash
from keyplan.dynamodb.values.types import Item
from keyplan.engine.engine import Engine

Request = dict[str, Any]
_DATA = READS | WRITES


@dataclass(frozen=True)
class Entry:
    """An item in a table, or its projection in an index."""

    place: bytes
    item: Any
    """The attributes of the item that the table or index contains."""
    whole: Any
    """The complete item in the table."""

    @cached_property
    def size(self) -> int:
        """The size of the attributes in `item` in bytes."""
        return item_bytes(self.item)


def canonical(item: Mapping[str, Any]) -> Item:
    """Return an item, or some attributes of an item, in the form that the engine uses to compare and sort attribute
    values.
    """
    return normalise_item(item, wire=False)[0]


def table_place(schema: Schema, item: Item) -> bytes:
    """Return the bytes by which an item is sorted in its table."""
    place = partition_prefix(_scalar(item[schema.partition]))
    return place if schema.sort is None else place + _scalar(item[schema.sort])


def place_in(schema: Schema, index: Index | None, item: Item) -> bytes:
    """Return the bytes by which an item is sorted in an index, or in its table if `index` is None."""
    own = table_place(schema, item)
    if index is None:
        return own
    parts = [_scalar(item[name]) for name in index.partition]
    place = partition_prefix(parts[0] if len(parts) == 1 else join_parts(parts))
    place += b"".join(escape(_scalar(item[name])) for name in index.sort)
    return place + (tie_hash(own) if index.kind == "GSI" else b"") + own


def _scalar(value: Mapping[str, Any]) -> bytes:
    return scalar_key(*next(iter(value.items())))


class ModelTable:
    """A table that contains the current items and their projections in indexes."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._items: dict[bytes, Item] = {}
        self._sorted: dict[str | None, list[Entry]] = {}

    def at(self, key: Mapping[str, Any]) -> Item | None:
        """Return the item with the given primary key, or None."""
        return self._items.get(self._place(key))

    def put(self, key: Mapping[str, Any], item: Item | None) -> None:
        """Store an item under a primary key, or remove the item with this key if `item` is None."""
        place = self._place(key)
        self._sorted.clear()
        if item is None:
            self._items.pop(place, None)
        else:
            self._items[place] = item

    def _place(self, key: Mapping[str, Any]) -> bytes:
        return table_place(self.schema, canonical({name: key[name] for name in self.schema.key}))

    def entries(self, index: Index | None) -> Sequence[Entry]:
        """Return the items of the table, or the projected items of an index, in sorted order."""
        name = None if index is None else index.name
        if name not in self._sorted:
            self._sorted[name] = sorted(self._entries(index), key=lambda entry: entry.place)
        return self._sorted[name]

    def _entries(self, index: Index | None) -> Iterator[Entry]:
        for item in self._items.values():
            entry = item if index is None else entry_of(self.schema, index, item)
            if entry is not None:
                yield Entry(place_in(self.schema, index, item), entry, item)


@dataclass(frozen=True)
class RecordedWrite:
    """An item before and after a request that wrote or checked it."""

    table: str
    key: Request
    before: Item | None
    after: Item | None
    stored: Request | None
    """The item `after` in the form of a response, with binary values as bytes. None if the item does not exist."""
    transactional: bool


@dataclass(frozen=True)
class Exchange:
    """A request with its response, the items that it wrote, and the capacity units that it used."""

    operation: str
    request: Request
    answer: Mapping[str, Any]
    written: tuple[RecordedWrite, ...]
    held: tuple[tuple[str, bool, Item | None], ...]
    """The items that were stored before the request, one for each key that it reads. Each is a tuple of the table name,
    True for a consistent read, and the item or None.
    """
    consumed: ConsumedUnits
    """The capacity units in the response."""


class Recorder:
    """Wrapper around an engine that records requests and makes the same writes to the model tables."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.model_tables: dict[str, ModelTable] = {}
        self.exchanges: list[Exchange] = []

    def call(self, operation: str, request: Request) -> dict[str, Any]:
        """Execute and record one operation. Raises ServiceError if the engine returns an error."""
        if operation not in _DATA:
            return self.engine.call(operation, request)
        targets = list(_targets(operation, request))
        entries = tuple(
            (table, strong, self.model_tables[table].at(key)) for table, key, strong in _keys(operation, request)
        )
        response = self.engine.call(operation, {**request, "ReturnConsumedCapacity": "INDEXES"})
        written = tuple(self._written(table, key, operation) for table, key in targets)
        self.exchanges.append(
            Exchange(operation, request, response, written, entries, consumed_units(operation, response))
        )
        return response

    def pop_exchanges(self) -> list[Exchange]:
        """Return the recorded requests and remove them from the recorder."""
        exchanges, self.exchanges = self.exchanges, []
        return exchanges

    def close(self) -> None:
        """Do nothing, because the engine is closed by its owner."""

    def _written(self, table: str, key: Request, operation: str) -> RecordedWrite:
        model_table = self.model_tables[table]
        key = {name: key[name] for name in model_table.schema.key}
        before = model_table.at(key)
        stored = self.engine.call("GetItem", {"TableName": table, "Key": key, "ConsistentRead": True}).get("Item")
        after = canonical(stored) if stored else None
        model_table.put(key, after)
        return RecordedWrite(table, key, before, after, stored or None, operation == "TransactWriteItems")


def _targets(operation: str, request: Request) -> Iterator[tuple[str, Request]]:
    """Yield the table name and the key (or whole item) of each item that a request writes or checks."""
    if operation in {"PutItem", "UpdateItem", "DeleteItem"}:
        yield request["TableName"], request.get("Key") or request["Item"]
    elif operation == "BatchWriteItem":
        for table, writes in request["RequestItems"].items():
            for write in writes:
                (members,) = write.values()
                yield table, members.get("Key") or members["Item"]
    elif operation == "TransactWriteItems":
        for action in request["TransactItems"]:
            (members,) = action.values()
            yield members["TableName"], members.get("Key") or members["Item"]


def _keys(operation: str, request: Request) -> Iterator[tuple[str, Request, bool]]:
    """Yield each key that a request reads, as the table name, the key, and True for a strongly consistent read."""
    if operation == "GetItem":
        yield request["TableName"], request["Key"], bool(request.get("ConsistentRead"))
    elif operation == "BatchGetItem":
        for table, read in request["RequestItems"].items():
            for key in read["Keys"]:
                yield table, key, bool(read.get("ConsistentRead"))


@lru_cache(maxsize=4096)
def index_key(bound: BoundKey, spec: EntitySpec) -> EntityIndexKey:
    """Return the object that computes an entity's key in an index."""
    return EntityIndexKey(bound, spec)


def place_of(spec: EntitySpec, entity: ReadModel) -> bytes:
    """Return the bytes by which the item of an entity object is sorted in its table."""
    return table_place(spec.schema, canonical(item_builder(spec).key(entity.__dict__)))


def read_back(spec: EntitySpec, entity: Entity) -> Entity:
    """Return an entity object in the form in which it is read after it was stored.

    Raises UnreadableItemError if the model rejects the stored item.
    """
    return reader_of(spec).entity(item_builder(spec).item(entity))


def sentinels_of(spec: EntitySpec, entity: Entity) -> list[EntityItem]:
    """Return the items that reserve the unique values of an entity object."""
    values = entity.__dict__
    sentinels = []
    for rule in spec.sentinels:
        if any(values.get(name) is None for name in rule.fields):
            continue
        item: EntityItem = {part.attribute: key_attribute_maker(part)(values) or {} for part in rule.key.attributes}
        item[OWNER] = {"M": item_builder(spec).key(values)}
        expiry = item_builder(spec).item(entity).get(spec.expiry_attribute or "")
        if expiry is not None:
            item[str(spec.expiry_attribute)] = expiry
        sentinels.append(item)
    return sentinels


class StoredEntities:
    """The entity objects that are stored, by entity and key. They are updated after every write."""

    def __init__(self, specs: Iterable[EntitySpec]) -> None:
        self._live: dict[EntitySpec, dict[bytes, Entity]] = {spec: {} for spec in specs}
        self._lists: dict[EntitySpec, list[Entity]] = {}
        self._groups: dict[tuple[EntitySpec, tuple[str, ...]], dict[Any, list[Entity]]] = {}

    def add(self, spec: EntitySpec, entity: Entity) -> None:
        """Add an entity object, or replace the one with the same key."""
        self._live[spec][place_of(spec, entity)] = entity
        self._forget()

    def all(self, spec: EntitySpec) -> Sequence[Entity]:
        """Return all stored objects of an entity."""
        if spec not in self._lists:
            self._lists[spec] = list(self._live[spec].values())
        return self._lists[spec]

    def at(self, spec: EntitySpec, entity: Entity) -> Entity | None:
        """Return the stored object that has the same key as `entity`, or None."""
        return self._live[spec].get(place_of(spec, entity))

    def alike(self, spec: EntitySpec, fields: tuple[str, ...], entity: Entity) -> Sequence[Entity]:
        """Return all objects of an entity that have the same values in these fields as the given object."""
        return self.having(spec, fields, [getattr(entity, name) for name in fields])

    def having(self, spec: EntitySpec, fields: tuple[str, ...], values: Sequence[Any]) -> Sequence[Entity]:
        """Return all objects of an entity in which the fields `fields` have the values `values`, which are in the order
        of the fields.
        """
        if not fields:
            return self.all(spec)
        groups = self._groups.get((spec, fields))
        if groups is None:
            groups = self._groups[spec, fields] = {}
            for entity in self.all(spec):
                groups.setdefault(_hashable([getattr(entity, name) for name in fields]), []).append(entity)
        return groups.get(_hashable(values), [])

    def exists(self, spec: EntitySpec, entity: Entity) -> bool:
        """Return True if an item of any entity is stored under the primary key of `entity`."""
        place = place_of(spec, entity)
        return any(place in live for other, live in self._live.items() if other.schema is spec.schema)

    def apply(
        self, exchanges: Iterable[Exchange], schemas: Mapping[str, Schema]
    ) -> list[tuple[EntitySpec, EntityItem, Entity]]:
        """Update the stored objects with the writes of recorded requests.

        Return each written item with its entity and the entity object that a read of the item returns.
        """
        changes = []
        for exchange in exchanges:
            for written in exchange.written:
                schema = schemas[written.table]
                place = table_place(schema, canonical(written.key))
                live = self._remove(schema, place)
                if written.stored is not None and OWNER not in written.stored:
                    spec = live or self._kind(schema, written.stored)
                    if spec is not None:
                        entity = reader_of(spec).entity(written.stored)
                        self._live[spec][place] = entity
                        changes.append((spec, written.stored, entity))
        self._forget()
        return changes

    def _remove(self, schema: Schema, place: bytes) -> EntitySpec | None:
        """Remove the object at the position `place` of a table. Return the object's entity, or None if nothing was
        stored there.
        """
        for spec, live in self._live.items():
            if spec.schema is schema and live.pop(place, None) is not None:
                return spec
        return None

    def _kind(self, schema: Schema, item: EntityItem) -> EntitySpec | None:
        specs = [spec for spec in self._live if spec.schema is schema]
        reader = EntityMatcher(specs, specs).reader(item) if specs else None
        return None if reader is None else reader.spec

    def _forget(self) -> None:
        self._lists.clear()
        self._groups.clear()


def _hashable(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return values as a hashable tuple, which is the same for equal values. Unhashable values are replaced with their
    repr.
    """
    return tuple(value if value.__hash__ is not None else repr(value) for value in map(plain_value, values))
