"""Patterns do not say how often they are called

Without a rate a pattern costs nothing in the estimate, and no check of throughput, hot keys or cost can say
anything about it. An order of magnitude is enough: `rate=Rate(average=20, peak=200)` calls a second, or
`Rate.monthly(1_000_000)`.

Steps of transactions need none: they are counted with the transaction.

Source: keyplan's own rule; developer guide, "NoSQL design": know the questions and their load first.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP316", "no-rate", ("advice",))
_SHOWN = 6


def check(subject: Subject) -> Iterator[Finding]:
    """Patterns without a rate, in one finding for each table."""
    steps = {id(step) for transaction in subject.design.transactions for step in transaction.plan.steps}
    for table in subject.tables:
        lacking = [
            pattern
            for pattern in table.patterns
            if pattern.facts.rate is None and pattern.kind != "check" and id(pattern.plan) not in steps
        ]
        if lacking:
            names = ", ".join(pattern.name for pattern in lacking[:_SHOWN])
            more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
            yield Finding(
                RULE.code,
                "advice",
                table.name,
                f"{len(lacking)} of {len(table.patterns)} patterns of table {table.name} declare no rate:"
                f" {names}{more}",
                "declare one: rate=Rate(average=20, peak=200)",
                lacking[0].place,
                table.schema.place,
            )
