"""Formats key conditions and other conditions as text, such as PK = USER#{user_id}, SK begins_with TASK#."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from keyplan.design.conditions.conditions import (
    AndCondition,
    BetweenCondition,
    CompareCondition,
    Condition,
    FieldPath,
    FieldSize,
    FunctionCondition,
    InCondition,
    NotCondition,
    OrCondition,
)
from keyplan.design.fields.annotations import plain_value
from keyplan.design.fields.stored import is_stored_as_absent
from keyplan.design.keys.encodings import KeyPartError, MissingField
from keyplan.design.keys.placeholders import BoundPlaceholder, Text
from keyplan.design.keys.templates import BoundTemplate
from keyplan.design.parameters import CALL_SOURCES, Param
from keyplan.design.planning.plan import KeyValue, Plan, SortCondition

_UNSTORABLE_ERRORS = (KeyPartError, MissingField, ArithmeticError, AttributeError, TypeError, ValueError)
"""The errors that are raised for a constant that cannot be stored. A rule reports patterns with such constants."""


def key_condition(plan: Plan) -> str:
    """Format the key condition of a plan, or return an empty string if it has none."""
    if plan.key is None:
        return ""
    parts = [f"{value.attribute} = {_text(value)}" for value in plan.key.partition]
    parts += [_sort(condition) for condition in plan.key.sort]
    return ", ".join(parts)


def _sort(condition: SortCondition) -> str:
    low = _text(condition.low)
    if condition.high is not None:
        return f"{condition.attribute} between {low} and {_text(condition.high)}"
    return f"{condition.attribute} {condition.op} {low}"


_BOUND_WORDS = {"upper": "the end of ", "after": "the end of ", "before": "the start of "}
"""The words before the text of a range bound in messages, by the kind of the bound.

