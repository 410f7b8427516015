"""A pattern reads the whole table

A scan reads, and bills, every item of the table or index, whatever its filter lets through: 131,072 read units
for each gigabyte, half of that when eventually consistent, and minutes instead of milliseconds. The cost grows
with the table, not with the answer. Tables of less than one page (1 MB) are left alone.

Give the pattern a key: an index that holds only what it wants, a counter that writes keep, an export of the
table or its stream for reports and full-text search.

Source: developer guide, "Working with scans in DynamoDB" and "Best practices for querying and scanning data".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.load import number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import share_in_index
from keyplan.cost.sizes import entry_size
from keyplan.design.plan import Plan
from keyplan.design.tables import Table

RULE = Rule("KP302", "needs-scan", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Scans of tables and indexes that are larger than a page, or of unknown size."""
    for table, pattern, plan in subject.patterns:
        if plan.operation != "Scan":
            continue
        total = _bytes(table, plan)
        if total is not None and total <= limits.PAGE_BYTES:
            continue
        what = table.schema.where(plan.index)
        units = None if total is None else total / limits.READ_UNIT_BYTES / (1 if plan.consistent else 2)
        size = (
            f"{total / 1e6:,.1f} MB, {number(units)} read units each time"
            if total is not None and units is not None
            else "and its size is not declared (items=Items(...))"
        )
        yield Finding(
            RULE.code,
            "warning",
            pattern.name,
            f"{pattern.name} reads all of {what}, {size}, and every entity in it: the cost grows with the table",
            "add an index that holds what it wants, keep a counter, or read an export",
            pattern.place,
            table.schema.place_of(plan.index),
        )


def _bytes(table: Table, plan: Plan) -> float | None:
    """What a scan reads; None where an entity does not say how many items it has."""
    total = 0.0
    for entity in table.entities:
        bound = entity.key_in(plan.index)
        if bound is None:
            continue
        if entity.items is None:
            return None
        total += entity.items.count * share_in_index(entity, bound) * entry_size(entity, bound).average
    return total
