"""A transaction larger than the service takes

One transaction holds up to 100 actions on different items and up to 4 MB. A larger one is refused as a whole.
A step that is repeated for each of several values counts once for each, and every unique rule of an entity adds
the action on its sentinel: two where a value can be given up for another.

It is an error where the number is known to be too large, and a warning where nothing bounds it: a list that has
ten values today has two hundred some day.

Bound the list (`Annotated[list[TaskId], Field(max_length=50)]`) and divide the work into several transactions that
are right one by one, or mark the items by one write that readers look at.

Source: developer guide, "Managing complex workflows with DynamoDB transactions"; API reference,
TransactWriteItems.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import sentinel_writes
from keyplan.cost.sizes import item_size
from keyplan.design.plan import Plan
from keyplan.design.symbols import Each, annotation_of
from keyplan.design.transactions import Step, Transaction

RULE = Rule("KP601", "transaction-too-large", ("error", "warning"))


def check(subject: Subject) -> Iterator[Finding]:
    """Transactions of too many actions, of an unbounded number, or of too many bytes."""
    for transaction in subject.design.transactions:
        counts = [_most(step, transaction) for step in transaction.steps]
        actions = sum(_actions(step.call.pattern.plan) * (count or 1) for step, count in _with(transaction, counts))
        unbounded = [step for step, count in _with(transaction, counts) if count is None]
        if actions > limits.TRANSACTION_ACTIONS:
            yield _too_many(transaction, int(actions))
        elif unbounded:
            yield _unbounded(transaction, unbounded[0])
        else:
            yield from _too_large(transaction, _with(transaction, counts))


def _with(transaction: Transaction[Any], counts: list[float | None]) -> list[tuple[Step, float | None]]:
    return list(zip(transaction.steps, counts, strict=True))


def _most(step: Step, transaction: Transaction[Any]) -> float | None:
    """How often a step happens at most; None where nothing bounds it."""
    if step.repeated is None:
        return 1
    if isinstance(step.repeated.values, tuple):
        return len(step.repeated.values)
    declared = _longest(step.repeated)
    returns = transaction.facts.returns
    return declared if declared is not None else returns if returns and returns > limits.TRANSACTION_ACTIONS else None


def _longest(each: Each) -> int | None:
    marks = list(get_args(annotation_of(each.values)))
    marks += [part for mark in marks for part in getattr(mark, "metadata", ())]
    return next((mark.max_length for mark in marks if isinstance(getattr(mark, "max_length", None), int)), None)


def _actions(plan: Plan) -> int:
    """The item's own action, and those on sentinels: a new value taken, an old one given up."""
    replaces = plan.operation == "PutItem" and plan.reads_first
    return 1 + (2 * len(plan.entity.sentinels) if replaces else sentinel_writes(plan))


def _too_many(transaction: Transaction[Any], actions: int) -> Finding:
    return Finding(
        RULE.code,
        "error",
        transaction.name,
        f"{transaction.name} can have {actions} actions, and a transaction takes {limits.TRANSACTION_ACTIONS}",
        "divide it into transactions that are right one by one",
        transaction.place,
    )


def _unbounded(transaction: Transaction[Any], step: Step) -> Finding:
    return Finding(
        RULE.code,
        "warning",
        transaction.name,
        f"{transaction.name} repeats {step.call.pattern.name} for each of {_values(step)}, whose length nothing"
        f" bounds: with more than {limits.TRANSACTION_ACTIONS} actions the whole transaction is refused",
        "bound the parameter, such as Annotated[list[str], Field(max_length=50)], and divide the work",
        transaction.place.at("each("),
        step.call.pattern.place,
    )


def _values(step: Step) -> str:
    return repr(step.repeated.values) if step.repeated is not None else ""


def _too_large(transaction: Transaction[Any], steps: list[tuple[Step, float | None]]) -> Iterator[Finding]:
    total = 0.0
    for step, count in steps:
        plan = step.call.pattern.plan
        if plan.operation == "PutItem":
            size = item_size(plan.entity)
            total += (size.most or size.p99) * (count or 1)
    if total > limits.TRANSACTION_BYTES:
        yield Finding(
            RULE.code,
            "error",
            transaction.name,
            f"{transaction.name} puts up to {total / limits.MIB:.1f} MB of items, and a transaction takes 4 MB",
            "divide it, or keep the large part of the items outside and write it before the transaction",
            transaction.place,
        )
