"""A new index has to be filled from stored items

A global index that is created on a table with items is filled by the service. Reading the table for it costs
nothing; every entry that is written costs write units of the index, paid by the request or taken from its capacity,
and where that is small it takes long and holds up the table's own writes. Items whose key in the index is made by a
template have no such key yet: a program has to write it into each.

Provision the index for its filling and lower it after it, write the keys with the version before the one that reads
the index, and read it once it is ACTIVE and filled.

Source: developer guide, "Managing Global Secondary Indexes in DynamoDB", phases of index creation and adding an
index to a large table.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.diff.comparison import Comparison
from keyplan.diff.report import told

RULE = Rule("KP909", "index-backfill", ("warning",))


def check(comparison: Comparison) -> Iterator[Finding]:
    """New indexes of stored items, with what filling them takes."""
    for change in (*comparison.of("index added"), *comparison.of("key changed")):
        backfill = comparison.backfill(change)
        if backfill is None or (change.kind == "key changed" and not change.facts.get("new")):
            continue
        if not backfill.items and not backfill.unknown:
            continue  # it is declared that there is nothing
        fix = "write its keys first, create it, and deploy what reads it once it is filled"
        if change.kind == "index added":
            fix = "create it before the version that reads it is deployed, and wait until it is ACTIVE"
        problem = f"{change.what}: {told(backfill)}"
        yield Finding(RULE.code, "warning", change.subject, problem, fix, change.place, change.other)
