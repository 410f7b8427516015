"""Rules: repeats."""

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
    """A write that is repeated when no answer came, and counts twice

    A caller that gets no answer cannot know whether the write happened. Repeating it is right for a write that comes
    to the same end: setting a value, creating an item that refuses a second one. Adding to a number or appending to a
    list happens twice.

    Within one call that is taken care of: a transaction carries a token, and for ten minutes the service repeats the
    first answer. A caller that calls again sends another token, and so does one that comes back after ten minutes.

    Make the write a part of a transaction that also creates an item for the request (its id as the key, with an
    expiry), or state a condition that only the first one meets, such as the version that was read. A bound on what is
    counted (`when(F.free >= count)`) is none: while enough is left, the second one meets it too. Nor is a condition on
    what the write leaves as it is.

    Source: API reference, TransactWriteItems (ClientRequestToken); developer guide, "Programming errors: retries".
    """
    for pattern in subject.design.patterns:
        if not pattern.facts.retried:
            continue
        steps = pattern.plan.steps or (pattern.plan,)
        twice = [name for step in steps for name in counted_in(step)]
        if twice and not any(happens_once(step) for step in steps):
            yield non_idempotent_write.finding(
                pattern.name,
                f"{pattern.name} is repeated when no answer came, and adds to {', '.join(twice)} without a condition"
                " that only the first one meets: a repetition of a write that did happen counts twice",
                "create an item for the request's id in the same transaction, or add at_version(...) or a condition"
                " that only the first one meets",
                pattern.place,
            )


@design_rule("KP619", "warning")
def count_without_change(subject: Subject) -> Iterator[Finding]:
    """A count that changes with an item that may be there already, or not any more

    A like is deleted and the post's likes are one fewer, in one transaction. A delete of what is not there is no error:
    the second one, of a user who clicked twice or a program that tried again, deletes nothing and counts down once
    more. So does a put that replaces what is there: it writes the like again and counts up.

    Let the write of the item be refused where it changes nothing, and the count with it: delete `when(F.at.exists())`,
    of a field that every item has, and create instead of put.

    Found are transactions that add to a number, delete or put an item without a condition, and have no other step that
    only the first one meets. Those that callers repeat are KP610's.

    Source: API reference, DeleteItem (idempotent: no error where no item is) and TransactWriteItems.
    """
    for transaction in subject.design.transactions:
        plans = [step.call.pattern.plan for step in transaction.steps]
        counted = [name for plan in plans for name in counted_in(plan)]
        free = next((step for step in transaction.steps if _is_unconditional(step)), None)
        if free is None or not counted or transaction.facts.retried or any(map(happens_once, plans)):
            continue
        plan = free.call.pattern.plan
        deletes = plan.operation == "DeleteItem"
        what = f"deletes a {plan.entity.name}" if deletes else f"puts a {plan.entity.name}"
        yield count_without_change.finding(
            transaction.name,
            f"{transaction.name} {what} whether or not one is there, and adds to {', '.join(dict.fromkeys(counted))} in"
            " any case: a second call changes nothing and counts once more",
            f"add when(...exists()) of a field that every {plan.entity.name} has to {free.call.pattern.name}"
            if deletes
            else f"make {free.call.pattern.name} a create, which is refused where one is",
            transaction.place,
            free.call.pattern.place,
        )


def _is_unconditional(step: TransactionStep) -> bool:
    plan = step.call.pattern.plan
    return plan.operation in {"DeleteItem", "PutItem"} and plan.exists == "may" and not happens_once(plan)


def counted_in(plan: Plan) -> list[str]:
    """The fields that a write adds or appends to, with their entity."""
    return [f"{plan.entity.name}.{name}" for name in _counted(plan)]


def happens_once(plan: Plan) -> bool:
    """Whether a step refuses to happen a second time."""
    if plan.exists == "must_not" or plan.version is not None:
        return True
    if plan.operation not in {"UpdateItem", "ConditionCheck"}:
        return plan.condition is not None
    changed = {action.path.field for action in plan.actions}
    return not changed.isdisjoint(plan.known) or _met_once(plan.condition, changed, set(_counted(plan)))


def _counted(plan: Plan) -> list[str]:
    return [action.path.field for action in plan.actions if action.name in {"add", "append"}]


def _met_once(condition: Condition | None, changed: set[str], counted: set[str]) -> bool:
    """Whether a write that changes these fields can no longer meet its own condition."""
    if isinstance(condition, AndCondition):
        return any(_met_once(part, changed, counted) for part in condition.parts)
    if isinstance(condition, OrCondition):
        return all(_met_once(part, changed, counted) for part in condition.parts)
    looked_at = {path.field for path in paths_of(condition)} & changed
    return bool(looked_at - counted if _is_bound(condition) else looked_at)


def _is_bound(condition: Condition | None) -> bool:
    return isinstance(condition, BetweenCondition) or (
        isinstance(condition, CompareCondition) and condition.op not in {"=", "<>"}
    )
