"""Types whose values would be read again as others: refused, because nothing that is stored tells the two apart."""

from __future__ import annotations

import types
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import permutations
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, EncodedBytes, EncodedStr, Json, JsonValue

from keyplan.design.field_types import UnstorableTypeError, unnamed, without_none

_TEXTS = (datetime, date, time, UUID, Enum)
_READ_AS: tuple[tuple[tuple[type, ...], type], ...] = (
    (_TEXTS, str),
    ((timedelta,), int),
    ((timedelta,), float),
    ((timedelta,), Decimal),
    ((datetime,), date),
    ((tuple,), list),
)
"""What is stored as the values of another type are, and would be read as one of those."""
_NAMES = (str, int, float, bool, Decimal, UUID, datetime, date, time, timedelta, Enum)
"""Types whose text gives the value back, for the keys of a dict."""
_DECODING: tuple[tuple[type, str, str], ...] = (
    (EncodedBytes, "encoded bytes, as Base64Bytes, are", "use bytes, which are stored as they are"),
    (EncodedStr, "encoded text, as Base64Str, is", "use str, which is stored as it is"),
    (Json, "a Json is", "use the type of what its text holds"),
)
"""What stands beside a type whose values are given in another form than they have; what is stored has it no more."""


def check_marks(annotation: Any, marks: Sequence[Any] = ()) -> None:
    """Refuse types that decode what they are given, within others too. `marks`: the metadata of the type's field."""
    annotation = unnamed(annotation)
    parts = () if get_origin(annotation) is Literal else get_args(annotation)
    if get_origin(annotation) is Annotated:
        parts, marks = parts[:1], [*marks, *annotation.__metadata__]
    for mark in marks:
        for kind, what, fix in _DECODING:
            if isinstance(mark, kind) or mark is kind:
                raise UnstorableTypeError(f"{what} decoded by the model, and what is stored is decoded already", fix)
    if annotation is JsonValue:
        raise UnstorableTypeError(
            "numbers are read as int and Decimal, and a JsonValue is no Decimal",
            "use Any, or the types that there may be",
        )
    for part in parts:
        check_marks(part)


def check_losses(annotation: Any) -> None:
    """Refuse unions of types that read alike, and dicts whose keys no text gives back; within other types too."""
    annotation, _ = without_none(annotation)
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return
    if origin in {Union, types.UnionType}:
        _check_union(parts)
    if origin is dict and parts:
        _check_names(parts[0])
    for part in parts:
        check_losses(part)


def _check_union(parts: tuple[Any, ...]) -> None:
    for part, other in permutations(parts, 2):
        one, two = _class_of(part), _class_of(other)
        for lost, read in _READ_AS:
            if two is read and one is not two and issubclass(one, lost) and not _is_one(one, read):
                raise UnstorableTypeError(
                    f"a {one.__name__} of the union would be read again as {two.__name__}: both are stored alike",
                    "declare one of them, or a field for each",
                )


def _is_one(kind: type, read: type) -> bool:
    """Whether values of a type equal what is read: a member of a StrEnum is a text."""
    return issubclass(kind, read) and not issubclass(kind, datetime)


def _check_names(annotation: Any) -> None:
    """Keys of a map are text, from which every value of their one type must come back."""
    bare, optional = without_none(annotation)
    choices = get_args(bare) if get_origin(bare) is Literal else ()
    fits = all(isinstance(choice, str) for choice in choices) if choices else issubclass(_class_of(bare), _NAMES)
    if optional or not fits:
        raise UnstorableTypeError(
            f"keys of a dict are stored as text, and {getattr(annotation, '__name__', annotation)} is not read again"
            " from that",
            "use str, a number, a moment, a UUID or an Enum as keys, or a list of models",
        )


def _class_of(annotation: Any) -> type:
    bare, _ = without_none(annotation)
    origin = get_origin(bare) or bare
    if isinstance(origin, type) and not issubclass(origin, BaseModel):
        return origin
    return object
