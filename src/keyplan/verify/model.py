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

    position: bytes
    item: Any
    """The attributes of the item that the table or index contains."""
    table_item: Any
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


def table_position(schema: Schema, item: Item) -> bytes:
    """Return an item's sort position in its table, as bytes."""
    position = partition_prefix(_scalar(item[schema.partition]))
    return position if schema.sort is None else position + _scalar(item[schema.sort])


def position_in(schema: Schema, index: Index | None, item: Item) -> bytes:
    """Return an item's sort position in an index, as bytes. If `index` is None, return the position in the table."""
    table_key = table_position(schema, item)
    if index is None:
        return table_key
    parts = [_scalar(item[name]) for name in index.partition]
    position = partition_prefix(parts[0] if len(parts) == 1 else join_parts(parts))
    position += b"".join(escape(_scalar(item[name])) for name in index.sort)
    return position + (tie_hash(table_key) if index.kind == "GSI" else b"") + table_key


def _scalar(value: Mapping[str, Any]) -> bytes:
    return scalar_key(*next(iter(value.items())))


class ModelTable:
    """A table that contains the current items and their projections in indexes."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._items: dict[bytes, Item] = {}
        self._sorted: dict[str | None, list[Entry]] = {}

    def at(self, key: Mapping[str, Any]) -> Item | None:
        """Return the item with the given primary key, or None if it does not exist."""
        return self._items.get(self._position(key))

    def put(self, key: Mapping[str, Any], item: Item | None) -> None:
        """Store an item under a primary key, or remove the item with this key if `item` is None."""
        position = self._position(key)
        self._sorted.clear()
        if item is None:
            self._items.pop(position, None)
        else:
            self._items[position] = item

    def _position(self, key: Mapping[str, Any]) -> bytes:
        return table_position(self.schema, canonical({name: key[name] for name in self.schema.key}))

    def entries(self, index: Index | None) -> Sequence[Entry]:
        """Return the items of the table, or the projected items of an index, in sorted order."""
        name = None if index is None else index.name
        if name not in self._sorted:
            self._sorted[name] = sorted(self._entries(index), key=lambda entry: entry.position)
        return self._sorted[name]

    def _entries(self, index: Index | None) -> Iterator[Entry]:
        for item in self._items.values():
            entry = item if index is None else entry_of(self.schema, index, item)
            if entry is not None:
                yield Entry(position_in(self.schema, index, item), entry, item)


@dataclass(frozen=True)
class RecordedWrite:
    """An item before and after a request that wrote or checked it."""

    table: str
    key: Request
    before: Item | None
    after: Item | None
    stored: Request | None
    """The item in `after`, in the form that a read returns, with binary values as bytes. None if the item does not
    exist.
    """
    transactional: bool


@dataclass(frozen=True)
class Exchange:
    """A request with its response, the items that it wrote, and the capacity units that it used."""

    operation: str
    request: Request
    answer: Mapping[str, Any]
    writes: tuple[RecordedWrite, ...]
    read_items: tuple[tuple[str, bool, Item | None], ...]
    """The items that were stored before the request, one for each key that it reads.

    Each element is a tuple of the table name, True for a consistent read, and the item, or None if no item was stored.
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
        read_items = tuple(
            (table, strong, self.model_tables[table].at(key)) for table, key, strong in _keys(operation, request)
        )
        response = self.engine.call(operation, {**request, "ReturnConsumedCapacity": "INDEXES"})
        writes = tuple(self._record_write(table, key, operation) for table, key in targets)
        self.exchanges.append(
            Exchange(operation, request, response, writes, read_items, consumed_units(operation, response))
        )
        return response

    def pop_exchanges(self) -> list[Exchange]:
        """Return the recorded requests and remove them from the recorder."""
        exchanges, self.exchanges = self.exchanges, []
        return exchanges

    def close(self) -> None:
        """Do nothing, because the engine is closed by its owner."""

    def _record_write(self, table: str, key: Request, operation: str) -> RecordedWrite:
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
        for table, table_request in request["RequestItems"].items():
            for key in table_request["Keys"]:
                yield table, key, bool(table_request.get("ConsistentRead"))


