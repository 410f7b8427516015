"""The load on single keys: the capacity units per second on the most used partition keys and items.

`Volume(distinct=...)` determines which share of the load a key receives. Keys that contain a field with an unknown
number of values are skipped. If a key contains the year, month, day, hour or minute of the write, all new items have
the current period in their key.

The plan of a pattern, which describes the requests that the pattern sends, determines the keys that a call accesses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from keyplan.check.field_names import increases_with_time
from keyplan.check.load import PlannedRequest, is_declared
from keyplan.cost.selectivity import choices_of, same_field
from keyplan.cost.sizes import item_size
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Place
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.encodings import PERIODS_S
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute, key_text
from keyplan.design.keys.placeholders import BoundPlaceholder
from keyplan.design.parameters import CALL_SOURCES, Source
from keyplan.design.planning.plan import Plan
from keyplan.design.schema import Index
from keyplan.design.workload import Distinct
from keyplan.dynamodb.values.units import write_units

_MAX_SHARDS = 1_000
"""The maximum number of values of an int field for which all values are assumed to have the same load."""


def is_constant(source: Source) -> bool:
    """Return True if the value of a key field is a constant, which is the same in every call."""
    return source is not None and not isinstance(source, CALL_SOURCES)


def _skews(plan: Plan, entities: Iterable[EntitySpec]) -> dict[str, float]:
    """Return the shares of the most frequent values of a counter's key fields, by field name. Only fields whose shares
    another entity declares are included.

    A counter is an item to which the plan adds a number. The result is empty for all other plans. For example, if an
    entity declares that a third of all votes are for one poll, a third of the additions go to the counter of that poll.
    """
    counter = plan.entity
    counts = plan.operation == "UpdateItem" and any(action.name == "add" for action in plan.actions)
    skews: dict[str, float] = {}
    for name in counter.key.fields if counts else ():
        declared = counter.volume.distinct.get(name) if counter.volume is not None else None
        for other in entities if declared is None else ():
            values = other.volume.distinct.get(name) if other.volume is not None and other is not counter else None
            if isinstance(values, Distinct) and values.hottest is not None and same_field(other, counter, name):
                skews[name] = max(values.hottest, skews.get(name, 0.0))
    return skews


def field_share(entity: EntitySpec, name: str) -> float | None:
    """Return the share of the load that the most frequent value of a field receives, or None if the share
    is unknown.
    """
    values = entity.volume.values_of(name) if entity.volume is not None else None
    if values is not None:
        return values.hottest_share
    number = choices_of(entity.fields[name]) or _bounded_values(entity.fields[name])
    if number is not None:
        return 1 / number
    if entity.key.fields == (name,) and entity.volume is not None:
        return 1 / max(1, entity.volume.count)
    return None


def _bounded_values(field: StoredField) -> int | None:
    """Return how many values the bounds of an int field allow, or None if it is unbounded or allows more than 1000."""
    minimum, maximum = field.declared.minimum, field.declared.maximum
    if field.annotation is not int or minimum is None or maximum is None:
        return None
    return maximum - minimum + 1 if 0 < maximum - minimum < _MAX_SHARDS else None


def _placeholder_share(placeholder: BoundPlaceholder, entity: EntitySpec) -> float | None:
    share = field_share(entity, placeholder.name)
    if placeholder.shards:
        return max(1 / placeholder.shards, share or 0.0)
    return share


def _field_shares(
    parts: Sequence[BoundKeyAttribute], entity: EntitySpec, sources: Mapping[str, Source], skews: Mapping[str, float]
) -> dict[str, float | None]:
    """Return, for each key field, the share of the load that its most frequent value receives, or None if it is
    unknown.

    `sources` contains the parameter or constant from which a call takes the value of a field. `skews` contains the
    shares that other entities declare.
    """
    shares: dict[str, float | None] = {}
    for part in parts:
        placeholders = part.template.placeholders if part.template is not None else ()
        for placeholder in placeholders:
            share = 1.0 if is_constant(sources.get(placeholder.name)) else _placeholder_share(placeholder, entity)
            known_share = shares.get(placeholder.name, 1.0)
            shares[placeholder.name] = None if share is None or known_share is None else min(share, known_share)
        if part.field is not None:
            name = part.field.name
            shares[name] = 1.0 if is_constant(sources.get(name)) else field_share(entity, name)
    for name, skew in skews.items():
        if name in shares and not is_constant(sources.get(name)):
            shares[name] = max(shares[name] or 0.0, skew)
    return shares


def key_share(
    parts: Sequence[BoundKeyAttribute],
    entity: EntitySpec,
    sources: Mapping[str, Source],
    other_entities: Sequence[EntitySpec] = (),
    *,
    skews: Mapping[str, float] = MappingProxyType({}),
) -> float | None:
    """Return the share of the load that the most used key with these attributes receives, or None if it is unknown.

    The share is 1 for a constant key and 1/n for n keys with equal load. If the key contains all key fields of the
    entity, or of one of `other_entities`, and the distribution of their values is unknown, the load is assumed to be
    equal for all items of that entity. `sources` contains the parameter or constant from which a call takes the value
    of a field. `skews` contains the shares of the most frequent field values that other entities declare.
    """
    shares = _field_shares(parts, entity, sources, skews)
    total = 1.0
    for owner in sorted((entity, *other_entities), key=lambda index_key: -len(index_key.key.fields)):
        names = owner.key.fields
        if owner.volume is None or not all(name in shares and same_field(owner, entity, name) for name in names):
            continue
        if any(shares[name] is None for name in names) and not any(is_constant(sources.get(name)) for name in names):
            total /= max(1, owner.volume.count)
            shares = {name: share for name, share in shares.items() if name not in names}
    for share in shares.values():
        if share is None:
            return None
        total *= share
    return total


@dataclass(frozen=True, eq=False)
class PatternLoad:
    """The load that one pattern puts on the most used key."""

    pattern: Pattern[..., Any]
    share: float
    """The share of the pattern's calls that access the most used key."""
    read: float
    """The read units that one call to the pattern uses."""
    write: float
    """The write units that one call to the pattern uses."""

    @property
    def average(self) -> float:
        """The average number of the pattern's calls per second that access the most used key."""
        return 0.0 if self.pattern.facts.rate is None else self.pattern.facts.rate.average * self.share

    @property
    def peak(self) -> float:
        """The peak number of the pattern's calls per second that access the most used key."""
        return 0.0 if self.pattern.facts.rate is None else self.pattern.facts.rate.highest * self.share


