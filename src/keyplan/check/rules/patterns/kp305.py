"""A decision rests on a read that may be old

A global index shows a write a moment after it was acknowledged, and an eventually consistent read of the table
may miss the last second. A program that decides by such an answer (is the quota used up, is the order still
open) decides wrongly exactly when two requests come close together.

Let the write itself decide: a condition on the item or a counter with a condition, in one transaction where
several items are concerned. A pattern that must show a write just made (`after=`) reads the table, consistently.
Reads that decide uniqueness, which not even a consistent one can, are KP605's.

Source: developer guide, "DynamoDB read consistency" and "Condition expressions".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.patterns import Pattern
from keyplan.design.plan import Plan

RULE = Rule("KP305", "decides-by-old-read", ("error", "warning"))
_INSTEAD = {
    "quota": "count in an item with add(...) and a condition on the count, in the transaction of what is counted",
    "state": "put the state into the condition of the write that depends on it: when(F.status == ...)",
}


def check(subject: Subject) -> Iterator[Finding]:
    """Reads that decide something, or must show what was just written, and cannot."""
    for _, pattern, plan in subject.patterns:
        if not plan.reading:
            continue
        through_index = plan.index is not None and plan.index.kind == "GSI"
        if pattern.facts.decides not in {"", "uniqueness"}:
            yield from _decides(pattern, plan, through_index=through_index)
        if pattern.facts.after and (through_index or not plan.consistent):
            writes = " and ".join(pattern.facts.after)
            lag = f"index {plan.index.name} lags behind" if plan.index is not None else "it reads eventually consistent"
            yield Finding(
                RULE.code,
                "warning",
                pattern.name,
                f"{pattern.name} is to show what {writes} wrote at once, and {lag}",
                "read the table by key with consistent=True, or merge the item just written into what is shown",
                pattern.place,
                plan.schema.place_of(plan.index),
            )


def _decides(pattern: Pattern[..., Any], plan: Plan, *, through_index: bool) -> Iterator[Finding]:
    what = pattern.facts.decides
    if through_index and plan.index is not None:
        problem = f"{pattern.name} decides {what} by index {plan.index.name}, which shows writes later"
    elif not plan.consistent:
        problem = f"{pattern.name} decides {what} by an eventually consistent read"
    else:
        return
    yield Finding(
        RULE.code,
        "error" if through_index else "warning",
        pattern.name,
        f"{problem}: two requests at once both pass",
        _INSTEAD.get(what, "let a condition of the write decide"),
        pattern.place,
        plan.schema.place_of(plan.index),
    )
