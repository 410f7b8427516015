"""Rules for the types and the use of pattern parameters."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NewType, TypeVar, Union, get_args, get_origin

from keyplan.check.finding import Finding
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.design.declaring.patterns import Pattern, unused_parameters
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.annotations import without_none
from keyplan.design.fields.stored import StoredField
from keyplan.design.parameters import Each, Param, Source, annotation_of
from keyplan.design.planning.plan import FieldUse, Plan, field_uses


@design_rule("KP315", "warning")
def parameter_type_mismatch(subject: Subject) -> Iterator[Finding]:
    """Parameter type differs from the field type

    Finds parameters whose annotation does not match the type of the field for which they are used. Examples are a user
    ID for a field with a task ID, a date for a datetime field, text for a number field, and None for a key field or a
    required field. In queries and counts, a parameter for a sort key field can be None: the sort key condition then
    ends before this field.

    Why is this bad? Type checkers check the arguments of a call, but do not know for which field a parameter is used.
    At run time, a value of the wrong type is rejected, or results in a key that no item has.

    Fix: annotate the parameter with the field's type. Handle None before the call.

    Source: design language of keyplan (not a limit of DynamoDB).
    """
    for _, pattern, plan in subject.patterns:
        reported: set[str] = set()
        for name, source, use in field_uses(plan):
            field = _stored_field(plan, name)
            may_be_none = isinstance(source, Param) and source._name in pattern.optional
            problem = _type_problem(source, field, use, may_be_none=may_be_none) if field is not None else None
            if problem is not None and repr(source) not in reported:
                reported.add(repr(source))
                yield _type_finding(pattern, plan, name, source, problem)


def _stored_field(plan: Plan, name: str) -> StoredField | None:
    fields: list[Mapping[str, StoredField]] = [entity.fields for entity in plan.entities]
    return next((field[name] for field in fields if name in field), None)


def _type_problem(source: Source, field: StoredField, use: FieldUse, *, may_be_none: bool) -> str | None:
    if isinstance(source, Each):
        return mismatch(annotation_of(source.values), field, is_list=True) if isinstance(source.values, Param) else None
    annotation = annotation_of(source)
    if annotation is None:
        return None
    if use == "prefix" and (annotation is str or (annotation is date and field.annotation is datetime)):
        return None  # a text may be a prefix of a date, a UUID or a choice, and a day of a timestamp
    if use in {"key", "prefix"} and optional_param(annotation) and not may_be_none:
        return "may be None, which no key contains"
    if use == "set" and optional_param(annotation) and field.is_needed:
        return "may be None, but the field cannot"
    return mismatch(annotation, field, is_list=False)


def _type_finding(pattern: Pattern[..., Any], plan: Plan, name: str, source: Source, problem: str) -> Finding:
    entity: EntitySpec = next(entity for entity in plan.entities if name in entity.fields)
    return parameter_type_mismatch.finding(
        pattern.name,
        f"{pattern.name} can fail or use a key of no item: {source!r} goes into {entity.name}.{name} and {problem}",
        f"annotate it with the type of {entity.name}.{name}",
        pattern.place,
        entity.place,
    )


@design_rule("KP324", "warning")
def unused_parameter(subject: Subject) -> Iterator[Finding]:
    """Parameter is not used

    Finds parameters that the body of a pattern does not use in a key, filter, condition or change.

    Why is this bad? An unused parameter is often the sign of a missing condition. The pattern then returns the items of
    all users, or writes unconditionally.

    Fix: use the parameter, or remove it.

    Source: design language of keyplan (not a limit of DynamoDB).
    """
    for pattern in subject.design.patterns:
        for name in unused_parameters(pattern):
            yield unused_parameter.finding(
                pattern.name,
                f"{name} has no effect on {pattern.name}: no key, filter, condition or change uses it",
                f"use {name}, or remove it",
                pattern.place.at(name),
            )


_NUMBERS: dict[type, tuple[type, ...]] = {int: (int,), float: (int, float), Decimal: (int, float, Decimal)}


def optional_param(annotation: Any) -> bool:
    """Return True if a parameter with this annotation can be None."""
    return without_none(annotation)[1]


def mismatch(annotation: Any, field: StoredField, *, is_list: bool) -> str | None:
    """Return a description of how the type of a parameter differs from the type of a field, or None if it matches or
    cannot be compared.

    If `is_list` is True, the parameter is a list, and the type of its elements is compared.
    """
    if is_list:
        members = get_args(without_none(annotation)[0])
        annotation = members[0] if members else None
    if annotation is None or annotation is Any:
        return None
    names = _new_type(annotation), _new_type(field.info.annotation)
    if names[0] is not None and names[1] is not None and names[0] is not names[1]:
        return f"is {names[0].__name__}, but the field is {names[1].__name__}"
    stated, _ = without_none(annotation)
    expected = field.annotation
    return (
        None
        if _is_compatible(stated, expected)
        else f"is {_type_text(stated)}, but the field is {_type_text(expected)}"
    )


def _new_type(annotation: Any) -> Any:
    """Return the NewType in an annotation, or None if it contains none. Annotated and Optional are ignored."""
    while True:
        if isinstance(annotation, NewType):
            return annotation
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif get_origin(annotation) in {Union, types.UnionType}:
            members = [part for part in get_args(annotation) if part is not type(None)]
            if len(members) != 1:
                return None
            annotation = members[0]
        else:
            return None


def _is_compatible(actual: Any, expected: Any) -> bool:
    if get_origin(actual) is Literal and get_origin(expected) is Literal:
        return set(get_args(actual)) <= set(get_args(expected))
    actual_types, expected_types = _values_of(actual, takes_values=False), _values_of(expected, takes_values=True)
    if actual_types is None or expected_types is None:
        return True
    return any(
        _is_same_type(actual_type, expected_type) for actual_type in actual_types for expected_type in expected_types
    )


def _values_of(annotation: Any, *, takes_values: bool) -> set[type] | None:
    """Return the types that the values of an annotation can have, or None if they are too complex to compare.

    `takes_values` is True for a field, which accepts the values of an Enum in addition to its members. A parameter with
    an Enum type is always a member.
    """
    if isinstance(annotation, TypeVar):
        return None
    origin = get_origin(annotation)
    if origin is Literal:
        return {type(value) for value in get_args(annotation)}
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return {annotation} | ({type(member.value) for member in annotation} if takes_values else set())
    if origin in {list, tuple, set, frozenset, dict}:
        return {origin}
    return {annotation} if isinstance(annotation, type) else None


def _is_same_type(first: type, second: type) -> bool:
    if first is second or object in (first, second):
        return True
    if bool in {first, second} or {first, second} == {date, datetime}:
        return False
    if second in _NUMBERS and first in (int, float, Decimal):
        return first in _NUMBERS[second]
    return issubclass(first, second)


def _type_text(annotation: Any) -> str:
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__name__
    return str(annotation).replace("typing.", "")
