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
from keyplan.diff.changes import DesignChange, IndexBuild, ItemRewrite, TableCopy
from keyplan.diff.entities import already_stored
from keyplan.diff.fields import EntityPair
from keyplan.dynamodb.values.units import TRANSACTIONAL, index_write_units, read_units, write_units

_SENTINEL_BYTES = 200
"""The approximate size of an item that reserves a unique value. The item consists of its key and the key of the item
that owns the value. Writing it uses one write unit.
"""


def backfill_seconds(
    table_units: float, indexes: Mapping[str, float], schema: Schema, estimate: Estimate, before: Schema | None = None
) -> float | None:
    """Return how many seconds it takes to use the given write units on a table and its indexes. Return None if one of
    them has no spare capacity.

    `table_units` is the number of write units on the table. `indexes` contains the write units on each index, by index
    name. Local indexes use the capacity of the table. `estimate` contains the declared load, which reduces the spare
    capacity. `before` is the table in the old design, whose provisioned capacity is used if it is higher.
    """
    table_total, index_totals = table_units, {}
    for name, units in indexes.items():
        index = schema.index(name)
        if index is not None and index.kind == "LSI":
            table_total += units
        else:
            index_totals[name] = units
    return longest_duration(
        _duration(units, _spare_capacity(schema, estimate, index_name, before))
        for index_name, units in ((None, table_total), *index_totals.items())
    )


def _duration(units: float, available: float) -> float | None:
    """Return how many seconds it takes to use `units` capacity units if `available` units per second can be used.
    Return None if `available` is 0.
    """
    if not units:
        return 0.0
    return units / available if available > 0 else None


def longest_duration(times: Iterable[float | None]) -> float | None:
    """Return the longest of several durations, or None if one of them is None."""
    known_times = list(times)
    ended = [time for time in known_times if time is not None]
    return max(ended) if len(ended) == len(known_times) else None


def _spare_capacity(schema: Schema, estimate: Estimate, index: str | None, before: Schema | None) -> float:
    """Return the write units per second of a table or index that remain after the average declared load.

    For on-demand capacity, the initial throughput is used, although DynamoDB increases it over time. Provisioned
    capacity is assumed to be increased before a backfill and decreased after it.
    """
    name = schema.name if index is None else f"{schema.name}/{index}"
    load = sum(part.write for table in estimate.tables for part in table.parts if part.name == name)
    capacity = _write_capacity(schema, index)
    if before is not None and before.provisioned and schema.provisioned:
        capacity = max(capacity, _write_capacity(before, index))
    return capacity - load


def _write_capacity(schema: Schema, index: str | None) -> float:
    declared = None if index is None else schema.index(index)
    billing = (declared and declared.billing) or schema.billing
    return billing.write if isinstance(billing, Provisioned) else billing.served[1]


def backfill_price(write: float, read: float, schema: Schema, book: PriceBook) -> float:
    """Return the on-demand price of `write` write units and `read` read units in dollars. Return 0 for a table with
    provisioned capacity.
    """
    if schema.provisioned:
        return 0.0
    return book.on_demand(read, write, schema.table_class)


@dataclass(frozen=True)
class Backfill:
    """An estimate for one pass over stored items: the items that are read and written, the capacity units, the duration
    and the price.
    """

    executor: str
    """The executor of the backfill: "the service" or "a program"."""
    subject: str
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
    def total_write(self) -> float:
        """Return the total number of write units that the backfill uses on tables and indexes."""
        return self.write + sum(self.indexes.values()) + self.checks


def count_of(spec: EntitySpec, counterpart: EntitySpec | None = None) -> int | None:
    """Return the declared number of an entity's items, or None if it is not declared.

    If the entity declares no volume, use the volume of `counterpart`, which is the same entity in the other design.
    """
    items = spec.volume or (None if counterpart is None else counterpart.volume)
    return None if items is None else items.count


def _sized_entity(spec: EntitySpec, counterpart: EntitySpec | None) -> EntitySpec:
    """Return an entity or, if it declares no volume, a copy with the volume of `counterpart`, which is the same entity
    in the other design.
    """
    return spec if spec.volume is not None or counterpart is None else replace(spec, volume=counterpart.volume)


def estimate_backfill(
    change: DesignChange, old: Estimate, new: Estimate, tables: Mapping[str, Table]
) -> Backfill | None:
    """Estimate the backfill for a single change. Return None if no items are written."""
    if isinstance(change.migration, IndexBuild):
        return build_backfill(change.migration, new)
    if isinstance(change.migration, ItemRewrite):
        return rewrite_backfill([change.migration], old, tables)
    if isinstance(change.migration, TableCopy):
        return copy_backfill(change.migration, old, new)
    return None


