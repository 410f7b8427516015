"""A field that changes often is copied into indexes

An update that changes a projected field rewrites the entry of each index that holds it, a whole entry at a
time, though its key stays the same. A view counter in a table with three indexes that project all costs four
write units for each view.

Project only what readers of the index show, or keep counters and timestamps in an item of their own.

Source: developer guide, "Using Global Secondary Indexes in DynamoDB", write throughput considerations.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import NOTABLE_UNITS, Work, monthly_price, number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP412", "hot-projected-attribute", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Updates whose rate makes copies in indexes costly, where no index key changes."""
    for work in subject.works:
        rate = work.rate
        if work.plan.operation != "UpdateItem" or rate is None:
            continue
        copies = _copies(work)
        per_second = sum(copies.values()) * rate.average
        if per_second >= NOTABLE_UNITS:
            changed = ", ".join(dict.fromkeys(action.path.field for action in work.plan.actions))
            yield Finding(
                RULE.code,
                "warning",
                work.pattern.name,
                f"{work.pattern.name} changes {changed}, which {', '.join(copies)} hold copies of:"
                f" {number(sum(copies.values()))} write units a call beside {number(work.units.write)} of the table,"
                f" ${monthly_price(per_second):,.0f} a month at {number(rate.average)} calls a second",
                f"leave {changed} out of the projections, or keep it in an item of its own",
                work.pattern.place,
                work.plan.entity.place,
            )


def _copies(work: Work) -> dict[str, float]:
    """Units of indexes that are written only because they project what changes."""
    changed = {action.path.field for action in work.plan.actions}
    return {
        bound.index.name: work.units.indexes[bound.index.name]
        for bound in work.plan.entity.indexes
        if bound.index.name in work.units.indexes and not changed & set(bound.depends_on)
    }
