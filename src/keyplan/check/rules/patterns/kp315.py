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
from typing import Any, Literal

from keyplan.check.annotations import mismatch, optional_param
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.conditions import Between, Compare, Condition, In, Path
from keyplan.design.entities import EntitySpec
from keyplan.design.fields import StoredField
from keyplan.design.patterns import Pattern
from keyplan.design.plan import KeyValue, Plan
from keyplan.design.symbols import Each, Param, Source, annotation_of

Use = Literal["key", "compared", "set", "changed"]
RULE = Rule("KP315", "parameter-type", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Parameters whose annotation differs from the type of the field that they go into."""
    for _, pattern, plan in subject.patterns:
        told: set[str] = set()
        for name, source, use in _uses(plan):
            stored = _field(plan, name)
            problem = _problem(source, stored, use) if stored is not None else None
            if problem is not None and repr(source) not in told:
                told.add(repr(source))
                yield _finding(pattern, plan, name, source, problem)


def _uses(plan: Plan) -> Iterator[tuple[str, Source, Use]]:
    """Every field with the source of its value, and what that is for."""
    if plan.key is not None:
        values = [*plan.key.partition, *(value for one in plan.key.sort for value in (one.low, one.high) if value)]
        for value in values:
            yield from ((name, source, "key") for name, source in value.sources.items() if not _is_written(value, plan))
    yield from ((name, source, "compared") for name, source in _compared(plan.filter))
    yield from ((name, source, "compared") for name, source in _compared(plan.condition))
    yield from ((name, source, "compared") for name, source in plan.known.items())
    for action in plan.actions:
        if action.name in {"set", "set_if_missing", "add"} and len(action.path.parts) == 1:
            yield action.path.field, action.source, "set" if action.name == "set" else "changed"


def _is_written(value: KeyValue, plan: Plan) -> bool:
    """Whether a key's text was written out in the pattern: its holes are parameters, not fields."""
    if value.template is None:
        return False
    bounds = [entity.key_in(plan.index.name if plan.index is not None else None) for entity in plan.entities]
    own = [part.template for bound in bounds if bound is not None for part in bound.attributes]
    return all(template is not value.template for template in own)


def _compared(condition: Condition | None) -> Iterator[tuple[str, Source]]:
    for operand in condition.operands() if condition is not None else ():
        if isinstance(operand, Condition):
            yield from _compared(operand)
    if isinstance(condition, Compare) and _is_field(condition.left):
        yield condition.left.field, condition.right  # type: ignore[attr-defined]  # _is_field looked
    if isinstance(condition, (Between, In)) and _is_field(condition.operand):
        yield from ((condition.operand.field, one) for one in condition.operands()[1:])  # type: ignore[attr-defined]


def _is_field(operand: object) -> bool:
    return isinstance(operand, Path) and len(operand.parts) == 1


def _field(plan: Plan, name: str) -> StoredField | None:
    fields: list[Mapping[str, StoredField]] = [entity.fields for entity in plan.entities]
    return next((known[name] for known in fields if name in known), None)


def _problem(source: Source, stored: StoredField, use: Use) -> str | None:
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
