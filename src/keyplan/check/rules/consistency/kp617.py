"""A number that an addition takes out of its bounds

A model says that a stock is at least 0, and an update takes from it whatever is there. The service adds numbers and
knows nothing of the model: of two callers that take the last one both succeed, and from then on the item is refused
by its own model wherever it is read.

Say in the write what must be there: `subtract(free=n) & when(F.free >= n)`; the refusal is the answer "there is no
more". Or leave the bound out of the model, where the number may pass it.

Found are updates that subtract from a field with a least value, or add to one with a highest, without a condition on
that field, what is known of it, or a version.

Source: developer guide, "Update expressions" (incrementing and decrementing numeric attributes) and "Condition
expressions".
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.conditions import paths_of
from keyplan.design.patterns import Pattern
from keyplan.design.plan import Plan
from keyplan.design.terms_writes import Action

RULE = Rule("KP617", "addition-out-of-bounds", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Additions to bounded fields that look at nothing."""
    for _, pattern, plan in subject.patterns:
        if plan.operation != "UpdateItem" or plan.version is not None:
            continue
        looked_at = {path.field for path in paths_of(plan.condition)} | set(plan.known)
        for action in plan.actions:
            if action.name == "add" and len(action.path.parts) == 1 and action.path.field not in looked_at:
                yield from _passed(pattern, plan, action)


def _passed(pattern: Pattern[..., object], plan: Plan, action: Action) -> Iterator[Finding]:
    name = action.path.field
    declared = plan.entity.fields[name].declared
    falls = _falls(action)
    bound, least_or_most = (declared.minimum, "least") if falls else (declared.maximum, "most")
    if bound is None:
        return
    does, sign = ("takes from", ">=") if falls else ("adds to", "<=")
    needed = f"F.{name} >= {action.source!r}" if action.word == "subtract" and not bound else f"F.{name} {sign} ..."
    yield Finding(
        RULE.code,
        "warning",
        pattern.name,
        f"{pattern.name} {does} {plan.entity.name}.{name}, which is at {least_or_most} {bound}, whatever is there: past"
        " that the item is stored, and cannot be read again",
        f"add when({needed}), or leave the bound out of {name}",
        pattern.place,
        plan.entity.place.at(name),
    )


def _falls(action: Action) -> bool:
    """Whether the number gets smaller; what a call gives is taken to be positive."""
    given = action.source
    return (isinstance(given, (int, float, Decimal)) and given < 0) != action.negative
