"""How load falls on keys: what the most used partition key, and the most used item, take a second.

Shares come from the numbers of `Items(distinct=...)`; where a key has a field of which nothing is declared,
nothing is said of its load. Where the year, month, day, hour or minute of writing is a part of the key, new items all
go to the present one, however many there are in time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from keyplan.check.key_shares import key_share
from keyplan.check.load import Work
from keyplan.check.rising import rises
from keyplan.cost.expected import expected
from keyplan.cost.sizes import item_size
from keyplan.design.encodings_time import PERIODS_S
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundKey, KeyAttribute, text_of
from keyplan.design.patterns import Pattern
from keyplan.design.places import Place
from keyplan.design.plan import Plan
from keyplan.design.schema import Index
from keyplan.design.symbols import Source
from keyplan.design.tables import Table
from keyplan.dynamodb.values.units import write_units


@dataclass(frozen=True, eq=False)
class Load:
    """What one pattern asks of the most used key."""

    pattern: Pattern[..., Any]
    share: float
    """The part of its calls that go to that key."""
    read: float
    """Read units of one call."""
    write: float
    """Write units of one call."""

    @property
    def average(self) -> float:
        """Calls a second that go to the key, on average."""
        return 0.0 if self.pattern.facts.rate is None else self.pattern.facts.rate.average * self.share

    @property
    def peak(self) -> float:
        """The same at the peak."""
        return 0.0 if self.pattern.facts.rate is None else self.pattern.facts.rate.highest * self.share


@dataclass(frozen=True, eq=False)
class HotKey:
    """The most used key of one shape: all the loads that meet there."""

    table: Table
    index: Index | None
    entity: EntitySpec
    bound: BoundKey | None
    """None where a pattern expects an entity in an index in which it never is."""
    shape: str
    """How the key reads: PK = USER#{user_id}."""
    loads: tuple[Load, ...]

    @property
    def where(self) -> str:
        """Table or index, for messages."""
        return self.table.schema.where(self.index)

    @property
    def name(self) -> str:
        """The name of what a finding is about."""
        return self.table.name if self.index is None else self.index.name

    @property
    def place(self) -> Place:
        """Where the key is declared."""
        if self.bound is not None:
            return self.bound.place
        return self.table.schema.place_of(self.index)

    @property
    def constant(self) -> bool:
        """Whether there is only this one key."""
        return self.bound is None or not any(part.fields for part in self.bound.partition)

    @property
    def sharded(self) -> int:
        """Over how many shards the key is spread; 0 where it is not."""
        templates = [part.template for part in self.bound.partition] if self.bound is not None else []
        holes = [hole for one in templates if one is not None for hole in one.holes]
        return next((hole.shards for hole in holes if hole.shards), 0)

    def write(self, *, peak: bool) -> float:
        """Write units a second."""
        return sum(load.write * (load.peak if peak else load.average) for load in self.loads)

    def read(self, *, peak: bool) -> float:
        """Read units a second."""
        return sum(load.read * (load.peak if peak else load.average) for load in self.loads)

    def share_of(self, what: str) -> float:
        """The largest share of a pattern's calls that go to it, of those that "read" or "write"."""
        return max((load.share for load in self.loads if getattr(load, what)), default=0.0)

    def main(self, what: str) -> list[str]:
        """The patterns that make most of the load, "read" or "write", largest first."""
        told = [(getattr(load, what) * load.peak, load.pattern.name) for load in self.loads]
        return [name for units, name in sorted(told, key=lambda pair: -pair[0]) if units > 0][:3]


def is_declared(work: Work) -> bool:
    """Whether what a call costs rests on declared numbers: a guessed number of items read says nothing."""
    if work.rate is None:
        return False
    return not work.plan.reading or work.plan.operation == "GetItem" or not expected(work.pattern).guesses


def _sources(plan: Plan) -> dict[str, Source]:
    """Where the fields of what is read or written come from, as far as the plan says."""
    found: dict[str, Source] = {}
    for action in plan.actions:
        if action.name == "set":
            found[action.path.field] = action.source
    if plan.key is not None:
        for value in (*plan.key.partition, *(one.low for one in plan.key.sort if one.op == "=")):
            found.update(value.sources)
    return found


def _present(plan: Plan, parts: Iterable[KeyAttribute]) -> dict[str, Source]:
    """The fields of a new item whose part of a key is the period of writing: the same in all that are written now."""
    if plan.item is None:
        return {}
    specs: dict[str, set[str]] = {}
    for part in parts:
        for hole in part.template.holes if part.template is not None else ():
            specs.setdefault(hole.name, set()).add(hole.spec)
    return {name: "now" for name, held in specs.items() if held <= PERIODS_S.keys() and rises(plan.entity.fields[name])}


