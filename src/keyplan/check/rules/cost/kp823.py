"""A time that a request cannot keep

Milliseconds are what a read of one item takes, or of a page of a few. A scan reads the whole table, page by page of
1 MB, one after the other; so does a query of thousands of items. "Single-digit milliseconds for all access patterns"
is not true of them. Reckoned are 20 ms a page, of queries from the second page on; for scans ten and less are found in
any case.

Name the time for the patterns that it holds for, and give the others an index, a counter or a job.

Source: developer guide, "What is Amazon DynamoDB" (latency of item operations), "Scanning tables" and "Paginating
table query results" (1 MB a page).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyplan.check.claims import SINGLE_DIGIT_MS, milliseconds_of, of_design, of_patterns, place_of
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.check.wording import counted
from keyplan.cost.expected import pages
from keyplan.design.patterns import Pattern

RULE = Rule("KP823", "claimed-latency", ("warning",))
_PAGE_MS = 20.0
"""A generous lower bound for reading and sending one full page."""


def check(subject: Subject) -> Iterator[Finding]:
    """Claims of a few milliseconds for patterns that read many pages."""
    for name, claim in of_design(subject):
        most = milliseconds_of(claim.text)
        slow = [one for one in subject.design.patterns if most is not None and _is_slow(one, most)]
        if slow:
            names = ", ".join(one.name for one in slow[:4])
            yield Finding(
                RULE.code,
                "warning",
                name,
                f'"{claim.text}": {names} read {_what(slow[0])}',
                "name the patterns that it holds for",
                claim.place,
                slow[0].place,
            )
    for pattern, claim in of_patterns(subject):
        most = milliseconds_of(claim.text)
        if most is not None and _is_slow(pattern, most):
            yield Finding(
                RULE.code,
                "warning",
                pattern.name,
                f'{pattern.name} is claimed to take "{claim.text}", and reads {_what(pattern)}',
                "drop the claim, or give the pattern an index or a counter",
                place_of(pattern),
            )


def _is_slow(pattern: Pattern[..., Any], milliseconds: float) -> bool:
    plan = pattern.plan
    if plan.operation == "Scan":
        return milliseconds <= SINGLE_DIGIT_MS or pages(pattern) * _PAGE_MS > milliseconds
    return plan.operation == "Query" and not plan.faults and pages(pattern) * _PAGE_MS > max(milliseconds, _PAGE_MS)


def _what(pattern: Pattern[..., Any]) -> str:
    count, whole = max(1.0, pages(pattern)), pattern.plan.operation == "Scan"
    size = counted(round(count), "page of 1 MB", "pages of 1 MB each")
    return f"{'the whole table' if whole else 'a large range'}, about {size}"
