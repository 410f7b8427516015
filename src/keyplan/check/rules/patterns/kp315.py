"""A parameter is not what the field holds

The pattern's signature says one type and the field that it goes into another: a user id where a task id is
meant, a date for a moment, text for a number. Where both are NewTypes, type checkers see the call but not
which field the parameter ends in. At run time such a value is refused, or worse, makes a key that no item has.

Annotate the parameter with the field's own type. None in a key never works, and is refused where a field that every
item has is set to it: decide before the call.

Source: keyplan's own rule, about what type checkers cannot see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from keyplan.check.annotations import mismatch, optional_param
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.field_uses import FieldUse, field_uses
from keyplan.design.fields import StoredField
from keyplan.design.patterns import Pattern
from keyplan.design.plan import Plan
from keyplan.design.symbols import Each, Param, Source, annotation_of

RULE = Rule("KP315", "parameter-type", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Parameters whose annotation differs from the type of the field that they go into."""
    for _, pattern, plan in subject.patterns:
        told: set[str] = set()
        for name, source, use in field_uses(plan):
            stored = _field(plan, name)
            problem = _problem(source, stored, use) if stored is not None else None
            if problem is not None and repr(source) not in told:
                told.add(repr(source))
                yield _finding(pattern, plan, name, source, problem)


def _field(plan: Plan, name: str) -> StoredField | None:
    fields: list[Mapping[str, StoredField]] = [entity.fields for entity in plan.entities]
    return next((known[name] for known in fields if name in known), None)


def _problem(source: Source, stored: StoredField, use: FieldUse) -> str | None:
    if isinstance(source, Each):
        return mismatch(annotation_of(source.values), stored, each=True) if isinstance(source.values, Param) else None
    annotation = annotation_of(source)
    if annotation is None:
        return None
    if use == "key" and optional_param(annotation):
        return "may be None, and a key is never None"
    if use == "set" and optional_param(annotation) and stored.is_needed:
        return "may be None, and every item has one"
    return mismatch(annotation, stored, each=False)


def _finding(pattern: Pattern[..., Any], plan: Plan, name: str, source: Source, problem: str) -> Finding:
    entity: EntitySpec = next(entity for entity in plan.entities if name in entity.fields)
    return Finding(
        RULE.code,
        "warning",
        pattern.name,
        f"{source!r} of {pattern.name} goes into {entity.name}.{name} and {problem}",
        f"annotate it with the type of {entity.name}.{name}",
        pattern.place,
        entity.place,
    )