def _reads(work: Work, index: Index | None) -> bool:
    return work.plan.index is index and work.plan.operation != "Scan"


def _table_loads(table: Table, works: Iterable[Work], *, items: bool) -> Iterator[tuple[EntitySpec, BoundKey, Load]]:
    """Loads of the table's own keys; those of local indexes lie in the same partitions."""
    local = [index.name for index in table.schema.indexes if index.kind == "LSI"]
    for work in works:
        if work.plan.reading and not _reads(work, None):
            continue
        if items and work.plan.operation == "Query":
            continue
        entity = work.plan.entity
        parts = entity.key.attributes if items else entity.key.partition
        share = key_share(parts, entity, _sources(work.plan) | _present(work.plan, parts))
        if share is not None:
            write = work.units.write + sum(work.units.indexes.get(name, 0.0) for name in local)
            yield entity, entity.key, Load(work.pattern, share, work.units.read, write)


def _index_loads(index: Index, works: Iterable[Work]) -> Iterator[tuple[EntitySpec, BoundKey, Load]]:
    for work in works:
        found = [(entity, entity.key_in(index)) for entity in work.plan.entities]
        keys = [(entity, bound, text_of(bound.partition)) for entity, bound in found if bound is not None]
        shapes = Counter(shape for _, _, shape in keys)  # a read is of one key, however its entities name the fields
        for entity, bound, shape in keys:
            write = work.units.indexes.get(index.name, 0.0)
            read = work.units.read / shapes[shape] if _reads(work, index) else 0.0
            share = key_share(bound.partition, entity, _sources(work.plan) | _present(work.plan, bound.partition))
            if share is not None and (read or write):
                yield entity, bound, Load(work.pattern, share, read, write)


def _grouped(
    table: Table, index: Index | None, found: Iterable[tuple[EntitySpec, BoundKey, Load]], *, items: bool
) -> Iterator[HotKey]:
    groups: dict[str, list[tuple[EntitySpec, BoundKey, Load]]] = {}
    for entity, bound, load in found:
        shape = text_of(bound.attributes if items else bound.partition)
        groups.setdefault(shape, []).append((entity, bound, load))
    for shape, members in groups.items():
        entity, bound, _ = members[0]
        yield HotKey(table, index, entity, bound, shape, tuple(load for _, _, load in members))


def _expected_in(table: Table, works: Sequence[Work]) -> Iterator[HotKey]:
    """Indexes that patterns ask for one constant key, by entities that no key is declared for there."""
    for pattern in table.patterns:
        plan = pattern.plan
        index, wanted = plan.index, plan.key
        if index is None or wanted is None or plan.entity.key_in(index) is not None:
            continue
        if any(value.sources for value in wanted.partition) or wanted.partition[0].template is None:
            continue
        entity = plan.entity
        writes = [Load(work.pattern, 1.0, 0.0, _entry_write(work, entity, index)) for work in works]
        shape = f"{index.partition[0]} = {wanted.partition[0].template.text}"
        yield HotKey(table, index, entity, None, shape, tuple(load for load in writes if load.write))


def _entry_write(work: Work, entity: EntitySpec, index: Index) -> float:
    """What a write would cost an index whose partition key is one text and whose sort key is a field."""
    plan = work.plan
    if plan.reading or plan.entity is not entity:
        return 0.0
    one = write_units(item_size(entity).average)
    if plan.operation != "UpdateItem":
        return one
    changed = {entity.fields[action.path.field].attribute for action in plan.actions}
    return 2 * one if changed & set(index.sort) else one


def hot_keys_of(tables: Iterable[Table], works: Sequence[Work]) -> Iterator[HotKey]:
    """The most used partition key of every shape, of tables and global indexes."""
    for table in tables:
        mine = [work for work in works if work.plan.schema is table.schema and is_declared(work)]
        yield from _grouped(table, None, _table_loads(table, mine, items=False), items=False)
        for index in table.schema.indexes:
            if index.kind == "GSI":
                yield from _grouped(table, index, _index_loads(index, mine), items=False)
        yield from _expected_in(table, mine)


def hot_items_of(tables: Iterable[Table], works: Sequence[Work]) -> Iterator[HotKey]:
    """The most used item of every shape of primary key."""
    for table in tables:
        mine = [work for work in works if work.plan.schema is table.schema and is_declared(work)]
        yield from _grouped(table, None, _table_loads(table, mine, items=True), items=True)
