"""A partition key that takes more than a partition serves

All items of one partition key value lie in one place, which serves 1,000 write units and 3,000 read units a
second; an index has partitions of its own with the same limits. A key that takes more is throttled however
much capacity the table has, and a throttled index refuses the table's writes.

What is added up: every declared rate, times the units of a call, times the share of the most used value of
the fields that the key is made of (`Items(distinct=...)`). A key that is one constant text has the whole load.
New items all go to the present month, day, hour or minute where that is a part of it (`ROOM#{room}#{sent_at:month}`).
A write that changes an index key counts twice there: the old entry is deleted, a new one put.

It is an error where the average rates already exceed the limit, and a warning where the peaks do.

Make the key of something with more values, or spread one hot value over a few with `{user_id:shard(8)}` and
read them together with `every_shard()`. Where an index is only asked for a part of the items, keep the others
out of it with `when=`.

Source: developer guide, "Best practices for designing and using partition keys effectively" and "Using
write sharding to distribute workloads evenly".
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.heat import HotKey
from keyplan.check.load import number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.keys import text_of

RULE = Rule("KP501", "hot-partition-key", ("error", "warning"))


def check(subject: Subject) -> Iterator[Finding]:
    """Keys whose load exceeds a partition; single items are KP502's, sharded keys KP507's."""
    of_items = set(_keys_of_items(subject))
    for hot in subject.hot_keys:
        if hot.sharded:
            continue
        if hot.index is not None or (hot.table.name, hot.shape) not in of_items:
            yield from _over(hot, "write", hot.write(peak=False), hot.write(peak=True), limits.PARTITION_WRITE_UNITS)
        yield from _over(hot, "read", hot.read(peak=False), hot.read(peak=True), limits.PARTITION_READ_UNITS)


def _keys_of_items(subject: Subject) -> Iterator[tuple[str, str]]:
    """Table and shape of the keys one item of which takes more writes than a partition: KP502 tells of that."""
    for item in subject.hot_items:
        if item.bound is not None and item.write(peak=True) > limits.PARTITION_WRITE_UNITS:
            yield item.table.name, text_of(item.bound.partition)


def _over(hot: HotKey, what: str, average: float, peak: float, limit: int) -> Iterator[Finding]:
    if peak <= limit:
        return
    always = average > limit
    part = hot.share_of(what)
    share = "all of it goes to one key" if part == 1 else f"up to {part:.0%} of a pattern's calls go to one key"
    refused = "; a throttled index also refuses the table's writes" if hot.index is not None and what == "write" else ""
    yield Finding(
        RULE.code,
        "error" if always else "warning",
        hot.name,
        f"the most used key of {hot.where} ({hot.shape}) takes {number(average if always else peak)} {what} units a"
        f" second {'on average' if always else 'at the peak'} from {', '.join(hot.main(what))}: {share}, and a"
        f" partition serves {limit:,}{refused}",
        f"spread the key over {max(2, ceil(peak / limit * 2))} shards and read them with every_shard(), or make it of"
        " a field with more values"
        + (", or keep items that nobody asks for out of the index with when=" if hot.index is not None else ""),
        hot.place,
        hot.table.schema.place_of(hot.index),
    )
