"""Unique values are declared of items that have no sentinels

A unique value is held by a sentinel item, which is written in one transaction with the item that has the value.
Items that are stored have none, so their values can be taken a second time; and two of them may share one already,
which no sentinel can hold.

Deploy a version that releases sentinels that are there, then one that writes them and does not rely on them, put the
sentinel of every stored item on condition that none is there, settle the values that two items share, and rely on it
then.

Source: developer guide, "Amazon DynamoDB Transactions: how it works"; AWS Database Blog, "Simulating Amazon
DynamoDB unique constraints using transactions".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.diff.comparison import Comparison
from keyplan.diff.report import told

RULE = Rule("KP913", "stored-items-lack-sentinels", ("warning",))


def check(comparison: Comparison) -> Iterator[Finding]:
    """Unique values that are new to an entity."""
    for change in comparison.of("unique added"):
        backfill = comparison.backfill(change)
        cost = "" if backfill is None else f" ({told(backfill)})"
        fix = "put a sentinel for every stored item first, with a version that does not rely on them"
        problem = f"{change.what}, and no stored item has one{cost}"
        yield Finding(RULE.code, "warning", change.subject, problem, fix, change.place, change.other)
