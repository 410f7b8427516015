"""A range leaves out keys that begin with its end

BETWEEN and <= compare whole keys. `BETWEEN "DUE#2025-10-01#" AND "DUE#2025-10-31#"` leaves out every task of the
31st, because `DUE#2025-10-31#task-7` is greater than its own beginning. The other way round, `> "DUE#2025-10-31#"`
takes in the whole of the 31st.

End the range past all that begin so: `DUE#{end}$` ("$" follows "#"), or let the planner bound it:
`sk.between(due=(start, end))` includes both ends with everything behind them.

Source: developer guide, "Key condition expressions for the Query operation"; String order by UTF-8 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyplan.check.captures import template_of
from keyplan.check.finding import Finding
from keyplan.check.keyspace import as_template, begins, overlap
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.algebra import Overlap
from keyplan.design.keys import KeyAttribute
from keyplan.design.patterns import Pattern
from keyplan.design.plan import KeyValue, Plan, SortCondition

RULE = Rule("KP320", "range-end-left-out", ("error", "warning"))


def check(subject: Subject) -> Iterator[Finding]:
    """Bounds that are the beginning of keys, where the keys themselves are meant."""
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.key is None:
            continue
        for condition in plan.key.sort:
            yield from _looked_at(pattern, plan, condition)


def _looked_at(pattern: Pattern[..., Any], plan: Plan, condition: SortCondition) -> Iterator[Finding]:
    end = {"BETWEEN": condition.high, "<=": condition.low, ">": condition.low}.get(condition.op)
    if end is None or end.part != "whole" or end.template is None:
        return
    for entity in plan.entities:
        bound = entity.key_in(plan.index)
        part = next((one for one in bound.sort if one.attribute == end.attribute), None) if bound is not None else None
        found = _begun_by(end, part) if part is not None else None
        if bound is None or part is None or found is None:
            continue
        text = end.template.text
        past = condition.op == ">"
        yield Finding(
            RULE.code,
            "warning" if past else "error",
            pattern.name,
            f'{pattern.name} asks for {part.attribute} {condition.op} ... "{text}", the beginning of keys such as'
            f" {found.text}: they sort after it and are {'all taken in' if past else 'left out'}",
            f'write the bound past them, "{_past(text)}", or give the fields and let the planner bound the range',
            pattern.place,
            bound.place,
        )


def _begun_by(end: KeyValue, part: KeyAttribute) -> Overlap | None:
    """A key that begins with the bound and goes on, where the bound itself is no key."""
    asked, made = template_of(end), as_template(part)
    if asked is None or made is None or end.template is part.template:
        return None
    same = overlap((asked,), (made,))
    if same is not None and same.plain:
        return None
    found = begins(asked, made, frozenset(asked.fields))
    return found if found is not None and found.plain else None


def _past(text: str) -> str:
    if text.endswith("}"):
        return text + "\\uffff"
    return text[:-1] + chr(ord(text[-1]) + 1)
