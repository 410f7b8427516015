"""A key's text sorts unlike the values it is made of

Keys are compared as bytes. Numbers without padding sort 1, 10, 9; moments with an offset or of changing
precision sort by their spelling; high, low, medium are in the order of the alphabet. A range over such a text leaves
values out and takes others in, and a list in key order is not in the order of the values.

Write holes that keep the order: `{points:010d}` for numbers, `{due_at:utc_ms}` for moments,
`{priority:rank(urgent,high,low)}` for words with an order of their own.

Found are ranges, and lists in the order of unpadded numbers or of words that their field's name calls a priority,
level or the like, unless the pattern's docstring speaks of the alphabet; an order that a pattern declares
(`ordered_by`) is KP311's.

Source: developer guide, "Best practices for using sort keys to organize data"; naming rules, String order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.names import is_identifier, words_of
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.plan import Plan
from keyplan.design.template_holes import BoundHole

RULE = Rule("KP206", "order-not-kept", ("error", "warning"))
_RANK = re.compile(r"(^|_)(priority|prio|severity|urgency|importance|level|rank|size|grade|tier)$")


def check(subject: Subject) -> Iterator[Finding]:
    """Ranges over texts that do not sort by their values, and lists in the order of numbers or ranks as text."""
    yield from subject.errors_of(RULE.code)
    faulty = {finding.subject for finding in subject.errors_of(RULE.code)}
    for _, pattern, plan in subject.patterns:
        hole = _listed_by(plan) if plan.operation == "Query" and pattern.name not in faulty else None
        if hole is None or plan.select == "count" or pattern.facts.ordered_by:
            continue
        if hole.field.type is int and hole.spec == "" and hole.field.choices is None and not is_identifier(hole.name):
            said = f"order of {hole.name} as text, 10 before 9: {{{hole.name}}} is not padded"
            fix = f"write {{{hole.name}:010d}}, with as many digits as it can have"
        elif _is_rank(hole) and not _sorts(texts := _choices(hole)) and "alphabet" not in pattern.doc:
            said = f"order of {hole.name} as text: {', '.join(sorted(texts))}"
            fix = f"write {{{hole.name}:rank({','.join(texts)})}}, in the order that is meant"
        else:
            continue
        yield Finding(
            RULE.code,
            "warning",
            pattern.name,
            f"{pattern.name} returns items in the {said}",
            fix,
            pattern.place,
            plan.entity.place,
        )


def _is_rank(hole: BoundHole) -> bool:
    return hole.spec == "" and _RANK.search(words_of(hole.name)) is not None


def _choices(hole: BoundHole) -> list[str]:
    return [str(choice) for choice in hole.field.stored_choices]


def _sorts(texts: list[str]) -> bool:
    """Whether texts sort as they are declared, upwards or downwards."""
    return sorted(texts) in (texts, texts[::-1])


def _listed_by(plan: Plan) -> BoundHole | None:
    """The hole that results differ in first, where one template makes the sort key."""
    bound = plan.entity.key_in(plan.index)
    if bound is None or plan.key is None or len(bound.sort) != 1 or len(plan.entities) > 1:
        return None
    template = bound.sort[0].template
    given = {name for one in plan.key.sort for name in one.low.sources}
    return next((hole for hole in template.holes if hole.name not in given), None) if template is not None else None