@dataclass(frozen=True, eq=False)
class HotKey:
    """The most used of the keys that a key template produces, with the load of all patterns that access it."""

    table: Table
    index: Index | None
    entity: EntitySpec
    bound: BoundKey | None
    """The key declaration, or None if a pattern queries an index in which its entity has no key."""
    shape: str
    """The key attributes and their templates, such as PK = USER#{user_id}."""
    loads: tuple[PatternLoad, ...]

    @property
    def label(self) -> str:
        """The description of the table or index in messages, such as "table app"."""
        return self.table.schema.label_of(self.index)

    @property
    def name(self) -> str:
        """The name of the table or index that contains the key."""
        return self.table.name if self.index is None else self.index.name

    @property
    def place(self) -> Place:
        """The source location of the key declaration."""
        if self.bound is not None:
            return self.bound.place
        return self.table.schema.place_of(self.index)

    @property
    def is_constant(self) -> bool:
        """Return True if the partition key contains no field and therefore has only one value."""
        return self.bound is None or not any(part.fields for part in self.bound.partition)

    @property
    def shard_count(self) -> int:
        """The number of shards into which the key is divided, or 0 if it is not sharded."""
        templates = [part.template for part in self.bound.partition] if self.bound is not None else []
        placeholders = [
            placeholder for template in templates if template is not None for placeholder in template.placeholders
        ]
        return next((placeholder.shards for placeholder in placeholders if placeholder.shards), 0)

    def write(self, *, peak: bool) -> float:
        """Return the write units per second on the most used key, at average or peak rates."""
        return sum(load.write * (load.peak if peak else load.average) for load in self.loads)

    def read(self, *, peak: bool) -> float:
        """Return the read units per second on the most used key, at average or peak rates."""
        return sum(load.read * (load.peak if peak else load.average) for load in self.loads)

    def share_of(self, access: str) -> float:
        """Return the highest share of calls that access this key, among all patterns that use read units (if `access`
        is "read") or write units (if `access` is "write") on the key.
        """
        return max((load.share for load in self.loads if getattr(load, access)), default=0.0)

    def main_patterns(self, access: str) -> list[str]:
        """Return the names of up to three patterns that use the most capacity units on the key, in descending order.

        `access` is "read" or "write", and determines which capacity units are compared.
        """
        units_by_pattern = [(getattr(load, access) * load.peak, load.pattern.name) for load in self.loads]
        return [name for units, name in sorted(units_by_pattern, key=lambda pair: -pair[0]) if units > 0][:3]


