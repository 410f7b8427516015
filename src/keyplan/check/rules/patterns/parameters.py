"""Rules: parameters."""

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
from keyplan.design.annotations import without_none
from keyplan.design.declaring.patterns import Pattern, unused_parameters
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.stored import StoredField
from keyplan.design.parameters import Each, Param, Source, annotation_of
from keyplan.design.planning.plan import FieldUse, Plan, field_uses


@design_rule("KP315", "warning")
def parameter_type_mismatch(subject: Subject) -> Iterator[Finding]:
    """A parameter is not what the field holds

    The pattern's signature says one type and the field that it goes into another: a user id where a task id is
    meant, a date for a moment, text for a number. Where both are NewTypes, type checkers see the call but not
    which field the parameter ends in. At run time such a value is refused, or worse, makes a key that no item has.

    Annotate the parameter with the field's own type. None in a key never works, and is refused where a field that every
    item has is set to it: decide before the call.

    Source: keyplan's own rule, about what type checkers cannot see.
    """
    for _, pattern, plan in subject.patterns:
        told: set[str] = set()
        for name, source, use in field_uses(plan):
            stored = _stored_field(plan, name)
            problem = _type_problem(source, stored, use) if stored is not None else None
            if problem is not None and repr(source) not in told:
                told.add(repr(source))
                yield _type_finding(pattern, plan, name, source, problem)


def _stored_field(plan: Plan, name: str) -> StoredField | None:
    fields: list[Mapping[str, StoredField]] = [entity.fields for entity in plan.entities]
    return next((known[name] for known in fields if name in known), None)


def _type_problem(source: Source, stored: StoredField, use: FieldUse) -> str | None:
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


def _type_finding(pattern: Pattern[..., Any], plan: Plan, name: str, source: Source, problem: str) -> Finding:
    entity: EntitySpec = next(entity for entity in plan.entities if name in entity.fields)
    return parameter_type_mismatch.finding(
        pattern.name,
        f"{source!r} of {pattern.name} goes into {entity.name}.{name} and {problem}",
        f"annotate it with the type of {entity.name}.{name}",
        pattern.place,
        entity.place,
    )


@design_rule("KP324", "warning")
def unused_parameter(subject: Subject) -> Iterator[Finding]:
    """A parameter that nothing is made of

    The body of a pattern takes a parameter and says nothing with it: neither in the key, nor in a filter, a condition
    or a change. Often a line is missing, so that the pattern gives the items of everybody, or writes whatever the
    caller had on condition of.

    Say what it is for, or leave it out.

    Source: keyplan's own rule: a design has no words without meaning.
    """
    for pattern in subject.design.patterns:
        for name in unused_parameters(pattern):
            yield unused_parameter.finding(
                pattern.name,
                f"{pattern.name} takes {name}, and makes no use of it",
                f"say what {name} is for, or leave it out",
                pattern.place.at(name),
            )


_NUMBERS: dict[type, tuple[type, ...]] = {int: (int,), float: (int, float), Decimal: (int, float, Decimal)}


def optional_param(annotation: Any) -> bool:
    """Whether a parameter may be None."""
    return without_none(annotation)[1]


def mismatch(annotation: Any, stored: StoredField, *, each: bool) -> str | None:
    """What a parameter is instead of the field's type, in words; None where it fits or cannot be told."""
    if each:
        members = get_args(without_none(annotation)[0])
        annotation = members[0] if members else None
    if annotation is None or annotation is Any:
        return None
    names = _new_type(annotation), _new_type(stored.info.annotation)
    if names[0] is not None and names[1] is not None and names[0] is not names[1]:
        return f"is {names[0].__name__}, and the field is {names[1].__name__}"
    given, _ = without_none(annotation)
    wanted = stored.annotation
    return None if _fits(given, wanted) else f"is {_spelled(given)}, and the field is {_spelled(wanted)}"


def _new_type(annotation: Any) -> Any:
    """The NewType that an annotation names, under Annotated and None."""
    while True:
        if isinstance(annotation, NewType):
            return annotation
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif get_origin(annotation) in {Union, types.UnionType}:
            rest = [part for part in get_args(annotation) if part is not type(None)]
            if len(rest) != 1:
                return None
            annotation = rest[0]
        else:
            return None


def _fits(given: Any, wanted: Any) -> bool:
    if get_origin(given) is Literal and get_origin(wanted) is Literal:
        return set(get_args(given)) <= set(get_args(wanted))
    ours, theirs = _values_of(given, takes_values=False), _values_of(wanted, takes_values=True)
    if ours is None or theirs is None:
        return True
    return any(_same(one, other) for one in ours for other in theirs)


def _values_of(annotation: Any, *, takes_values: bool) -> set[type] | None:
    """The types that values have; None where that is not simple enough to compare.

    A field of an Enum takes its members and their values; a parameter of one is a member only.
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


def _same(one: type, other: type) -> bool:
    if one is other or object in (one, other):
        return True
    if bool in {one, other} or {one, other} == {date, datetime}:
        return False
    if other in _NUMBERS and one in (int, float, Decimal):
        return one in _NUMBERS[other]
    return issubclass(one, other)


def _spelled(annotation: Any) -> str:
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__name__
    return str(annotation).replace("typing.", "")