@lru_cache(maxsize=4096)
def index_key(bound: BoundKey, spec: EntitySpec) -> EntityIndexKey:
    """Return the object that computes an entity's key in an index."""
    return EntityIndexKey(bound, spec)


def position_of(spec: EntitySpec, entity: ReadModel) -> bytes:
    """Return the sort position of an entity object's item in its table, as bytes."""
    return table_position(spec.schema, canonical(item_builder(spec).key(entity.__dict__)))


def read_back(spec: EntitySpec, entity: Entity) -> Entity:
    """Return the entity object that a read would return after `entity` was stored.

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
        self._entities: dict[EntitySpec, dict[bytes, Entity]] = {spec: {} for spec in specs}
        self._lists: dict[EntitySpec, list[Entity]] = {}
        self._groups: dict[tuple[EntitySpec, tuple[str, ...]], dict[Any, list[Entity]]] = {}

    def add(self, spec: EntitySpec, entity: Entity) -> None:
        """Add an entity object, or replace the one with the same key."""
        self._entities[spec][position_of(spec, entity)] = entity
        self._clear_caches()

    def all(self, spec: EntitySpec) -> Sequence[Entity]:
        """Return all stored objects of an entity."""
        if spec not in self._lists:
            self._lists[spec] = list(self._entities[spec].values())
        return self._lists[spec]

    def at(self, spec: EntitySpec, entity: Entity) -> Entity | None:
        """Return the stored object that has the same key as `entity`, or None if no such object exists."""
        return self._entities[spec].get(position_of(spec, entity))

    def with_same_values(self, spec: EntitySpec, fields: tuple[str, ...], entity: Entity) -> Sequence[Entity]:
        """Return all objects of an entity that have the same values in these fields as the given object."""
        return self.with_values(spec, fields, [getattr(entity, name) for name in fields])

    def with_values(self, spec: EntitySpec, fields: tuple[str, ...], values: Sequence[Any]) -> Sequence[Entity]:
        """Return all objects of an entity that have the given values in the fields named in `fields`.

        `values` contains one value for each field, in the same order.
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
        position = position_of(spec, entity)
        return any(position in live for other, live in self._entities.items() if other.schema is spec.schema)

    def apply(
        self, exchanges: Iterable[Exchange], schemas: Mapping[str, Schema]
    ) -> list[tuple[EntitySpec, EntityItem, Entity]]:
        """Update the stored objects with the writes of recorded requests.

        Return the entity declaration, the item and the entity object of each item that was written.
        """
        changes = []
        for exchange in exchanges:
            for write in exchange.writes:
                schema = schemas[write.table]
                position = table_position(schema, canonical(write.key))
                spec_removed = self._remove(schema, position)
                if write.stored is not None and OWNER not in write.stored:
                    spec = spec_removed or self._spec_of_item(schema, write.stored)
                    if spec is not None:
                        entity = reader_of(spec).entity(write.stored)
                        self._entities[spec][position] = entity
                        changes.append((spec, write.stored, entity))
        self._clear_caches()
        return changes

    def _remove(self, schema: Schema, position: bytes) -> EntitySpec | None:
        """Remove the object at the position `position` of a table. Return the object's entity, or None if nothing was
        stored there.
        """
        for spec, live in self._entities.items():
            if spec.schema is schema and live.pop(position, None) is not None:
                return spec
        return None

    def _spec_of_item(self, schema: Schema, item: EntityItem) -> EntitySpec | None:
        specs = [spec for spec in self._entities if spec.schema is schema]
        reader = EntityMatcher(specs, specs).reader(item) if specs else None
        return None if reader is None else reader.spec

    def _clear_caches(self) -> None:
        self._lists.clear()
        self._groups.clear()


def _hashable(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return values as a hashable tuple. Equal values have equal tuples. Unhashable values are replaced with their
    repr.
    """
    return tuple(value if value.__hash__ is not None else repr(value) for value in map(plain_value, values))
