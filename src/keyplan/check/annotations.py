"""Whether values of a parameter's type can be a field's values."""

from __future__ import annotations

import types
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NewType, TypeVar, Union, get_args, get_origin

from keyplan.design.field_types import without_none
from keyplan.design.fields import StoredField

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
