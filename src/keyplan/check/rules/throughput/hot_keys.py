"""Rules: hot keys."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from keyplan import limits
from keyplan.check.field_names import increases_with_time, monotonic_start
from keyplan.check.finding import Finding, number
from keyplan.check.partition_load import HotKey
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import share_in_index
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.entity_keys import BoundKey, key_text


@design_rule("KP501", "error", "warning")
def hot_partition_key(subject: Subject) -> Iterator[Finding]:
    """A partition key that takes more than a partition serves

    All items of one partition key value lie in one place, which serves 1,000 write units and 3,000 read units a
    second; an index has partitions of its own with the same limits. A key that takes more is throttled however
    much capacity the table has, and a throttled index refuses the table's writes.

    What is added up: every declared rate, times the units of a call, times the share of the most used value of the
    fields that the key is made of (`Items(distinct=...)`). A key that is one constant text has the whole load. New
    items all go to the present month, day, hour or minute where that is a part of it (`ROOM#{room}#{sent_at:month}`). A
    write that changes an index key counts twice there: the old entry is deleted, a new one put.

    It is an error where the average rates already exceed the limit, and a warning where the peaks do.

    Make the key of something with more values, or spread one hot value over a few with `{user_id:shard(8)}` and
    read them together with `every_shard()`. Where an index is only asked for a part of the items, keep the others
    out of it with `when=`.

    Source: developer guide, "Best practices for designing and using partition keys effectively" and "Using
    write sharding to distribute workloads evenly".
    """
    of_items = set(_keys_with_hot_item(subject))
    for hot in subject.hot_keys:
        if hot.sharded:
            continue
        if hot.index is not None or (hot.table.name, hot.shape) not in of_items:
            yield from _overload(
                hot, "write", hot.write(peak=False), hot.write(peak=True), limits.PARTITION_WRITE_UNITS
            )
        yield from _overload(hot, "read", hot.read(peak=False), hot.read(peak=True), limits.PARTITION_READ_UNITS)


def _keys_with_hot_item(subject: Subject) -> Iterator[tuple[str, str]]:
    """Table and shape of the keys one item of which takes more writes than a partition: KP502 tells of that."""
    for item in subject.hot_items:
        if item.bound is not None and item.write(peak=True) > limits.PARTITION_WRITE_UNITS:
            yield item.table.name, key_text(item.bound.partition)


def _overload(hot: HotKey, what: str, average: float, peak: float, limit: int) -> Iterator[Finding]:
    if peak <= limit:
        return
    always = average > limit
    part = hot.share_of(what)
    share = "all of it goes to one key" if part == 1 else f"up to {part:.0%} of a pattern's calls go to one key"
    refused = "; a throttled index also refuses the table's writes" if hot.index is not None and what == "write" else ""
    yield hot_partition_key.finding(
        hot.name,
        f"the most used key of {hot.where} ({hot.shape}) takes {number(average if always else peak)} {what} units a"
        f" second {'on average' if always else 'at the peak'} from {', '.join(hot.main(what))}: {share}, and a"
        f" partition serves {limit:,}{refused}",
        f"spread the key over {max(2, ceil(peak / limit * 2))} shards and read them with every_shard(), or make it of"
        " a field with more values"
        + (", or keep items that nobody asks for out of the index with when=" if hot.index is not None else ""),
        hot.place,
        hot.table.schema.place_of(hot.index),
        severity="error" if always else "warning",
    )


@design_rule("KP502", "warning")
def hot_item(subject: Subject) -> Iterator[Finding]:
    """One item that takes more than a partition serves

    An item lies in one partition, and nothing splits it: 1,000 write units and 3,000 read units a second are all
    that one item can take, in either capacity mode. Counters, configuration and the one famous customer are the
    usual cases.

    What is added up: every declared rate, times the units of a call, times the share of the most used value of
    every field of the primary key. A key without fields is one item.

    Keep a counter in several items and add them up when it is read; cache what is read much more often than it
    changes; write facts that are only counted as items of their own.

    Source: developer guide, "Best practices for designing and using partition keys effectively".
    """
    for hot in subject.hot_items:
        told = [
            ("write", hot.write(peak=True), limits.PARTITION_WRITE_UNITS),
            ("read", hot.read(peak=True), limits.PARTITION_READ_UNITS),
        ]
        for what, units, limit in told:
            if units <= limit:
                continue
            fix = (
                "keep it in several items, one chosen at random for each write, and add them up when it is read"
                if what == "write"
                else "cache it, or keep several copies and read one chosen at random"
            )
            yield hot_item.finding(
                hot.entity.name,
                f"the most used item of {hot.entity.name} ({hot.shape}) takes {number(units)} {what} units a second at"
                f" the peak from {', '.join(hot.main(what))}; one item can take {limit:,}",
                fix,
                hot.place,
                hot.table.schema.place,
            )


@design_rule("KP503", "warning")
def monotonic_sort_key(subject: Subject) -> Iterator[Finding]:
    """A busy key whose sort key only ever rises

    When one partition key is busy, the service can split its items by sort key, so that two halves are served by
    two partitions. That helps nothing where the sort key begins with the moment of writing: every new item goes
    behind the last one, into the same half.

    It is found where a partition key takes more than half of a partition's write units at the peak from patterns
    that write new sort keys, and the sort key begins with the time at which an item is made or changed, with a sequence
    number, or with an id that begins with the time (ULID, KSUID).

    Put something that varies in front of the time, shard the partition key and read the shards in order with
    `every_shard()`, or drop the index key of items that are no longer asked for.

    Source: developer guide, "Best practices for designing and using partition keys effectively"; AWS blog,
    "Scaling DynamoDB", part 3.
    """
    for hot in subject.hot_keys:
        if hot.bound is None:
            continue
        field = monotonic_start(hot.bound.sort, hot.entity)
        units = hot.write(peak=True)
        if field is not None and units > limits.PARTITION_WRITE_UNITS / 2:
            yield _monotonic(hot, field, units)


def _monotonic(hot: HotKey, field: str, units: float) -> Finding:
    return monotonic_sort_key.finding(
        hot.name,
        f"the most used key of {hot.where} ({hot.shape}) takes {number(units)} write units a second at the peak, and"
        f" its sort key begins with {field}, which only rises: the partition ({limits.PARTITION_WRITE_UNITS:,} a"
        " second) cannot be split, since all new items go to its end",
        "put a field that varies before the time, or shard the partition key and read it with every_shard()",
        hot.place,
        hot.table.schema.place_of(hot.index),
    )


_MANY_ITEMS = 100_000
_NOTABLE = 0.1


@design_rule("KP504", "warning")
def constant_partition_key(subject: Subject) -> Iterator[Finding]:
    """A partition key that is a constant or the time of writing

    With a partition key that is one text, all items of a table or index lie in one partition: "LEADERBOARD",
    "ALL", "ACTIVE". With the day or hour of writing as the key it is a new one each day, but always one at a time.
    Either way the whole load meets 1,000 write units and 3,000 read units a second, and more capacity does not help.

    For a few items it is right and handy, so it is found only where the declared numbers say that it will hurt:
    100,000 items and more under one constant, or more than a tenth of a partition's write or read units a second.

    Shard the key and merge the shards when reading (`every_shard()`), keep only those items in the index that are
    asked for, or cache a list that many read and few change.

    Source: developer guide, "Best practices for designing and using partition keys effectively" and "Using write
    sharding to distribute workloads evenly".
    """
    told = {(hot.name, hot.entity.name): hot for hot in subject.hot_keys}
    for hot in told.values():
        if hot.bound is None:
            yield from _constant_key(hot, None, hot.entity)
    for table, entity in subject.entities:
        for bound in (entity.key, *entity.indexes):
            if bound.index is not None and bound.index.kind == "LSI":
                continue
            known = told.get((table.name if bound.index is None else bound.index.name, entity.name))
            if not any(part.fields for part in bound.partition):
                yield from _constant_key(known, bound, entity)
            elif known is not None:
                yield from _time_key(known, bound, entity)


def _constant_key(hot: HotKey | None, bound: BoundKey | None, entity: EntitySpec) -> Iterator[Finding]:
    write = hot.write(peak=True) if hot is not None else 0.0
    read = hot.read(peak=True) if hot is not None else 0.0
    items = _items_under(bound, entity)
    if items < _MANY_ITEMS and not _is_notable(write, read):
        return
    index = bound.index if bound is not None else hot.index if hot is not None else None
    where = entity.schema.where(index)
    text = _key_text(hot, bound)
    parts = [f"{items:,.0f} items"] if items else []
    parts += [f"{number(write)} write units a second at the peak"] if write else []
    parts += [f"{number(read)} read units a second at the peak"] if read else []
    yield constant_partition_key.finding(
        index.name if index is not None else entity.name,
        f"every {entity.name} has the partition key {text} in {where}: {', '.join(parts)} in one partition, which"
        f" serves {limits.PARTITION_WRITE_UNITS:,} write and {limits.PARTITION_READ_UNITS:,} read units a second",
        "shard the key, such as TEXT#{id:shard(8)}, and read it with every_shard(); or keep only what is asked for in"
        " the index with when=",
        bound.place if bound is not None else entity.place,
        entity.schema.place_of(index),
    )


def _key_text(hot: HotKey | None, bound: BoundKey | None) -> str:
    if bound is not None:
        return " and ".join(part.text for part in bound.partition)
    return hot.shape.partition(" = ")[2] if hot is not None else ""


def _is_notable(write: float, read: float) -> bool:
    return write > limits.PARTITION_WRITE_UNITS * _NOTABLE or read > limits.PARTITION_READ_UNITS * _NOTABLE


def _items_under(bound: BoundKey | None, entity: EntitySpec) -> float:
    if entity.items is None:
        return 0.0
    return entity.items.count * (share_in_index(entity, bound) if bound is not None else 1.0)


def _time_key(hot: HotKey, bound: BoundKey, entity: EntitySpec) -> Iterator[Finding]:
    names = [name for part in bound.partition for name in part.fields]
    if not all(increases_with_time(entity.fields[name]) for name in names):
        return
    units = sum(load.write * (load.peak / load.share) for load in hot.loads if load.share)
    if units <= limits.PARTITION_WRITE_UNITS * _NOTABLE:
        return
    yield constant_partition_key.finding(
        hot.name,
        f"the partition key of {hot.where} is made of {', '.join(names)} alone: at any moment all"
        f" {number(units)} write units a second at the peak go to one key, and a partition serves"
        f" {limits.PARTITION_WRITE_UNITS:,}",
        "add a field that varies, or a shard, and read the shards with every_shard()",
        hot.place,
        hot.table.schema.place_of(hot.index),
    )
