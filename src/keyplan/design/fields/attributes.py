"""How a field is stored (`Attribute`), and types that are refused because their values could not be read back."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import permutations
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, EncodedBytes, EncodedStr, Json, JsonValue
from pydantic.fields import FieldInfo

from keyplan.design.annotations import StoredAs, UnstorableTypeError, without_alias, without_none
from keyplan.design.arguments import checked_call

_STORED_AS: tuple[StoredAs, ...] = get_args(StoredAs)


@checked_call
@dataclass(frozen=True)
class Attribute:
    """Beside a field's type: how it is stored. `Annotated[datetime, Attribute("createdAt", stored="epoch_s")]`."""

    name: str | None = None
    """The attribute's name; the field's own when not said."""
    stored: StoredAs | None = None
    """A moment as a Number of seconds or milliseconds since 1970, or as ISO 8601 text of seconds or milliseconds;
    without it the text has microseconds."""


def attribute_of(info: FieldInfo) -> Attribute:
    """What stands beside a field's type, also beside the part of a union that is not None."""
    marks = [mark for mark in info.metadata if isinstance(mark, Attribute)] or list(_attributes_in(info.annotation))
    mark = marks[-1] if marks else Attribute()
    # A model that goes out under other names by pydantic's own means is stored under them too.
    return replace(mark, name=info.serialization_alias) if mark.name is None and info.serialization_alias else mark


def _attributes_in(annotation: Any) -> Iterator[Attribute]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from (mark for mark in annotation.__metadata__ if isinstance(mark, Attribute))
        yield from _attributes_in(annotation.__origin__)
    elif origin in {Union, types.UnionType}:
        for part in get_args(annotation):
            yield from _attributes_in(part)


def check_attribute(mark: Attribute, annotation: Any) -> None:
    """Refuse stored="epoch_s" of what is no moment, and other words for it."""
    if not (mark.name is None or (isinstance(mark.name, str) and mark.name)):
        raise UnstorableTypeError(f"Attribute({mark.name!r}) names no attribute", 'write Attribute("name")')
    if mark.stored is None:
        return
    if mark.stored not in _STORED_AS:
        raise UnstorableTypeError(f"there is no stored={mark.stored!r}", f"use {' or '.join(map(repr, _STORED_AS))}")
    if not (isinstance(annotation, type) and issubclass(annotation, datetime)):
        raise UnstorableTypeError(f"stored={mark.stored!r} is for a datetime", "leave it out, or make it a datetime")


def check_union_attributes(annotation: Any) -> None:
    """Refuse unions of models that store fields under other names: nothing would tell which names to read."""
    annotation, _ = without_none(annotation)
    union = get_origin(annotation) in {Union, types.UnionType}
    for part in get_args(annotation) if get_origin(annotation) is not Literal else ():
        model, _ = without_none(part)
        if union and isinstance(model, type) and issubclass(model, BaseModel):
            for name, info in model.model_fields.items():
                if attribute_of(info) != Attribute():
                    raise UnstorableTypeError(
                        f"{model.__name__}.{name} has an Attribute of its own, and the model is one of a union",
                        "leave the Attribute out, or the union",
                    )
        check_union_attributes(part)


def check_aliases(model: type[BaseModel]) -> None:
    """Refuse a model that could be written under its aliases and not be read by its fields' own names."""
    for name in model.model_fields:
        check_alias(model, name)


def check_alias(model: type[BaseModel], name: str) -> None:
    """The same of one field."""
    config = model.model_config
    if config.get("populate_by_name") or config.get("validate_by_name"):
        return
    if model.model_fields[name].validation_alias is not None:
        raise UnstorableTypeError(
            f"{model.__name__}.{name} has an alias, and only the alias is read",
            "add populate_by_name=True to the model's model_config",
        )


_STORED_AS_TEXT = (datetime, date, time, UUID, Enum)
_READ_AS: tuple[tuple[tuple[type, ...], type], ...] = (
    (_STORED_AS_TEXT, str),
    ((timedelta,), int),
    ((timedelta,), float),
    ((timedelta,), Decimal),
    ((datetime,), date),
    ((tuple,), list),
)
"""What is stored as the values of another type are, and would be read as one of those."""
_MAP_KEY_TYPES = (str, int, float, bool, Decimal, UUID, datetime, date, time, timedelta, Enum)
"""Types whose text gives the value back, for the keys of a dict."""
_DECODING: tuple[tuple[type, str, str], ...] = (
    (EncodedBytes, "encoded bytes, as Base64Bytes, are", "use bytes, which are stored as they are"),
    (EncodedStr, "encoded text, as Base64Str, is", "use str, which is stored as it is"),
    (Json, "a Json is", "use the type of what its text holds"),
)
"""What stands beside a type whose values are given in another form than they have; what is stored has it no more."""


def check_decoding_types(annotation: Any, marks: Sequence[Any] = ()) -> None:
    """Refuse types that decode what they are given, within others too. `marks`: the metadata of the type's field."""
    annotation = without_alias(annotation)
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
        check_decoding_types(part)


def check_round_trip(annotation: Any) -> None:
    """Refuse unions of types that read alike, and dicts whose keys no text gives back; within other types too."""
    annotation, _ = without_none(annotation)
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return
    if origin in {Union, types.UnionType}:
        _check_union(parts)
    if origin is dict and parts:
        _check_map_keys(parts[0])
    for part in parts:
        check_round_trip(part)


def _check_union(parts: tuple[Any, ...]) -> None:
    for part, other in permutations(parts, 2):
        one, two = _class_of(part), _class_of(other)
        for lost, read in _READ_AS:
            if two is read and one is not two and issubclass(one, lost) and not _is_same_value(one, read):
                raise UnstorableTypeError(
                    f"a {one.__name__} of the union would be read again as {two.__name__}: both are stored alike",
                    "declare one of them, or a field for each",
                )


def _is_same_value(kind: type, read: type) -> bool:
    """Whether values of a type equal what is read: a member of a StrEnum is a text."""
    return issubclass(kind, read) and not issubclass(kind, datetime)


def _check_map_keys(annotation: Any) -> None:
    """Keys of a map are text, from which every value of their one type must come back."""
    bare, optional = without_none(annotation)
    choices = get_args(bare) if get_origin(bare) is Literal else ()
    fits = (
        all(isinstance(choice, str) for choice in choices) if choices else issubclass(_class_of(bare), _MAP_KEY_TYPES)
    )
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