"before" is the position before all keys that start with the text. "after" and "upper" are positions after these keys.
"""


def _text(value: KeyValue) -> str:
    if value.template is not None:
        return _BOUND_WORDS.get(value.part, "") + "".join(_template_texts(value, value.template))
    source = next(iter(value.sources.values()), None)
    if isinstance(source, CALL_SOURCES):
        return _source(source)
    assert value.field is not None, "a key attribute has a template or a field"
    try:
        ((type_code, stored),) = value.field.encode(source).items()
    except _UNSTORABLE_ERRORS:
        return _source(source)
    return str(stored) if type_code == "N" else repr(stored)


def _template_texts(value: KeyValue, template: BoundTemplate) -> Iterator[str]:
    """Yield the parts of a key template as text. Stop before the first field whose value is unknown."""
    for part in _contained_parts(value, template):
        if not isinstance(part, BoundPlaceholder):
            yield part.text
        elif part.name not in value.sources:
            return
        else:
            yield _placeholder(part, value.sources[part.name])


def _contained_parts(value: KeyValue, template: BoundTemplate) -> Sequence[BoundPlaceholder | Text]:
    """Return the parts of a template that a key value contains.

    If the value is a key prefix (begins_with), these are the parts up to the last field that has a value. The value of
    that field can be incomplete.
    """
    if value.part != "begins":
        return template.parts
    indexes = [index for index, part in enumerate(template.parts) if getattr(part, "name", None) in value.sources]
    return template.parts[: indexes[-1] + 1]


def _placeholder(placeholder: BoundPlaceholder, source: Any) -> str:
    """Return the name of a parameter in braces, or a constant in the form that the key contains."""
    if isinstance(source, CALL_SOURCES):
        return "{" + repr(source) + "}"
    try:
        return placeholder.encode(source)
    except _UNSTORABLE_ERRORS:
        return str(source)


def _source(source: Any) -> str:
    if isinstance(source, CALL_SOURCES):
        return "{" + repr(source) + "}"
    return repr(plain_value(source))


def condition(tree: Condition | None) -> str:
    """Format a condition as text, or return an empty string for None."""
    if tree is None:
        return ""
    if isinstance(tree, AndCondition):
        return " and ".join(_in_parentheses(part) for part in tree.parts)
    if isinstance(tree, OrCondition):
        return " or ".join(_in_parentheses(part) for part in tree.parts)
    if isinstance(tree, NotCondition):
        return f"not {_in_parentheses(tree.part)}"
    return _simple(tree)


def written_only_if(plan: Plan) -> str:
    """Format the condition of a write as text, or return an empty string if it has none.

    An update, delete or check always requires that the item exists. This condition is omitted.
    """
    requirement = _condition_of(plan)
    if plan.operation != "PutItem" or plan.exists == "may":
        return condition(requirement)
    if plan.exists == "must":
        return " and ".join(filter(None, ("the item exists", condition(requirement))))
    absent = "no item exists" + ("" if plan.replaceable is None else f" or {_in_parentheses(plan.replaceable)}")
    if requirement is None:
        return absent
    return f"{absent if plan.replaceable is None else f'({absent})'} and {_in_parentheses(requirement)}"


_EXISTENCE = {
    "must": "fails unless the item exists",
    "must_not": "fails if the item exists",
    "may": "succeeds whether or not the item exists",
}


def failure(plan: Plan) -> str:
    """Return a phrase that describes when a write fails, such as "fails unless the item exists".

    The check of the version is omitted.
    """
    requirement = _condition_of(plan, has_version=False)
    text = _in_parentheses(requirement) if isinstance(requirement, OrCondition) else condition(requirement)
    if plan.exists == "may" and text:
        return f"fails unless {text}"
    exception = "" if plan.replaceable is None else f", unless {condition(plan.replaceable)}"
    link = " and " if plan.exists == "must" else "; fails unless "
    return _EXISTENCE[plan.exists] + exception + (f"{link}{text}" if text else "")


def _condition_of(plan: Plan, *, has_version: bool = True) -> Condition | None:
    """Return the condition of a write, including the checks of expected field values. Return None if the write has no
    condition.

    If `has_version` is True, the check of the version is also included.
    """
    expected_values = dict(plan.assumed)
    if has_version and plan.version is not None and plan.entity.version is not None:
        expected_values[plan.entity.version] = plan.version
    parts = [] if plan.condition is None else [plan.condition]
    parts += [
        FieldPath(name).missing() if is_stored_as_absent(value) else FieldPath(name) == value
        for name, value in expected_values.items()
    ]
    return parts[0] if len(parts) == 1 else AndCondition(tuple(parts)) if parts else None


def _in_parentheses(part: Condition) -> str:
    text = condition(part)
    return f"({text})" if isinstance(part, (AndCondition, OrCondition)) else text


def _simple(tree: Condition) -> str:
    operands = [_operand(operand) for operand in tree.operands()]
    if isinstance(tree, CompareCondition):
        return f"{operands[0]} {tree.op} {operands[1]}"
    if isinstance(tree, BetweenCondition):
        return f"{operands[0]} between {operands[1]} and {operands[2]}"
    if isinstance(tree, InCondition):
        return f"{operands[0]} in ({', '.join(operands[1:])})"
    assert isinstance(tree, FunctionCondition), "all kinds of conditions are handled"
    verbs = {"attribute_exists": "is there", "attribute_not_exists": "is missing"}
    if tree.name in verbs:
        return f"{operands[0]} {verbs[tree.name]}"
    return f"{operands[0]} {tree.name} {operands[1]}"


def _path_part(part: Any) -> str:
    return _source(part) if isinstance(part, Param) else str(part)


def _operand(operand: Any) -> str:
    if isinstance(operand, FieldPath):
        return operand.field + "".join(f"[{_path_part(part)}]" for part in operand.parts[1:])
    if isinstance(operand, FieldSize):
        return f"size of {_operand(operand.path)}"
    return _source(operand)
