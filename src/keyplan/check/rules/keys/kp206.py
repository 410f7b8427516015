"""A key's text sorts unlike the values it is made of

Keys are compared as bytes. Numbers without padding sort 1, 10, 9; moments with an offset or of changing
precision sort by their spelling. A range over such a text leaves values out and takes others in, and a list in
key order is not in the order of the values.

Write holes that keep the order: `{points:010d}` for numbers, `{due_at:utc_ms}` for moments,
`{priority:rank(urgent,high,low)}` for words with an order of their own.

Source: developer guide, "Best practices for using sort keys to organize data"; naming rules, String order.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.names import is_identifier
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.plan import Plan
from keyplan.design.templates import BoundHole

RULE = Rule("KP206", "order-not-kept", ("error", "warning"))


def check(subject: Subject) -> Iterator[Finding]:
    """Ranges over texts that do not sort by their values, and lists in the order of unpadded numbers."""
    for name, fault in subject.faults_of(RULE.code):
        yield Finding.of(fault, "error", name)
    faulty = {name for name, _ in subject.faults_of(RULE.code)}
    for _, pattern, plan in subject.patterns:
        hole = _listed_by(plan) if plan.operation == "Query" and pattern.name not in faulty else None
        if hole is None or plan.select == "count" or pattern.facts.ordered_by:
            continue
        if hole.field.type is int and hole.spec == "" and hole.field.choices is None and not is_identifier(hole.name):
            yield Finding(
                RULE.code,
                "warning",
                pattern.name,
                f"{pattern.name} returns items in the order of {hole.name} as text, 10 before 9: {{{hole.name}}} is not"
                " padded",
                f"write {{{hole.name}:010d}}, with as many digits as it can have",
                pattern.place,
                plan.entity.place,
            )


def _listed_by(plan: Plan) -> BoundHole | None:
    """The hole that results differ in first, where one template makes the sort key."""
    bound = plan.entity.key_in(plan.index.name if plan.index is not None else None)
    if bound is None or plan.key is None or len(bound.sort) != 1 or len(plan.entities) > 1:
        return None
    template = bound.sort[0].template
    given = {name for one in plan.key.sort for name in one.low.sources}
    return next((hole for hole in template.holes if hole.name not in given), None) if template is not None else None