def build_backfill(index_build: IndexBuild, estimate: Estimate) -> Backfill | None:
    """Estimate the backfill that DynamoDB performs for a new index. Return None if no stored items enter the index."""
    units, items, unknown = 0.0, 0, []
    for spec in index_build.entities:
        bound, count = spec.key_in(index_build.index), count_of(spec)
        if bound is None or count is None:
            unknown += [spec.name] if count is None else []
            continue
        entry_count = count * share_in_index(spec, bound)
        items += round(entry_count)
        units += entry_count * write_units(entry_size(spec, bound).average)
    if not index_build.entities:
        return None
    schema, name = index_build.table.schema, index_build.index.name
    seconds = backfill_seconds(0.0, {name: units}, schema, estimate)
    return Backfill(
        "the service", f"index {name}", index_build.table.name, items, 0.0, 0.0, {name: units},
        0.0, seconds, backfill_price(units, 0.0, schema, estimate.book), tuple(unknown),
    )  # fmt: skip


def rewrite_backfill(rewrites: list[ItemRewrite], estimate: Estimate, tables: Mapping[str, Table]) -> Backfill:
    """Estimate the backfill that makes all changes to an entity in a single pass over its stored items."""
    old, new = rewrites[0].old, _new_entity(rewrites)
    sized_entity, count = _sized_entity(old, new), count_of(old, new)
    table = tables[old.schema.name]
    unknown = () if count is not None else (old.name,)
    item_count, size = count or 0, write_units(item_size(sized_entity).average)
    is_written = any(rewrite.items for rewrite in rewrites)
    puts_sentinels = any(rewrite.sentinels for rewrite in rewrites) and new is not None
    items = item_count * _share(rewrites)
    is_moved = any(rewrite.rekeyed for rewrite in rewrites)
    # With a new key, a write is a put and a delete. If only a sentinel is put, its item is checked in the same
    # transaction.
    actions = 2 if is_moved else 1 if is_written or puts_sentinels else 0
    times = TRANSACTIONAL if is_moved or puts_sentinels else 1
    sentinels = (
        item_count * sum(rewrite.share * rewrite.sentinels for rewrite in rewrites) * write_units(_SENTINEL_BYTES)
    )
    table_units = times * (items * actions * size + sentinels)
    indexes = _index_units(rewrites, item_count) if is_written else {}
    scanned = sum((count_of(spec) or 0) * item_size(spec).average for spec in table.entities) if item_count else 0
    read = read_units(int(scanned), consistent=False)
    total = table_units + sum(indexes.values())
    is_same = new is not None and new.schema.name == old.schema.name
    schema = new.schema if new is not None and is_same else old.schema
    verb = "deleted" if new is None else "rewritten"
    subject = f"{old.name} {verb}" if is_written else f"sentinels of {old.name}"
    seconds = backfill_seconds(table_units, indexes, schema, estimate, old.schema)
    price = backfill_price(total, read, schema, estimate.book)
    return Backfill(
        "a program", subject, schema.name, round(items), read, table_units, indexes, 0.0, seconds, price, unknown,
        is_cleaning=new is None,
    )  # fmt: skip


def _share(rewrites: Iterable[ItemRewrite]) -> float:
    """Return the share of items that a pass must rewrite for several changes, assuming that they affect different
    items.
    """
    return min(1.0, sum(rewrite.share for rewrite in rewrites))


def _new_entity(rewrites: list[ItemRewrite]) -> EntitySpec | None:
    """Return the entity in the new design, or None if all changes delete the entity's items."""
    return next((rewrite.new for rewrite in rewrites if rewrite.new is not None), None)


def _index_units(rewrites: list[ItemRewrite], item_count: int) -> dict[str, float]:
    """Return the write units that a pass over `item_count` items uses in each index, by index name."""
    old, new = rewrites[0].old, _new_entity(rewrites)
    names = {bound.index.name for side in (old, new) if side is not None for bound in side.indexes}
    entries = {}
    for name in sorted(names):
        units = item_count * _share(_changes_in_index(rewrites, name)) * _entry_units(rewrites, name)
        if units:
            entries[name] = units
    return entries


def _changes_in_index(rewrites: list[ItemRewrite], name: str) -> list[ItemRewrite]:
    """Return the changes that write an entity's items in the index `name`. If none of the changes does this, return all
    of them.
    """
    old, new = rewrites[0].old, _new_entity(rewrites)
    bound = (None if new is None else new.key_in(name)) or old.key_in(name)
    assert bound is not None, "one of the two is in it"
    matching = [
        rewrite
        for rewrite in rewrites
        if rewrite.rekeyed
        or name in rewrite.indexes
        or any(_projects(bound, attribute, old.schema) for attribute in rewrite.attributes)
    ]
    return matching or rewrites


