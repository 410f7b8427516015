"""A guard of a unique value that is never taken away

An item such as `EMAIL#{email}`, created in one transaction with its user, keeps an address from being used twice.
It must go when the user goes, and move when the address changes. If nothing deletes it, the address is taken for
ever, by nobody.

`unique=("email",)` does all of that: the sentinel is written, moved and deleted with the item. With guards of
your own, delete the guard in every transaction that deletes the item or changes the value.

Source: AWS blog, "Simulating Amazon DynamoDB unique constraints using transactions".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.guards import Guard, guards_of
from keyplan.check.load import Work
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.check.wording import a

RULE = Rule("KP612", "guard-not-released", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Guards that stay when the item is deleted, or when its value changes."""
    for guard in guards_of(subject):
        for work in subject.writes_of(guard.guarded):
            does = _gives_up(work, guard)
            if does and not _released(work, guard):
                yield _finding(work, guard, does)


def _gives_up(work: Work, guard: Guard) -> str:
    if work.plan.operation == "DeleteItem":
        return f"deletes {a(guard.guarded.name)}"
    changed = [action.path.field for action in work.plan.actions if action.path.field in guard.fields]
    return f"changes {', '.join(changed)} of {guard.guarded.name}" if changed else ""


def _released(work: Work, guard: Guard) -> bool:
    """Whether the same call deletes the guard."""
    steps = work.pattern.plan.steps or (work.pattern.plan,)
    return any(step.operation == "DeleteItem" and step.entity is guard.guard for step in steps)


def _finding(work: Work, guard: Guard, does: str) -> Finding:
    return Finding(
        RULE.code,
        "error",
        work.pattern.name,
        f"{work.pattern.name} {does}, and leaves its {guard.guard.name}, which {guard.transaction.name} created to keep"
        f" {', '.join(guard.fields)} unique: the value stays taken",
        f"delete the {guard.guard.name} in the same transaction, or declare"
        f""" unique=("{'", "'.join(guard.fields)}",) and drop {guard.guard.name}""",
        work.pattern.place,
        guard.guard.place,
    )