def _sources(plan: Plan) -> dict[str, Source]:
    """Return the parameter or constant from which a call takes the value of each field, by field name. Fields for which
    this is unknown are omitted.
    """
    sources: dict[str, Source] = {}
    for action in plan.actions:
        if action.name == "set":
            sources[action.path.field] = action.source
    if plan.key is not None:
        for value in (*plan.key.partition, *(condition.low for condition in plan.key.sort if condition.op == "=")):
            sources.update(value.sources)
    return sources


def _current_periods(plan: Plan, parts: Iterable[BoundKeyAttribute]) -> dict[str, Source]:
    """Return the key fields whose value in all new items is the current period, such as the day. Each field is mapped
    to "now".

    "now" is treated as a constant, because all calls at about the same time write to the same key.
    """
    if plan.item is None:
        return {}
    specs: dict[str, set[str]] = {}
    for part in parts:
        for placeholder in part.template.placeholders if part.template is not None else ():
            specs.setdefault(placeholder.name, set()).add(placeholder.spec)
    return {
        name: "now"
        for name, fields in specs.items()
        if fields <= PERIODS_S.keys() and increases_with_time(plan.entity.fields[name])
    }


def _reads(request: PlannedRequest, index: Index | None) -> bool:
    return request.plan.index is index and request.plan.operation != "Scan"


def _table_loads(
    table: Table, requests: Iterable[PlannedRequest], entities: Sequence[EntitySpec], *, items: bool
) -> Iterator[tuple[EntitySpec, BoundKey, PatternLoad]]:
    """Yield the load that each pattern puts on a key of a table, together with the entity and its primary key.

    The load includes writes to local indexes, which share the table's partitions. It is computed for partition keys. If
    `items` is True, it is computed for complete primary keys instead, and queries are skipped.
    """
    local = [index.name for index in table.schema.indexes if index.kind == "LSI"]
    for request in requests:
        if request.plan.reading and not _reads(request, None):
            continue
        if items and request.plan.operation == "Query":
            continue
        entity = request.plan.entity
        parts = entity.key.attributes if items else entity.key.partition
        sources = _sources(request.plan) | _current_periods(request.plan, parts)
        share = key_share(parts, entity, sources, skews=_skews(request.plan, entities))
        if share is not None:
            write = request.units.write + sum(request.units.indexes.get(name, 0.0) for name in local)
            yield entity, entity.key, PatternLoad(request.pattern, share, request.units.read, write)


