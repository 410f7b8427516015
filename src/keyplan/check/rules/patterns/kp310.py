"""A limit and a filter together

The service counts its `Limit` before the filter: of ten items that were read, two may be left, or none, and the
page still says that there is more. Keyplan's `limit` counts results, so it reads on until it has them, each request
asking for twice as many: ten results of which one in a hundred passes cost a thousand reads, and the last page of
all reads to the end of the partition. With `page_size` pages come back short, or empty with a cursor. A filter that
is declared to let four fifths through is left alone.

Let the key select, by a sort key prefix or a sparse index of what the filter lets through; then the limit is
exact and cheap.

Source: developer guide, "Limiting the number of items in the result set" and "Filter expressions".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import read_for
from keyplan.cost.selectivity import kept_share

RULE = Rule("KP310", "limit-and-filter", ("warning",))
_NEARLY_ALL = 0.8


def check(subject: Subject) -> Iterator[Finding]:
    """Queries and scans with both a limit and a filter, unless it lets nearly all through."""
    for _, pattern, plan in subject.patterns:
        if plan.filter is None or not (plan.limit or plan.page_size) or plan.operation not in {"Query", "Scan"}:
            continue
        facts = pattern.facts
        kept = kept_share(plan.filter, plan.entity)
        if facts.returns is not None and facts.evaluates:
            kept = facts.returns / facts.evaluates
        if kept is not None and kept >= _NEARLY_ALL:
            continue
        if plan.limit:
            reads = "as many items as it takes" if not kept else f"about {number(read_for(plan.limit, kept))} items"
            problem = f"{pattern.name} wants {plan.limit} results of a filter, and reads {reads} for them"
        else:
            problem = f"{pattern.name} filters pages of {plan.page_size} items: pages come back short, or empty"
        yield Finding(
            RULE.code,
            "warning",
            pattern.name,
            problem,
            "let a sort key prefix or a sparse index select, so that every item read is a result",
            pattern.place,
            plan.entity.place,
        )
