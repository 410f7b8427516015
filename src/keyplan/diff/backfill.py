"""Estimates the items, capacity units, price and duration of backfills from declared item counts and rates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from keyplan.cost.estimate import Estimate
from keyplan.cost.prices import PriceBook
from keyplan.cost.selectivity import share_in_index
from keyplan.cost.sizes import entry_size, item_size
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.entity_keys import BoundIndexKey
from keyplan.design.schema import Schema
from keyplan.design.workload import Provisioned
from keyplan.diff.changes import Build, DesignChange, Move, Rewrite
from keyplan.diff.entities import already_stored
from keyplan.diff.fields import Entities
from keyplan.dynamodb.values.units import TRANSACTIONAL, index_write_units, read_units, write_units

_SENTINEL_BYTES = 200
"""The approximate size of an item that reserves a unique value. The item consists of its key and the key of the item
that owns the value. Writing it uses one write unit.
"""


def seconds_of(
    written: float, indexes: Mapping[str, float], schema: Schema, month: Estimate, before: Schema | None = None
) -> float | None:
    """Return how many seconds it takes to use the given write units on a table and its indexes. Return None if one of
    them has no spare capacity.

    `written` is the number of write units on the table. `indexes` contains the write units on each index, by index
    name. Local indexes use the capacity of the table. `month` contains the declared load, which reduces the spare
    capacity. `before` is the table in the old design, whose provisioned capacity is used if it is higher.
    """
    of_table, of_indexes = written, {}
    for name, units in indexes.items():
        index = schema.index(name)
        if index is not None and index.kind == "LSI":
            of_table += units
        else:
            of_indexes[name] = units
    return longest(
        _time(units, _spare(schema, month, holder, before)) for holder, units in ((None, of_table), *of_indexes.items())
    )


def _time(units: float, left: float) -> float | None:
    """Return how many seconds it takes to use `units` capacity units if `left` units per second are available. Return
    None if `left` is 0.
    """
    if not units:
        return 0.0
    return units / left if left > 0 else None


def longest(times: Iterable[float | None]) -> float | None:
    """Return the longest of several durations, or None if one of them is None."""
    known_times = list(times)
    ended = [time for time in known_times if time is not None]
    return max(ended) if len(ended) == len(known_times) else None


def _spare(schema: Schema, month: Estimate, index: str | None, before: Schema | None) -> float:
    """Return the write units per second of a table or index that remain after the average declared load.

    For on-demand capacity, the initial throughput is used, although DynamoDB increases it over time. Provisioned
    capacity is assumed to be increased before a backfill and decreased after it.
    """
    name = schema.name if index is None else f"{schema.name}/{index}"
    load = sum(part.write for table in month.tables for part in table.parts if part.name == name)
    has = _write_capacity(schema, index)
    if before is not None and before.provisioned and schema.provisioned:
        has = max(has, _write_capacity(before, index))
    return has - load


def _write_capacity(schema: Schema, index: str | None) -> float:
    declared = None if index is None else schema.index(index)
    bought = (declared and declared.billing) or schema.billing
    return bought.write if isinstance(bought, Provisioned) else bought.served[1]


def price_of(written: float, read: float, schema: Schema, book: PriceBook) -> float:
    """Return the on-demand price of `written` write units and `read` read units in dollars. Return 0 for a table with
    provisioned capacity.
    """
    if schema.provisioned:
        return 0.0
    return book.on_demand(read, written, schema.table_class)


@dataclass(frozen=True)
class Backfill:
    """An estimate for one pass over stored items: the items that are read and written, the capacity units, the duration
    and the price.
    """

    by: str
    """The performer of the backfill: "the service" or "a program"."""
    what: str
    """The index to fill, the entity to rewrite or the table to copy."""
    table: str
    items: int
    read: float
    """The read units for scanning the table."""
    write: float
    """The write units that the backfill uses on the table."""
    indexes: Mapping[str, float] = field(default_factory=dict)
    """The write units that the backfill uses on each index, by index name."""
    checks: float = 0.0
    """The write units of the condition checks on the original items if a table is copied, otherwise 0."""
    seconds: float | None = None
    """The duration of the backfill in seconds if it uses only spare capacity, or None if a table or index has no spare
    capacity.
    """
    price: float = 0.0
    """The on-demand price of the backfill in dollars, or 0 for a table with provisioned capacity."""
    unknown: tuple[str, ...] = ()
    """The names of entities without a declared number of items, which the estimate does not include."""
    is_cleaning: bool = False
    """True if the backfill deletes items that no version of the program reads. It then runs after the rollout."""

    @property
    def written(self) -> float:
        """Return the total number of write units that the backfill uses on tables and indexes."""
        return self.write + sum(self.indexes.values()) + self.checks


def count_of(spec: EntitySpec, other: EntitySpec | None = None) -> int | None:
    """Return the declared number of an entity's items, or None.

    If the entity does not declare a number, use the number of the same entity in the other design.
    """
    items = spec.volume or (None if other is None else other.volume)
    return None if items is None else items.count


def _sized(spec: EntitySpec, other: EntitySpec | None) -> EntitySpec:
    """Return the entity `spec`. If it does not declare how many items it has, return a copy with the numbers that
    `other` declares.

    `other` is the same entity in the other design.
    """
    return spec if spec.volume is not None or other is None else replace(spec, volume=other.volume)


def estimate_backfill(
    change: DesignChange, old: Estimate, new: Estimate, tables: Mapping[str, Table]
) -> Backfill | None:
    """Estimate the backfill for a single change. Return None if no items are written."""
    if isinstance(change.work, Build):
        return build(change.work, new)
    if isinstance(change.work, Rewrite):
        return rewrite([change.work], old, tables)
    if isinstance(change.work, Move):
        return move(change.work, old, new)
    return None


def build(work: Build, month: Estimate) -> Backfill | None:
    """Estimate the backfill that DynamoDB performs for a new index. Return None if no stored items enter the index."""
    units, items, unknown = 0.0, 0, []
    for spec in work.entities:
        bound, count = spec.key_in(work.index), count_of(spec)
        if bound is None or count is None:
            unknown += [spec.name] if count is None else []
            continue
        rows = count * share_in_index(spec, bound)
        items += round(rows)
        units += rows * write_units(entry_size(spec, bound).average)
    if not work.entities:
        return None
    schema = work.table.schema
    seconds = seconds_of(0.0, {work.index.name: units}, schema, month)
    return Backfill(
        "the service", f"index {work.index.name}", work.table.name, items, 0.0, 0.0, {work.index.name: units},
        0.0, seconds, price_of(units, 0.0, schema, month.book), tuple(unknown),
    )  # fmt: skip


def rewrite(works: list[Rewrite], month: Estimate, tables: Mapping[str, Table]) -> Backfill:
    """Estimate the backfill that makes all changes to an entity in a single pass over its stored items."""
    old, new = works[0].old, _new(works)
    sized, count = _sized(old, new), count_of(old, new)
    table = tables[old.schema.name]
    unknown = () if count is not None else (old.name,)
    stored, size = count or 0, write_units(item_size(sized).average)
    is_written = any(work.items for work in works)
    is_held = any(work.sentinels for work in works) and new is not None
    items = stored * _share(works)
    is_moved = any(work.rekeyed for work in works)
    # With a new key, a write is a put and a delete. If only a sentinel is put, its item is checked in the same
    # transaction.
    actions = 2 if is_moved else 1 if is_written or is_held else 0
    times = TRANSACTIONAL if is_moved or is_held else 1
    sentinels = stored * sum(work.share * work.sentinels for work in works) * write_units(_SENTINEL_BYTES)
    written = times * (items * actions * size + sentinels)
    indexes = _entries(works, stored) if is_written else {}
    scanned = sum((count_of(spec) or 0) * item_size(spec).average for spec in table.entities) if stored else 0
    read = read_units(int(scanned), consistent=False)
    total = written + sum(indexes.values())
    is_same = new is not None and new.schema.name == old.schema.name
    schema = new.schema if new is not None and is_same else old.schema
    verb = "deleted" if new is None else "rewritten"
    what = f"{old.name} {verb}" if is_written else f"sentinels of {old.name}"
    seconds = seconds_of(written, indexes, schema, month, old.schema)
    price = price_of(total, read, schema, month.book)
    return Backfill(
        "a program", what, schema.name, round(items), read, written, indexes, 0.0, seconds, price, unknown,
        is_cleaning=new is None,
    )  # fmt: skip


def _share(works: Iterable[Rewrite]) -> float:
    """Return the share of items that a pass must rewrite for several changes, assuming that they affect different
    items.
    """
    return min(1.0, sum(work.share for work in works))


def _new(works: list[Rewrite]) -> EntitySpec | None:
    """Return the entity in the new design, or None if all changes delete its items, so that no new entity exists."""
    return next((work.new for work in works if work.new is not None), None)


def _entries(works: list[Rewrite], stored: int) -> dict[str, float]:
    """Return the write units that a pass over `stored` items uses in each index, by index name."""
    old, new = works[0].old, _new(works)
    names = {bound.index.name for side in (old, new) if side is not None for bound in side.indexes}
    entries = {}
    for name in sorted(names):
        units = stored * _share(_changes_in_index(works, name)) * _entry_units(works, name)
        if units:
            entries[name] = units
    return entries


def _changes_in_index(works: list[Rewrite], name: str) -> list[Rewrite]:
    """Return the changes that write an entity's items in the index `name`. If none of the changes does this, return all
    of them.
    """
    old, new = works[0].old, _new(works)
    bound = (None if new is None else new.key_in(name)) or old.key_in(name)
    assert bound is not None, "one of the two is in it"
    keys = [
        work
        for work in works
        if work.rekeyed
        or name in work.indexes
        or any(_projects(bound, attribute, old.schema) for attribute in work.attributes)
    ]
    return keys or works


def _entry_units(works: list[Rewrite], name: str) -> float:
    """Return the write units that rewriting one item of average size uses in an index."""
    old, new = works[0].old, _new(works)
    after = None if new is None else new.key_in(name)
    now = _entry_figures(new or old, old, after)
    before = old.key_in(name)
    is_written = any(name in work.indexes for work in works)
    was = now if _is_filled(old, new, after) and not is_written else _entry_figures(old, new, before)
    if before is None and was[0] == 0 and not is_written and not any(work.rekeyed for work in works):
        return 0.0  # no stored item is in the index before or after
    moves = is_written or any(work.rekeyed for work in works)
    if was[0] == 0 or now[0] == 0 or moves:
        return was[0] * was[1] + now[0] * now[1]
    attributes = {attribute for work in works for attribute in work.attributes}
    assert after is not None, "something of it is held there"
    if not any(_projects(after, attribute, old.schema) for attribute in attributes):
        return 0.0
    return was[0] * index_write_units(was[2], now[2], same_key=True, same_content=False)


def _is_filled(old: EntitySpec, new: EntitySpec | None, after: BoundIndexKey | None) -> bool:
    """Return True if the key `after` belongs to a new index that DynamoDB fills completely, because stored items
    already have its key attributes.
    """
    if new is None or after is None or old.schema.index(after.index.name) is not None:
        return False
    return already_stored(Entities(old, new), after)


def _entry_figures(spec: EntitySpec, other: EntitySpec | None, bound: BoundIndexKey | None) -> tuple[float, float, int]:
    """Return three figures of an entity in an index: the share of its items that are in the index, the write units for
    writing one of them there, and its size in bytes.

    All are 0 if `bound` is None, which means that the entity has no key in the index.
    """
    if bound is None:
        return 0.0, 0, 0
    size = entry_size(spec, bound).average
    return share_in_index(_sized(spec, other), bound), write_units(size), size


def _projects(bound: BoundIndexKey, attribute: str, schema: Schema) -> bool:
    return bound.index.projects(attribute, schema.key)


def move(work: Move, before: Estimate, month: Estimate) -> Backfill:
    """Estimate the backfill that copies a table. One transaction per item puts it into the new table and checks that it
    still exists in the old table.
    """
    written, checks, items, scanned, unknown = 0.0, 0.0, 0, 0, []
    indexes: dict[str, float] = {}
    for spec in work.old.entities:
        after = next((entity for entity in work.new.entities if entity.name == spec.name), None)
        if after is None:
            continue
        count = count_of(spec, after)
        if count is None:
            unknown.append(spec.name)
            continue
        items += count
        size = item_size(_sized(spec, after)).average
        scanned += count * size
        checks += count * TRANSACTIONAL * write_units(size)
        written += count * TRANSACTIONAL * (write_units(size) + len(after.sentinels) * write_units(_SENTINEL_BYTES))
        for bound in after.indexes:
            units = count * share_in_index(_sized(after, spec), bound) * write_units(entry_size(after, bound).average)
            indexes[bound.index.name] = indexes.get(bound.index.name, 0.0) + units
    read = read_units(scanned, consistent=False)
    was, schema = work.old.schema, work.new.schema
    price = price_of(written + sum(indexes.values()), 0.0, schema, month.book) + price_of(checks, read, was, month.book)
    into, of_checks = seconds_of(written, indexes, schema, month), seconds_of(checks, {}, was, before)
    return Backfill(
        "a program", f"{work.old.name} copied", work.new.name, items, read, written, indexes, checks,
        longest((into, of_checks)), price, tuple(unknown),
    )  # fmt: skip


def all_backfills(
    changes: Iterable[DesignChange], old: Estimate, new: Estimate, tables: Mapping[str, Table]
) -> list[Backfill]:
    """Estimate all backfills of a comparison.

    All changes to an entity are made in one pass, and each table is copied in one pass.
    """
    works = [change.work for change in changes if change.work is not None]
    moves = list(dict.fromkeys((work.old, work.new) for work in works if isinstance(work, Move)))
    copied = {name for pair in moves for name in (pair[0].name, pair[1].name)}
    backfills = [move(Move(*pair), old, new) for pair in moves]
    together: dict[tuple[EntitySpec, bool], list[Rewrite]] = {}  # clean-ups are separate passes
    for work in works:
        if isinstance(work, Build) and work.table.name not in copied:
            backfill = build(work, new)
            backfills += [backfill] if backfill is not None else []
        elif isinstance(work, Rewrite) and work.old.schema.name not in copied:
            together.setdefault((work.old, work.new is None), []).append(work)
    return [*backfills, *(rewrite(several, old, tables) for several in together.values())]