def _entry_units(rewrites: list[ItemRewrite], name: str) -> float:
    """Return the write units that rewriting one item of average size uses in an index."""
    old, new = rewrites[0].old, _new_entity(rewrites)
    after = None if new is None else new.key_in(name)
    new_figures = _entry_figures(new or old, old, after)
    before = old.key_in(name)
    is_written = any(name in rewrite.indexes for rewrite in rewrites)
    old_figures = new_figures if _is_filled(old, new, after) and not is_written else _entry_figures(old, new, before)
    if before is None and old_figures[0] == 0 and not is_written and not any(rewrite.rekeyed for rewrite in rewrites):
        return 0.0  # no stored item is in the index before or after
    moves = is_written or any(rewrite.rekeyed for rewrite in rewrites)
    if old_figures[0] == 0 or new_figures[0] == 0 or moves:
        return old_figures[0] * old_figures[1] + new_figures[0] * new_figures[1]
    attributes = {attribute for rewrite in rewrites for attribute in rewrite.attributes}
    assert after is not None, "something of it is held there"
    if not any(_projects(after, attribute, old.schema) for attribute in attributes):
        return 0.0
    return old_figures[0] * index_write_units(old_figures[2], new_figures[2], same_key=True, same_content=False)


def _is_filled(old: EntitySpec, new: EntitySpec | None, after: BoundIndexKey | None) -> bool:
    """Return True if the key `after` belongs to a new index that DynamoDB fills completely, because stored items
    already have its key attributes.
    """
    if new is None or after is None or old.schema.index(after.index.name) is not None:
        return False
    return already_stored(EntityPair(old, new), after)


def _entry_figures(
    spec: EntitySpec, counterpart: EntitySpec | None, bound: BoundIndexKey | None
) -> tuple[float, float, int]:
    """Return the share of an entity's items that are in an index, the write units for writing one such item to the
    index, and the average size in bytes of such an item.

    All are 0 if `bound` is None, which means that the entity has no key in the index.
    """
    if bound is None:
        return 0.0, 0, 0
    size = entry_size(spec, bound).average
    return share_in_index(_sized_entity(spec, counterpart), bound), write_units(size), size


def _projects(bound: BoundIndexKey, attribute: str, schema: Schema) -> bool:
    return bound.index.projects(attribute, schema.key)


def copy_backfill(copy: TableCopy, old_estimate: Estimate, new_estimate: Estimate) -> Backfill:
    """Estimate the backfill that copies a table. For each item, one transaction puts the item into the new table and
    checks that the item still exists in the old table.
    """
    table_units, check_units, items, scanned, unknown = 0.0, 0.0, 0, 0, []
    indexes: dict[str, float] = {}
    for spec in copy.old.entities:
        after = next((entity for entity in copy.new.entities if entity.name == spec.name), None)
        if after is None:
            continue
        count = count_of(spec, after)
        if count is None:
            unknown.append(spec.name)
            continue
        items += count
        size = item_size(_sized_entity(spec, after)).average
        scanned += count * size
        check_units += count * TRANSACTIONAL * write_units(size)
        table_units += count * TRANSACTIONAL * (write_units(size) + len(after.sentinels) * write_units(_SENTINEL_BYTES))
        for bound in after.indexes:
            units = (
                count
                * share_in_index(_sized_entity(after, spec), bound)
                * write_units(entry_size(after, bound).average)
            )
            indexes[bound.index.name] = indexes.get(bound.index.name, 0.0) + units
    read = read_units(scanned, consistent=False)
    old_schema, schema = copy.old.schema, copy.new.schema
    price = backfill_price(table_units + sum(indexes.values()), 0.0, schema, new_estimate.book) + backfill_price(
        check_units, read, old_schema, new_estimate.book
    )
    write_seconds, check_seconds = (
        backfill_seconds(table_units, indexes, schema, new_estimate),
        backfill_seconds(check_units, {}, old_schema, old_estimate),
    )
    return Backfill(
        "a program", f"{copy.old.name} copied", copy.new.name, items, read, table_units, indexes, check_units,
        longest_duration((write_seconds, check_seconds)), price, tuple(unknown),
    )  # fmt: skip


def all_backfills(
    changes: Iterable[DesignChange], old: Estimate, new: Estimate, tables: Mapping[str, Table]
) -> list[Backfill]:
    """Estimate all backfills of a comparison.

    All changes to an entity are made in one pass, and each table is copied in one pass.
    """
    migrations = [change.migration for change in changes if change.migration is not None]
    moves = list(
        dict.fromkeys((migration.old, migration.new) for migration in migrations if isinstance(migration, TableCopy))
    )
    copied_tables = {name for pair in moves for name in (pair[0].name, pair[1].name)}
    backfills = [copy_backfill(TableCopy(*pair), old, new) for pair in moves]
    rewrites_by_pass: dict[tuple[EntitySpec, bool], list[ItemRewrite]] = {}  # clean-ups are separate passes
    for migration in migrations:
        if isinstance(migration, IndexBuild) and migration.table.name not in copied_tables:
            backfill = build_backfill(migration, new)
            backfills += [backfill] if backfill is not None else []
        elif isinstance(migration, ItemRewrite) and migration.old.schema.name not in copied_tables:
            rewrites_by_pass.setdefault((migration.old, migration.new is None), []).append(migration)
    return [*backfills, *(rewrite_backfill(rewrites, old, tables) for rewrites in rewrites_by_pass.values())]
