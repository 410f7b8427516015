"""Rules for keys and items with more load than a partition supports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from keyplan import limits
from keyplan.check.field_names import has_time_ordered_type, increases_with_time, is_time_by_type, monotonic_start
from keyplan.check.finding import Finding, number
from keyplan.check.load import is_declared
from keyplan.check.partition_load import HotKey
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import share_in_index
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.entity_keys import BoundKey, key_text
from keyplan.design.schema import Index


@design_rule("KP501", "error", "warning")
def hot_partition_key(subject: Subject) -> Iterator[Finding]:
    """Hot partition key

    Finds partition keys of tables and global indexes with a load of more than 1,000 write units or 3,000 read units per
    second. The finding is an error if the average load exceeds this limit, and a warning if only the peak does.

    The load is the sum over all patterns. For each pattern, the rate is multiplied by the capacity units per call and
    by the share of calls that use the most frequent value of the key's fields. The share is derived from
    `Volume(distinct=...)`, the choices of a type, or the bounds of an int, such as a shard from 0 to 7. A constant key
    receives the whole load. If a key contains the month, day, hour or minute of the write
    (`ROOM#{room}#{sent_at:month}`), all new items have the same value. A write that changes an index key causes two
    writes in the index.

    Why is this bad? Items with the same partition key share a partition. If the load on a key exceeds the throughput of
    a partition, requests are throttled even if the table has enough capacity. If this happens in an index, writes to
    the table are throttled too.

    Fix: use a field with more values in the key, or shard a hot value with `{user_id:shard(8)}` and read the shards
    with `every_shard()`. Use `only_if=` to keep items out of an index if queries on the index do not need them.

    Source: developer guide, "Best practices for designing and using partition keys effectively" and "Using write
    sharding to distribute workloads evenly".
    """
    keys_with_hot_item = set(_keys_with_hot_item(subject))
    for hot_key in subject.hot_keys:
        if hot_key.shard_count:
            continue
        if hot_key.index is not None or (hot_key.table.name, hot_key.shape) not in keys_with_hot_item:
            yield from _overload(
                hot_key, "write", hot_key.write(peak=False), hot_key.write(peak=True), limits.PARTITION_WRITE_UNITS
            )
        yield from _overload(
            hot_key, "read", hot_key.read(peak=False), hot_key.read(peak=True), limits.PARTITION_READ_UNITS
        )


def _keys_with_hot_item(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield the table and partition key template of each item for which KP502 reports too many writes."""
    for item in subject.hot_items:
        if item.bound is not None and item.write(peak=True) > limits.PARTITION_WRITE_UNITS:
            yield item.table.name, key_text(item.bound.partition)


def _overload(hot_key: HotKey, access: str, average: float, peak: float, limit: int) -> Iterator[Finding]:
    if peak <= limit:
        return
    is_constant = average > limit
    share = hot_key.share_of(access)
    share_text = "all calls" if share == 1 else f"up to {share:.0%} of a pattern's calls"
    refused = "; writes of the table then fail too" if hot_key.index is not None and access == "write" else ""
    yield hot_partition_key.finding(
        hot_key.name,
        f"the most used key of {hot_key.label} ({hot_key.shape}) is throttled: it takes"
        f" {number(average if is_constant else peak)} {access} units per"
        f" second {'on average' if is_constant else 'at the peak'} from"
        f" {', '.join(hot_key.main_patterns(access))} ({share_text}), and a"
        f" partition"
        f" serves {limit:,}{refused}",
        f"shard the key ({max(2, ceil(peak / limit * 2))} shards) and read it with every_shard(), or use a field"
        f" with more values"
        + (", or keep items that no query needs out of the index with only_if=" if hot_key.index is not None else ""),
        hot_key.place,
        hot_key.table.schema.place_of(hot_key.index),
        severity="error" if is_constant else "warning",
    )


