"""Rules for writes that have a different result when they are repeated."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.design.conditions.conditions import (
    AndCondition,
    BetweenCondition,
    CompareCondition,
    Condition,
    OrCondition,
    paths_of,
)
from keyplan.design.declaring.transactions import TransactionStep
from keyplan.design.planning.plan import Plan


@design_rule("KP610", "warning")
def non_idempotent_write(subject: Subject) -> Iterator[Finding]:
    """Write is not idempotent

    Finds patterns with `retried=True` that add to a number or append to a list, unless a condition makes a repeated
    call fail.

    Why is this bad? A caller that receives no response cannot know whether the write happened. If the caller repeats an
    addition, the amount is added twice. keyplan sends an idempotency token with each transaction: if the same call
    sends the transaction again within ten minutes, DynamoDB does not apply it twice. A second call uses a new token, so
    its transaction is applied.

    Fix: use a transaction that contains the write and also creates an item whose key is the ID of the request. Give
    this item an expiry. Alternatively, add a condition that only the first call satisfies, such as a check of the
    version that was read. A bound on the counter (`.condition(F.free >= count)`) is not sufficient, because a second
    call can also satisfy it.

    Source: API reference, TransactWriteItems (ClientRequestToken); developer guide, "Programming errors: retries".
    """
    for pattern in subject.design.patterns:
        if not pattern.facts.retried:
            continue
        steps = pattern.plan.steps or (pattern.plan,)
        repeated_fields = [name for step in steps for name in counters_in(step)]
        if repeated_fields and not any(fails_if_repeated(step) for step in steps):
            yield non_idempotent_write.finding(
                pattern.name,
                f"a repeated call of {pattern.name} counts twice: it adds to {', '.join(repeated_fields)} without a"
                " condition that only the first call meets",
                "create an item for the request's ID in the same transaction, or add .if_version(...) or a"
                " condition that only the first call meets",
                pattern.place,
            )


@design_rule("KP619", "warning")
def count_without_change(subject: Subject) -> Iterator[Finding]:
    """Count changes although nothing was written

    Finds transactions that add to a number and also delete or put an item without a condition, if every step succeeds
    again when the transaction is repeated. KP610 reports transactions with `retried=True`.

    Why is this bad? Deleting a missing item is not an error: if a user clicks "unlike" twice, the second request
    deletes nothing, but the count decreases again. If a put replaces an existing item, the count increases again.

    Fix: make the transaction fail if the delete or put does not change anything. For a delete, add a condition that a
    required field exists, such as `.condition(F.at.exists())`. Replace a `put` pattern with a `create` pattern, which
    fails if the item already exists.

    Source: API reference, DeleteItem (idempotent: no error if the item does not exist) and TransactWriteItems.
    """
    for transaction in subject.design.transactions:
        plans = [step.call.pattern.plan for step in transaction.steps]
        counters = [name for plan in plans for name in counters_in(plan)]
        unconditional = next((step for step in transaction.steps if _is_unconditional(step)), None)
        if unconditional is None or not counters or transaction.facts.retried or any(map(fails_if_repeated, plans)):
            continue
        plan = unconditional.call.pattern.plan
        deletes = plan.operation == "DeleteItem"
        behaviour = f"deletes a {plan.entity.name}" if deletes else f"puts a {plan.entity.name}"
        yield count_without_change.finding(
            transaction.name,
            f"a second call of {transaction.name} changes {', '.join(dict.fromkeys(counters))} again: it"
            f" {behaviour} whether or not it exists",
            f"add .condition(...exists()) of a field that every {plan.entity.name} has to"
            f" {unconditional.call.pattern.name}"
            if deletes
            else f"make {unconditional.call.pattern.name} a create, which fails if the item exists",
            transaction.place,
            unconditional.call.pattern.place,
        )


def _is_unconditional(step: TransactionStep) -> bool:
    plan = step.call.pattern.plan
    return plan.operation in {"DeleteItem", "PutItem"} and plan.exists == "may" and not fails_if_repeated(plan)


def counters_in(plan: Plan) -> list[str]:
    """Return the fields to which a write adds a number or appends values, as names such as "Poll.votes"."""
    return [f"{plan.entity.name}.{name}" for name in _counter_fields(plan)]


def fails_if_repeated(plan: Plan) -> bool:
    """Return True if a transaction step with this plan fails when the step is repeated."""
    if plan.exists == "must_not" or plan.version is not None:
        return True
    if plan.operation not in {"UpdateItem", "ConditionCheck"}:
        return plan.condition is not None
    changed = {action.path.field for action in plan.actions}
    return not changed.isdisjoint(plan.assumed) or _is_self_invalidating(
        plan.condition, changed, set(_counter_fields(plan))
    )


def _counter_fields(plan: Plan) -> list[str]:
    return [action.path.field for action in plan.actions if action.name in {"add", "append"}]


def _is_self_invalidating(condition: Condition | None, changed: set[str], counters: set[str]) -> bool:
    """Return True if a write makes its own condition false, so the write fails when it is repeated.

    `changed` are the fields that the write changes. `counters` are the fields to which it adds or appends. A lower or
    upper bound on a field in `counters` is assumed to remain true.
    """
    if isinstance(condition, AndCondition):
        return any(_is_self_invalidating(part, changed, counters) for part in condition.parts)
    if isinstance(condition, OrCondition):
        return all(_is_self_invalidating(part, changed, counters) for part in condition.parts)
    checked_fields = {path.field for path in paths_of(condition)} & changed
    return bool(checked_fields - counters if _is_bound(condition) else checked_fields)


def _is_bound(condition: Condition | None) -> bool:
    return isinstance(condition, BetweenCondition) or (
        isinstance(condition, CompareCondition) and condition.op not in {"=", "<>"}
    )
