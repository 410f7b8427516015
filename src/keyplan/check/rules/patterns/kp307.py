"""A local index fetches every item from the table

A query of a local secondary index may ask for attributes that it does not project. The service then reads each
item from the table as well, a whole item and at least half a read unit apiece, instead of summing the sizes of
a page and rounding once: forty entries of 100 bytes cost 0.5 units by themselves and 20 more with the fetches.

Project what the query returns, or ask for less.

Source: developer guide, "Local Secondary Indexes", fetches from the table.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected, fetches
from keyplan.design.projections import fetched

RULE = Rule("KP307", "local-index-fetch", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Queries of local indexes that need attributes of the table."""
    for _, pattern, plan in subject.patterns:
        lacking = fetched(plan)
        if plan.index is not None and lacking:
            told = expected(pattern)
            more = fetches(plan, told.evaluated)
            yield Finding(
                RULE.code,
                "warning",
                pattern.name,
                f"{pattern.name} needs {', '.join(lacking)}, which local index {plan.index.name} lacks: about"
                f" {number(told.evaluated)} fetches a call, {number(more)} read units on top of"
                f" {number(told.units.read - more)}",
                f"project {', '.join(lacking)}, or all",
                pattern.place,
                plan.index.place,
            )