@design_rule("KP502", "warning")
def hot_item(subject: Subject) -> Iterator[Finding]:
    """Hot item

    Finds items with a load of more than 1,000 write units or 3,000 read units per second at the peak. The load is the
    sum over all patterns. For each pattern, the rate is multiplied by the capacity units per call and by the share of
    the most frequent value of each field in the primary key. A key without fields identifies one item.

    Why is this bad? A single item cannot be distributed across partitions. Typical hot items are counters,
    configuration items, and the item of a large customer.

    Fix: distribute a counter across several items, and add up their values when reading. Cache items that are read much
    more often than they change. Events that only need to be counted can be written as separate items.

    Source: developer guide, "Best practices for designing and using partition keys effectively".
    """
    for item in subject.hot_items:
        loads = [
            ("write", item.write(peak=True), limits.PARTITION_WRITE_UNITS),
            ("read", item.read(peak=True), limits.PARTITION_READ_UNITS),
        ]
        for access, units, limit in loads:
            if units <= limit:
                continue
            fix = (
                "spread it over several items, write to a random one, and add them up when reading"
                if access == "write"
                else "cache it, or keep several copies and read a random one"
            )
            yield hot_item.finding(
                item.entity.name,
                f"the most used item of {item.entity.name} ({item.shape}) is throttled: it takes {number(units)}"
                f" {access} units per second at the peak from {', '.join(item.main_patterns(access))}, and one"
                " item can take"
                f" {limit:,}",
                fix,
                item.place,
                item.table.schema.place,
            )


@design_rule("KP503", "warning", "advice", implied_by=("KP501",))
def monotonic_sort_key(subject: Subject) -> Iterator[Finding]:
    """Hot key with a monotonic sort key

    Finds partition keys with more than 500 write units per second at the peak, if the sort key starts with the time of
    the write, a sequence number, or an ID that starts with the time (ULID, KSUID, UUID 7). The severity is advice if
    the field's name is the only sign of such values.

    Why is this bad? DynamoDB splits a hot item collection by its sort key. If the sort key of each new item is greater
    than all existing ones, all writes still go to the same partition after a split.

    Fix: put a field with varying values before the time, shard the partition key and read the shards in order with
    `every_shard()`, or remove items from the index when queries no longer need them.

    Source: developer guide, "Best practices for designing and using partition keys effectively"; AWS blog, "Scaling
    DynamoDB" (part 3).
    """
    for hot_key in subject.hot_keys:
        if hot_key.bound is None:
            continue
        field = monotonic_start(hot_key.bound.sort, hot_key.entity)
        units = hot_key.write(peak=True)
        if field is not None and units > limits.PARTITION_WRITE_UNITS / 2:
            yield _monotonic(hot_key, field, units)


def _monotonic(hot_key: HotKey, field: str, units: float) -> Finding:
    stored_field = hot_key.entity.fields[field]
    return monotonic_sort_key.finding(
        hot_key.name,
        f"the most used key of {hot_key.label} ({hot_key.shape}) cannot be split: its {number(units)} write units"
        " per second at"
        f" the peak go to the end of its sort key, which starts with {field}",
        f"put a field that varies before {field}, or shard the partition key and read it with every_shard()",
        hot_key.place,
        hot_key.table.schema.place_of(hot_key.index),
        severity="warning" if is_time_by_type(stored_field) or has_time_ordered_type(stored_field) else "advice",
    )


_MANY_ITEMS = 100_000
_NOTABLE_SHARE = 0.1


@design_rule("KP504", "warning", "advice", implied_by=("KP501",))
def constant_partition_key(subject: Subject) -> Iterator[Finding]:
    """Partition key is constant

    Finds partition keys that are a constant ("LEADERBOARD", "ALL", "ACTIVE") or consist of the time of the write, if
    the key has at least 100,000 items or uses more than 10% of the write or read throughput of a partition. The
    severity is advice if the name of a field is the only sign that it contains the time of the write.

    Why is this bad? All items with a constant key share one partition. If the key is the day or hour of the write, the
    partition changes, but all current writes share one partition. More capacity does not increase the throughput of a
    partition.

    Fix: shard the key and merge the shards when reading (`every_shard()`), store only the requested items in the index,
    or cache a list that is read often and changes rarely.

    Source: developer guide, "Best practices for designing and using partition keys effectively" and "Using write
    sharding to distribute workloads evenly".
    """
    hot_keys = {(hot.name, hot.entity.name): hot for hot in subject.hot_keys}
    for hot in hot_keys.values():
        if hot.bound is None:
            yield from _constant_key(hot, None, hot.entity)
    for table, entity in subject.entities:
        for bound in (entity.key, *entity.indexes):
            if bound.index is not None and bound.index.kind == "LSI":
                continue
            hot_key = hot_keys.get((table.name if bound.index is None else bound.index.name, entity.name))
            if not any(part.fields for part in bound.partition):
                yield from _constant_key(hot_key, bound, entity)
            else:
                yield from _time_key(subject, hot_key, bound, entity)


