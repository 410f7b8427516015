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

from __future__ import annotations

from collections.abc import Iterator

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.heat import HotKey
from keyplan.check.load import number
from keyplan.check.rising import rising_start
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP503", "rising-sort-key", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Busy keys with a rising sort key, whichever of their limits they reach."""
    for hot in subject.hot_keys:
        if hot.bound is None:
            continue
        field = rising_start(hot.bound.sort, hot.entity)
        units = hot.write(peak=True)
        if field is not None and units > limits.PARTITION_WRITE_UNITS / 2:
            yield _finding(hot, field, units)


def _finding(hot: HotKey, field: str, units: float) -> Finding:
    return Finding(
        RULE.code,
        "warning",
        hot.name,
        f"the most used key of {hot.where} ({hot.shape}) takes {number(units)} write units a second at the peak, and"
        f" its sort key begins with {field}, which only rises: the partition ({limits.PARTITION_WRITE_UNITS:,} a"
        " second) cannot be split, since all new items go to its end",
        "put a field that varies before the time, or shard the partition key and read it with every_shard()",
        hot.place,
        hot.table.schema.place_of(hot.index),
    )
