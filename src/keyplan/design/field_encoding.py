"""Python values as attribute values: by the value's own type, so that what pydantic accepted is stored as what it is.

Numbers are exact: Decimal goes as it is, float by its shortest text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any, get_args
from uuid import UUID

from pydantic import BaseModel

from keyplan.design.field_marks import mark_of
from keyplan.design.field_moments import epoch_text, moment_text, rounded_up
from keyplan.design.field_types import KEY_TYPES, AttributeValue, StoredAs, UnstorableTypeError, plain, without_none

Encode = Callable[[Any], AttributeValue]


def encode_value(value: Any) -> AttributeValue:
    """The attribute value of any Python value that an entity may hold. Raises UnstorableTypeError for others."""
    encode = _ENCODERS.get(type(value))
    if encode is not None:
        return encode(value)
    return _encode_other(value)


def encoder(annotation: Any, stored: StoredAs | None = None) -> Encode:
    """The function that encodes the values of a type, or moments that are stored so."""
    if stored is not None:
        return _MOMENTS[stored]
    annotation, _ = without_none(annotation)
    return _encode_text if annotation is str else encode_value


def member_encoder(annotation: Any, parts: Sequence[object], *, up: bool = False) -> Encode:
    """The function that encodes the values of what lies in a type, by the names and places that lead to it.

    `up` has moments that are finer than their unit rounded up.
    """
    stored: StoredAs | None = None
    for part in parts:
        annotation, _ = without_none(annotation)
        stored = None
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            info = annotation.model_fields.get(str(plain(part)))
            if info is None:
                return encode_value
            stored, annotation = mark_of(info).stored, info.annotation
        else:
            inner = get_args(annotation)
            annotation = inner[-1] if inner else object
    if stored is None:
        return encode_value
    unit, encode = stored, _MOMENTS[stored]

    def encoded(value: Any) -> AttributeValue:
        if not isinstance(value, datetime):
            return encode_value(value)
        return encode(rounded_up(unit, value) if up else value)

    return encoded


def is_nothing(value: object) -> bool:
    """Whether a value is stored as the absence of its attribute."""
    return value is None or (isinstance(value, (set, frozenset)) and not value)


def _encode_other(value: Any) -> AttributeValue:
    if isinstance(value, Enum):
        return encode_value(value.value)
    if isinstance(value, BaseModel):
        return {"M": _encode_model(value)}
    for kind, encode in _ENCODERS.items():
        if isinstance(value, kind):
            return encode(value)
    raise UnstorableTypeError(f"{type(value).__name__} has no attribute type")


def _encode_model(model: BaseModel) -> dict[str, AttributeValue]:
    encoded = {}
    for name, attribute, encode in _members_of(type(model)):
        value = getattr(model, name)
        if not is_nothing(value):
            encoded[attribute] = encode(value)
    return encoded


@lru_cache(maxsize=4096)
def _members_of(model: type[BaseModel]) -> tuple[tuple[str, str, Encode], ...]:
    """Of each field of a model that is stored within an item: its name, its name in the map, and its encoder."""
    marks = {name: mark_of(info) for name, info in model.model_fields.items()}
    return tuple(
        (name, mark.name or name, encode_value if mark.stored is None else _MOMENTS[mark.stored])
        for name, mark in marks.items()
    )


def _encode_text(value: Any) -> AttributeValue:
    """The attribute value of a text. Raises UnstorableTypeError for any other value: str() would make text of it."""
    if type(value) is str:
        return {"S": value}
    if not isinstance(value, str):
        raise UnstorableTypeError(f"{value!r} is {type(value).__name__}, and str is stored")
    return {"S": str.__str__(value)}


def _encode_set(value: set[Any] | frozenset[Any]) -> AttributeValue:
    members = [encode_value(member) for member in value]
    if not members:
        raise UnstorableTypeError("an empty set cannot be stored")
    code = next(iter(members[0]))
    if any(code not in member for member in members) or code not in KEY_TYPES:
        raise UnstorableTypeError("a set holds only strings, only numbers or only binary")
    return {code + "S": sorted(member[code] for member in members)}


def _name_text(name: object) -> str:
    """A dict's key as the name in a map, as the same value would be stored by itself."""
    if isinstance(name, Enum):
        return _name_text(name.value)
    return moment_text(name) if isinstance(name, datetime) else str(name)


def number_text(value: float | Decimal) -> str:
    """A number as it is sent: Decimal exactly, float by its shortest text. Raises ValueError for nan and inf."""
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be stored: a Number is finite")
    return format(value, "f") if isinstance(value, Decimal) else repr(value)


_MOMENTS: dict[StoredAs, Encode] = {
    "epoch_s": lambda value: {"N": epoch_text(value, 1)},
    "epoch_ms": lambda value: {"N": epoch_text(value, 1000)},
    "iso_s": lambda value: {"S": moment_text(value, "seconds")},
    "iso_ms": lambda value: {"S": moment_text(value, "milliseconds")},
}

_ENCODERS: dict[type, Encode] = {
    str: _encode_text,
    bool: lambda value: {"BOOL": value},
    int: lambda value: {"N": str(int(value))},
    float: lambda value: {"N": number_text(value)},
    Decimal: lambda value: {"N": number_text(value)},
    bytes: lambda value: {"B": bytes(value)},
    bytearray: lambda value: {"B": bytes(value)},
    UUID: lambda value: {"S": str(value)},
    datetime: lambda value: {"S": moment_text(value)},
    date: lambda value: {"S": value.isoformat()},
    time: lambda value: {"S": value.isoformat()},
    timedelta: lambda value: {"N": number_text(Decimal(value // timedelta(microseconds=1)) / 1_000_000)},
    type(None): lambda _value: {"NULL": True},
    list: lambda value: {"L": [encode_value(member) for member in value]},
    tuple: lambda value: {"L": [encode_value(member) for member in value]},
    dict: lambda value: {"M": {_name_text(name): encode_value(member) for name, member in value.items()}},
    set: _encode_set,
    frozenset: _encode_set,
}