def _constant_key(hot_key: HotKey | None, bound: BoundKey | None, entity: EntitySpec) -> Iterator[Finding]:
    write = hot_key.write(peak=True) if hot_key is not None else 0.0
    read = hot_key.read(peak=True) if hot_key is not None else 0.0
    items = _items_under(bound, entity)
    if items < _MANY_ITEMS and not _is_notable(write, read):
        return
    index = bound.index if bound is not None else hot_key.index if hot_key is not None else None
    target = entity.schema.label_of(index)
    text = _key_text(hot_key, bound)
    parts = [f"{items:,.0f} items"] if items else []
    parts += [f"{number(write)} write units per second at the peak"] if write else []
    parts += [f"{number(read)} read units per second at the peak"] if read else []
    yield constant_partition_key.finding(
        index.name if index is not None else entity.name,
        f"every {entity.name} shares the partition key {text} in {target}: {', '.join(parts)} in one"
        f" partition, which serves {limits.PARTITION_WRITE_UNITS:,} write and"
        f" {limits.PARTITION_READ_UNITS:,} read units per second",
        "shard the key, such as TEXT#{id:shard(8)}, and read it with every_shard(), or keep only"
        " requested items in the index with only_if=",
        bound.place if bound is not None else entity.place,
        entity.schema.place_of(index),
    )


def _peak_of_new_items(subject: Subject, entity: EntitySpec, index: Index | None) -> float:
    """Return the peak load, in write units per second, that all puts of whole items of an entity cause on a table or
    index.
    """
    puts = [put for put in subject.writes_of(entity) if put.plan.item is not None and is_declared(put)]
    units = [put.units.write if index is None else put.units.indexes.get(index.name, 0.0) for put in puts]
    return sum(
        units_of_item * put.rate.highest for units_of_item, put in zip(units, puts, strict=True) if put.rate is not None
    )


def _key_text(hot_key: HotKey | None, bound: BoundKey | None) -> str:
    if bound is not None:
        return " and ".join(part.text for part in bound.partition)
    return hot_key.shape.partition(" = ")[2] if hot_key is not None else ""


def _is_notable(write: float, read: float) -> bool:
    return write > limits.PARTITION_WRITE_UNITS * _NOTABLE_SHARE or read > limits.PARTITION_READ_UNITS * _NOTABLE_SHARE


def _items_under(bound: BoundKey | None, entity: EntitySpec) -> float:
    if entity.volume is None:
        return 0.0
    return entity.volume.count * (share_in_index(entity, bound) if bound is not None else 1.0)


def _time_key(subject: Subject, hot_key: HotKey | None, bound: BoundKey, entity: EntitySpec) -> Iterator[Finding]:
    names = [name for part in bound.partition for name in part.fields]
    if not all(increases_with_time(entity.fields[name]) for name in names):
        return
    if hot_key is not None:
        units = sum(load.write * (load.peak / load.share) for load in hot_key.loads if load.share)
    else:  # the number of values is not declared, but all new items have the current value
        units = _peak_of_new_items(subject, entity, bound.index)
    if units <= limits.PARTITION_WRITE_UNITS * _NOTABLE_SHARE:
        return
    schema = entity.schema
    yield constant_partition_key.finding(
        schema.name if bound.index is None else bound.index.name,
        f"all current writes to {schema.label_of(bound.index)} use one key, {number(units)} write units per second at"
        f" the peak, because it consists of {', '.join(names)}; a partition serves"
        f" {limits.PARTITION_WRITE_UNITS:,}",
        "add a field that varies, or a shard, and read the shards with every_shard()",
        bound.place,
        schema.place_of(bound.index),
        severity="warning" if _is_time_of_writing(entity, names, has_declared_count=hot_key is not None) else "advice",
    )


def _is_time_of_writing(entity: EntitySpec, names: Sequence[str], *, has_declared_count: bool) -> bool:
    """Return True if a key that consists of the fields `names` is the time of the write, according to the types of the
    fields.

    If `has_declared_count` is True, a date field for which the design declares a number of distinct values is also
    accepted.
    """
    fields = [entity.fields[name] for name in names]
    return all(field.write_time is not None or (has_declared_count and is_time_by_type(field)) for field in fields)
