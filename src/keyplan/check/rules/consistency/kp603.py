"""A transaction of one item

A single write is atomic by itself and takes conditions. As a transaction of one action it costs twice the write
units, conflicts with other transactions, and gives nothing more.

Run the pattern by itself. Entities with unique values become transactions on their own where they need to.

Source: developer guide, "Managing complex workflows with DynamoDB transactions" (capacity of transactions).
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected, of_plan

RULE = Rule("KP603", "single-item-transaction", ("advice",))


def check(subject: Subject) -> Iterator[Finding]:
    """Transactions with one step that happens once."""
    for transaction in subject.design.transactions:
        if len(transaction.steps) != 1 or transaction.steps[0].repeated is not None:
            continue
        inner = transaction.steps[0].call.pattern
        if inner.plan.operation == "ConditionCheck" or inner.plan.keeps_unique:
            continue
        alone, together = expected(inner).units.written, of_plan(transaction.plan, transaction.facts).units.written
        yield Finding(
            RULE.code,
            "advice",
            transaction.name,
            f"{transaction.name} holds one write, {inner.name}: {number(together)} write units instead of"
            f" {number(alone)}, and no more safety",
            f"run {inner.name} by itself",
            transaction.place,
            inner.place,
        )
