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

from __future__ import annotations

from collections.abc import Iterator

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.load import number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP502", "hot-item", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Items whose own load exceeds what a partition serves."""
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
            yield Finding(
                RULE.code,
                "warning",
                hot.entity.name,
                f"the most used item of {hot.entity.name} ({hot.shape}) takes {number(units)} {what} units a second at"
                f" the peak from {', '.join(hot.main(what))}; one item can take {limit:,}",
                fix,
                hot.place,
                hot.table.schema.place,
            )
