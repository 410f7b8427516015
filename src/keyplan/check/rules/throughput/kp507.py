"""A number of shards that does not fit the load

A key such as `FEED#{id:shard(8)}` spreads one hot value over eight partitions, each with 1,000 write and 3,000
read units a second. With too few shards each of them is still too hot. With too many, every read asks all of
them, pays at least half a read unit for each, and waits for the slowest.

Take about as many shards as the peak needs at half of a partition's limit, so that a doubling fits.

Source: developer guide, "Using write sharding to distribute workloads evenly".
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

RULE = Rule("KP507", "shard-count", ("warning",))
_FAR_TOO_MANY = 16


def check(subject: Subject) -> Iterator[Finding]:
    """Sharded keys with too few or far too many shards for their declared load."""
    for hot in subject.hot_keys:
        if not hot.sharded:
            continue
        write, read = hot.write(peak=True), hot.read(peak=True)
        needed = max(1, ceil(2 * hot.sharded * write / limits.PARTITION_WRITE_UNITS), _for_reads(hot, read))
        if write > limits.PARTITION_WRITE_UNITS or read > limits.PARTITION_READ_UNITS:
            problem = f"still takes {number(write)} write and {number(read)} read units a second at the peak, and"
            problem += f" serves {limits.PARTITION_WRITE_UNITS:,} and {limits.PARTITION_READ_UNITS:,}"
            yield _finding(hot, f"each of {hot.sharded} shards of {hot.where} {problem}", f"use {needed} shards")
        elif write and hot.sharded >= _FAR_TOO_MANY * needed:
            problem = f"{hot.where} has {hot.sharded} shards for {number(write * hot.sharded)} write units a second at"
            problem += f" the peak: {needed} would do, and every read asks all {hot.sharded}"
            yield _finding(hot, problem, f"use {max(2, needed)} shards")


def _for_reads(hot: HotKey, read: float) -> int:
    # Reads of all shards load each of them alike; more shards do not help them.
    return hot.sharded if read > limits.PARTITION_READ_UNITS / 2 else 1


def _finding(hot: HotKey, problem: str, fix: str) -> Finding:
    return Finding(
        RULE.code,
        "warning",
        hot.name,
        problem,
        fix + "; existing keys keep their shard, so rewrite them or read both numbers for a while",
        hot.place,
        hot.table.schema.place_of(hot.index),
    )
