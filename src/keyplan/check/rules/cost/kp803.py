"""A consistent read that nothing asks for

A consistent read costs twice as many units as an eventually consistent one, and is only needed where a write of the
last second must show. A design says that it must with `after=[...]` (the writes that it has to show) or
`decides=...` (what the program decides by it).

Drop `consistent=True`, or say why it is there. Reads that cost less than a dollar a month more are left alone.

Source: developer guide, "DynamoDB read consistency" and "Read and write capacity".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP803", "consistent-read-not-needed", ("advice",))
_DOLLARS = 1.0


def check(subject: Subject) -> Iterator[Finding]:
    """Consistent reads for which no reason is declared."""
    costs = {(cost.table, cost.name): cost for cost in subject.month.patterns}
    for table, pattern, plan in subject.patterns:
        if not plan.consistent or pattern.facts.after or pattern.facts.decides:
            continue
        cost = costs[table.name, pattern.name]
        extra = cost.requests / 2
        if extra >= _DOLLARS:
            rests_on = "its declared rate" + (", for as many items as are assumed" if cost.expected.guesses else "")
            yield Finding(
                RULE.code,
                "advice",
                pattern.name,
                f"{pattern.name} reads consistently, and nothing says which writes it must show: ${extra:,.2f} a"
                f" month more at {rests_on} (prices of {subject.book.region}, {subject.book.dated})",
                'drop consistent=True, or declare after=["..."] with the writes that it must show',
                pattern.place.at("consistent="),
            )
