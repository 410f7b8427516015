"""A count that changes with an item that may be there already, or not any more

A like is deleted and the post's likes are one fewer, in one transaction. A delete of what is not there is no error: the
second one, of a user who clicked twice or a program that tried again, deletes nothing and counts down once more. So
does a put that replaces what is there: it writes the like again and counts up.

Let the write of the item be refused where it changes nothing, and the count with it: delete `when(F.at.exists())`, of a
field that every item has, and create instead of put.

Found are transactions that add to a number, delete or put an item without a condition, and have no other step that
only the first one meets. Those that callers repeat are KP610's.

Source: API reference, DeleteItem (idempotent: no error where no item is) and TransactWriteItems.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.repeats import counted_in, happens_once
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.transactions import Step

RULE = Rule("KP619", "count-without-change", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Transactions that count what may not have changed."""
    for transaction in subject.design.transactions:
        plans = [step.call.pattern.plan for step in transaction.steps]
        counted = [name for plan in plans for name in counted_in(plan)]
        free = next((step for step in transaction.steps if _is_free(step)), None)
        if free is None or not counted or transaction.facts.retried or any(map(happens_once, plans)):
            continue
        plan = free.call.pattern.plan
        deletes = plan.operation == "DeleteItem"
        what = f"deletes a {plan.entity.name}" if deletes else f"puts a {plan.entity.name}"
        yield Finding(
            RULE.code,
            "warning",
            transaction.name,
            f"{transaction.name} {what} whether or not one is there, and adds to {', '.join(dict.fromkeys(counted))} in"
            " any case: a second call changes nothing and counts once more",
            f"add when(...exists()) of a field that every {plan.entity.name} has to {free.call.pattern.name}"
            if deletes
            else f"make {free.call.pattern.name} a create, which is refused where one is",
            transaction.place,
            free.call.pattern.place,
        )


def _is_free(step: Step) -> bool:
    plan = step.call.pattern.plan
    return plan.operation in {"DeleteItem", "PutItem"} and plan.exists == "may" and not happens_once(plan)