def _index_loads(
    index: Index, requests: Iterable[PlannedRequest]
) -> Iterator[tuple[EntitySpec, BoundKey, PatternLoad]]:
    for request in requests:
        bound_keys = [(entity, entity.key_in(index)) for entity in request.plan.entities]
        keys = [(entity, bound, key_text(bound.partition)) for entity, bound in bound_keys if bound is not None]
        shapes = Counter(shape for _, _, shape in keys)  # one key, even if entities name the fields differently
        for entity, bound, shape in keys:
            write = request.units.indexes.get(index.name, 0.0)
            read = request.units.read / shapes[shape] if _reads(request, index) else 0.0
            share = key_share(
                bound.partition, entity, _sources(request.plan) | _current_periods(request.plan, bound.partition)
            )
            if share is not None and (read or write):
                yield entity, bound, PatternLoad(request.pattern, share, read, write)


def _grouped_by_key(
    table: Table, index: Index | None, loads: Iterable[tuple[EntitySpec, BoundKey, PatternLoad]], *, items: bool
) -> Iterator[HotKey]:
    groups: dict[str, list[tuple[EntitySpec, BoundKey, PatternLoad]]] = {}
    for entity, bound, load in loads:
        shape = key_text(bound.attributes if items else bound.partition)
        groups.setdefault(shape, []).append((entity, bound, load))
    for shape, members in groups.items():
        entity, bound, _ = members[0]
        yield HotKey(table, index, entity, bound, shape, tuple(load for _, _, load in members))


def _planned_index_keys(table: Table, requests: Sequence[PlannedRequest]) -> Iterator[HotKey]:
    """Yield a hot key for each query that requests a constant partition key of an index, if the queried entity declares
    no key in this index.

    The load of the hot key is the load that would result if the entity declared this key.
    """
    for pattern in table.patterns:
        plan = pattern.plan
        index, condition = plan.index, plan.key
        if index is None or condition is None or plan.entity.key_in(index) is not None:
            continue
        if any(value.sources for value in condition.partition) or condition.partition[0].template is None:
            continue
        entity = plan.entity
        writes = [
            PatternLoad(request.pattern, 1.0, 0.0, _entry_write_units(request, entity, index)) for request in requests
        ]
        shape = f"{index.partition[0]} = {condition.partition[0].template.text}"
        yield HotKey(table, index, entity, None, shape, tuple(load for load in writes if load.write))


def _entry_write_units(request: PlannedRequest, entity: EntitySpec, index: Index) -> float:
    """Return the write units that a write would use on an index in which the entity has no key.

    The entity is assumed to have a constant partition key in the index, and one field as the sort key.
    """
    plan = request.plan
    if plan.reading or plan.entity is not entity:
        return 0.0
    entry_units = write_units(item_size(entity).average)
    if plan.operation != "UpdateItem":
        return entry_units
    changed = {entity.fields[action.path.field].attribute for action in plan.actions}
    return 2 * entry_units if changed & set(index.sort) else entry_units


def hot_keys_of(tables: Iterable[Table], requests: Sequence[PlannedRequest]) -> Iterator[HotKey]:
    """Yield, for each template of a partition key in tables and global indexes, the key with the highest load."""
    tables = list(tables)
    entities = [entity for table in tables for entity in table.entities]
    for table in tables:
        table_requests = [
            request for request in requests if request.plan.schema is table.schema and is_declared(request)
        ]
        yield from _grouped_by_key(table, None, _table_loads(table, table_requests, entities, items=False), items=False)
        for index in table.schema.indexes:
            if index.kind == "GSI":
                yield from _grouped_by_key(table, index, _index_loads(index, table_requests), items=False)
        yield from _planned_index_keys(table, table_requests)


def hot_items_of(tables: Iterable[Table], requests: Sequence[PlannedRequest]) -> Iterator[HotKey]:
    """Yield, for each template of a primary key, the item with the highest load."""
    tables = list(tables)
    entities = [entity for table in tables for entity in table.entities]
    for table in tables:
        table_requests = [
            request for request in requests if request.plan.schema is table.schema and is_declared(request)
        ]
        yield from _grouped_by_key(table, None, _table_loads(table, table_requests, entities, items=True), items=True)
