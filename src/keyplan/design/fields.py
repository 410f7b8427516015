"""The fields of an entity: under which attribute each is stored, as what type, and how.

Attribute values are in the form of the Python SDK's client: {"S": ...}, {"N": "..."}, {"B": bytes}.
Numbers are exact: Decimal goes as it is, float by its shortest text.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, RootModel
from pydantic.fields import FieldInfo

AttributeValue = dict[str, Any]
TypeCode = Literal["S", "N", "B", "BOOL", "SS", "NS", "BS", "L", "M", "ANY"]
StoredAs = Literal["epoch_s", "epoch_ms", "iso_s", "iso_ms"]
KEY_TYPES = ("S", "N", "B")


@dataclass(frozen=True)
class Attribute:
    """Beside a field's type: how it is stored. `Annotated[datetime, Attribute("createdAt", stored="epoch_s")]`."""

    name: str | None = None
    """The attribute's name; the field's own when not said."""
    stored: StoredAs | None = None
    """A moment as a Number of seconds or milliseconds since 1970, or as ISO 8601 text of seconds or milliseconds;
    without it the text has microseconds."""


@dataclass(frozen=True, eq=False)
class StoredField:
    """A field of an entity, as it is stored."""

    name: str
    attribute: str
    type_code: TypeCode
    optional: bool
    """Whether it may be None: its attribute is then absent."""
    annotation: Any
    info: FieldInfo
    encode: Callable[[Any], AttributeValue]
    decode: Callable[[AttributeValue], Any]
    stored: StoredAs | None = None

    def __repr__(self) -> str:
        return f"<StoredField {self.name}: {self.type_code} {self.attribute}>"

    def encode_up(self, value: Any) -> AttributeValue:
        """A value as stored; a moment that is finer than its unit as the next whole unit."""
        return self.encode(value if self.stored is None else _rounded_up(self.stored, value))

    @property
    def is_needed(self) -> bool:
        """Whether an item without its attribute cannot be read: it has no default, and is not stored as nothing."""
        return self.info.is_required() and not self.optional and not self.is_set

    @property
    def is_set(self) -> bool:
        """Whether it is a set, whose attribute is absent while the set is empty."""
        return self.type_code in {"SS", "NS", "BS"}


class UnstorableTypeError(TypeError):
    """A type that no attribute value can hold, or not so that what was written is read again."""

    def __init__(self, problem: str, fix: str = "") -> None:
        super().__init__(problem)
        self.fix = fix or (
            "use str, int, Decimal, float, bool, bytes, datetime, date, UUID, an Enum or Literal of these, list, set,"
            " dict or a pydantic model"
        )


def stored_field(name: str, info: FieldInfo, *, ttl: str | None = None) -> StoredField:
    """How a field of a model is stored; `ttl` is the table's attribute for expiry."""
    mark = mark_of(info)
    attribute = mark.name or name
    annotation, optional = without_none(info.annotation)
    _check_mark(mark, annotation)
    if optional and not info.is_required() and info.default_factory is None and info.default is not None:
        raise UnstorableTypeError(
            f"it may be None, which is stored as nothing, and nothing is read as its default {info.default!r}",
            "give it the default None, or no None in its type",
        )
    stored = mark.stored
    if stored is None and attribute == ttl and annotation is datetime:
        stored = "epoch_s"
    code = type_code(annotation, stored)
    _check_unions(annotation)
    encode = _EPOCHS[stored][0] if stored else encoder(annotation)
    decode = _EPOCHS[stored][1] if stored else decoder(annotation)
    return StoredField(name, attribute, code, optional, annotation, info, encode, decode, stored)


def mark_of(info: FieldInfo) -> Attribute:
    """What stands beside a field's type, also beside the part of a union that is not None."""
    marks = [mark for mark in info.metadata if isinstance(mark, Attribute)] or list(_marks_in(info.annotation))
    mark = marks[-1] if marks else Attribute()
    # A model that goes out under other names by pydantic's own means is stored under them too.
    return replace(mark, name=info.serialization_alias) if mark.name is None and info.serialization_alias else mark


def check_aliases(model: type[BaseModel]) -> None:
    """Refuse a model that could be written under its aliases and not be read by its fields' own names."""
    config = model.model_config
    if config.get("populate_by_name") or config.get("validate_by_name"):
        return
    aliased = [name for name, info in model.model_fields.items() if info.validation_alias is not None]
    if aliased:
        raise UnstorableTypeError(
            f"{model.__name__}.{aliased[0]} has an alias, and only the alias is read",
            "add populate_by_name=True to the model's model_config",
        )


def _marks_in(annotation: Any) -> Iterator[Attribute]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from (mark for mark in annotation.__metadata__ if isinstance(mark, Attribute))
        yield from _marks_in(annotation.__origin__)
    elif origin in {Union, types.UnionType}:
        for part in get_args(annotation):
            yield from _marks_in(part)


def _check_mark(mark: Attribute, annotation: Any) -> None:
    """Refuse stored="epoch_s" of what is no moment, and other words for it."""
    if mark.stored is None:
        return
    if mark.stored not in _EPOCHS:
        raise UnstorableTypeError(f"there is no stored={mark.stored!r}", f"use {' or '.join(map(repr, _EPOCHS))}")
    if not (isinstance(annotation, type) and issubclass(annotation, datetime)):
        raise UnstorableTypeError(f"stored={mark.stored!r} is for a datetime", "leave it out, or make it a datetime")


def _check_unions(annotation: Any) -> None:
    """Refuse unions of models that store fields under other names: nothing would tell which names to read."""
    annotation, _ = without_none(annotation)
    union = get_origin(annotation) in {Union, types.UnionType}
    for part in get_args(annotation) if get_origin(annotation) is not Literal else ():
        model, _ = without_none(part)
        if union and isinstance(model, type) and issubclass(model, BaseModel):
            for name, info in model.model_fields.items():
                if mark_of(info) != Attribute():
                    raise UnstorableTypeError(
                        f"{model.__name__}.{name} has an Attribute of its own, and the model is one of a union",
                        "leave the Attribute out, or the union",
                    )
        _check_unions(part)


def without_none(annotation: Any) -> tuple[Any, bool]:
    """The type without Annotated, NewType and None, and whether None was in it."""
    optional = False
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation = get_args(annotation)[0]
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif origin is Literal and None in get_args(annotation):
            annotation, optional = Literal[tuple(one for one in get_args(annotation) if one is not None)], True
        elif origin in {Union, types.UnionType} and type(None) in get_args(annotation):
            rest = tuple(part for part in get_args(annotation) if part is not type(None))
            annotation, optional = (rest[0] if len(rest) == 1 else Union[rest]), True  # noqa: UP007 - made at run time
        else:
            return annotation, optional


def type_code(annotation: Any, stored: StoredAs | None = None) -> TypeCode:
    """The attribute type that values of a Python type are stored as."""
    if stored is not None:
        return "N" if stored in {"epoch_s", "epoch_ms"} else "S"
    annotation, _ = without_none(annotation)
    origin = get_origin(annotation) or annotation
    if origin is Literal:
        return _one_code([type(value) for value in get_args(annotation)])
    if origin in {Union, types.UnionType}:
        codes = {type_code(part) for part in get_args(annotation)}
        return codes.pop() if len(codes) == 1 else "ANY"
    if origin in {set, frozenset}:
        return _set_code(annotation)
    if not isinstance(origin, type) or origin is Any:
        return "ANY"
    if issubclass(origin, BaseModel):
        _check_model(origin)
    return _scalar_code(origin)


def _check_model(model: type[BaseModel]) -> None:
    """Refuse models that are more than their fields."""
    if issubclass(model, RootModel):
        raise UnstorableTypeError(f"{model.__name__} is a RootModel", "use the type that it wraps")
    if model.model_config.get("extra") == "allow":
        raise UnstorableTypeError(
            f"{model.__name__} allows extra fields, which would not be stored",
            'declare the fields, or one dict for them, and leave extra="allow" out',
        )


def _scalar_code(kind: type) -> TypeCode:
    if issubclass(kind, Enum):
        return _one_code([type(member.value) for member in kind])
    for types_, code in _CODES:
        if issubclass(kind, types_):
            return code
    if kind is object:
        return "ANY"
    raise UnstorableTypeError(f"{kind.__name__} has no attribute type")


def _one_code(kinds: list[type]) -> TypeCode:
    codes = {_scalar_code(kind) for kind in kinds}
    return codes.pop() if len(codes) == 1 else "ANY"


def _set_code(annotation: Any) -> TypeCode:
    parts = get_args(annotation)
    code = type_code(parts[0]) if parts else "S"
    if code not in KEY_TYPES:
        kind = getattr(parts[0], "__name__", parts[0])
        raise UnstorableTypeError(f"a set holds strings, numbers or binary, not {kind}")
    sets: dict[str, TypeCode] = {"S": "SS", "N": "NS", "B": "BS"}
    return sets[code]


# bool before int: a bool is an int to Python. A list of pairs, because subclasses count too.
_CODES: tuple[tuple[tuple[type, ...], TypeCode], ...] = (
    ((bool,), "BOOL"),
    ((int, float, Decimal, timedelta), "N"),
    ((str, UUID, datetime, date, time), "S"),
    ((bytes, bytearray, memoryview), "B"),
    ((list, tuple), "L"),
    ((dict, Mapping, BaseModel), "M"),
)


# Encoding: by the value's own type, so that what pydantic accepted is stored as what it is.


def encode_value(value: Any) -> AttributeValue:
    """The attribute value of any Python value that an entity may hold."""
    encode = _ENCODERS.get(type(value))
    if encode is not None:
        return encode(value)
    return _encode_other(value)


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
    for name, info in type(model).model_fields.items():
        value = getattr(model, name)
        if value is None or (isinstance(value, (set, frozenset)) and not value):
            continue
        mark = mark_of(info)
        encode = _EPOCHS[mark.stored][0] if mark.stored is not None else encode_value
        encoded[mark.name or name] = encode(value)
    return encoded


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


def moment_text(value: datetime, timespec: str = "microseconds") -> str:
    """A moment as text of one width that sorts by time: UTC, Z, microseconds unless others are asked for."""
    if value.tzinfo is None:
        raise ValueError(f"{value.isoformat()} has no time zone: a stored moment must have one")
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


def _epoch(value: datetime, per_second: int) -> AttributeValue:
    if value.tzinfo is None:
        raise ValueError(f"{value.isoformat()} has no time zone: a stored moment must have one")
    delta = value - datetime(1970, 1, 1, tzinfo=UTC)
    microseconds = (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
    return {"N": str(microseconds * per_second // 1_000_000)}


def _from_epoch(value: AttributeValue, per_second: int) -> Any:
    if "N" not in value:
        return decode_value(value)
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(Decimal(value["N"]) * 1_000_000 / per_second))


def _rounded_up(stored: StoredAs, value: Any) -> Any:
    """The least moment of whole units that is not before this one."""
    if not isinstance(value, datetime):
        return value
    unit_us = 1_000_000 if stored in {"epoch_s", "iso_s"} else 1_000
    over = value.microsecond % unit_us
    try:
        return value + timedelta(microseconds=unit_us - over) if over else value
    except OverflowError:
        return value  # the last unit that there is


def _from_text(value: AttributeValue) -> Any:
    return decode_value(value)  # for pydantic to read


_EPOCHS: dict[StoredAs, tuple[Callable[[Any], AttributeValue], Callable[[AttributeValue], Any]]] = {
    "epoch_s": (lambda value: _epoch(value, 1), lambda value: _from_epoch(value, 1)),
    "epoch_ms": (lambda value: _epoch(value, 1000), lambda value: _from_epoch(value, 1000)),
    "iso_s": (lambda value: {"S": moment_text(value, "seconds")}, _from_text),
    "iso_ms": (lambda value: {"S": moment_text(value, "milliseconds")}, _from_text),
}

_ENCODERS: dict[type, Callable[[Any], AttributeValue]] = {
    str: lambda value: {"S": str(value)},
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


def encoder(annotation: Any) -> Callable[[Any], AttributeValue]:
    """The function that encodes the values of a type."""
    annotation, _ = without_none(annotation)
    if annotation is str:
        return _ENCODERS[str]
    return encode_value


def member_encoder(annotation: Any, parts: Sequence[object], *, up: bool = False) -> Callable[[Any], AttributeValue]:
    """The function that encodes the values of what lies in a type, by the names and places that lead to it.

    `up` has moments that are finer than their unit rounded up.
    """
    stored: StoredAs | None = None
    for part in parts:
        annotation, _ = without_none(annotation)
        stored = None
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            info = annotation.model_fields.get(str(getattr(part, "value", part)))
            if info is None:
                return encode_value
            stored, annotation = mark_of(info).stored, info.annotation
        else:
            inner = get_args(annotation)
            annotation = inner[-1] if inner else object
    if stored is None:
        return encode_value
    unit, encode = stored, _EPOCHS[stored][0]

    def encoded(value: Any) -> AttributeValue:
        if not isinstance(value, datetime):
            return encode_value(value)
        return encode(_rounded_up(unit, value) if up else value)

    return encoded


# Decoding: by the attribute's type; pydantic makes what the field declares of it.


def plain_decoder(stored: StoredField) -> Callable[[Any], Any] | None:
    """What makes a field's plain value of a content of its own attribute type, where nothing else is to be done.

    The short way of `stored.decode`, which also takes other types than the declared one, for pydantic to judge.
    """
    return _DECODERS.get(stored.type_code) if stored.decode is decode_value else None


def decode_value(value: AttributeValue) -> Any:
    """The plain Python value of an attribute value: str, int, Decimal, bytes, bool, None, list, dict, set."""
    ((code, content),) = value.items()
    return _DECODERS[code](content)


def _decode_number(text: str) -> int | Decimal:
    return int(text) if text.isdigit() or text.lstrip("-").isdigit() else Decimal(text)


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "S": str,
    "N": _decode_number,
    "B": bytes,
    "BOOL": lambda content: content,
    "NULL": lambda _content: None,
    "L": lambda content: [decode_value(member) for member in content],
    "M": lambda content: {name: decode_value(member) for name, member in content.items()},
    "SS": set,
    "NS": lambda content: {_decode_number(member) for member in content},
    "BS": lambda content: {bytes(member) for member in content},
}


def decoder(annotation: Any) -> Callable[[AttributeValue], Any]:
    """The function that decodes the values of a type, for pydantic to validate."""
    annotation, _ = without_none(annotation)
    return _nested_models(annotation) or decode_value


def _nested_models(annotation: Any) -> Callable[[AttributeValue], Any] | None:
    """Models store their fields under their attributes' names; other maps under their own keys."""
    origin, inner = get_origin(annotation) or annotation, get_args(annotation)
    if not isinstance(origin, type):
        return None
    if issubclass(origin, BaseModel):
        check_aliases(origin)
        return lambda value: _decode_model(origin, value)
    if issubclass(origin, tuple) and inner and inner[-1] is not Ellipsis:
        return _members([decoder(part) for part in inner])
    if issubclass(origin, (list, tuple)) and inner:
        member = _nested_models(without_none(inner[0])[0])
        return None if member is None else _each_member(member)
    if issubclass(origin, Mapping) and len(inner) == 2:
        member = _nested_models(without_none(inner[1])[0])
        return None if member is None else _each_named(member)
    return None


Decode = Callable[[AttributeValue], Any]


def _each_member(member: Decode) -> Decode:
    return lambda value: [member(part) for part in value["L"]] if "L" in value else decode_value(value)


def _each_named(member: Decode) -> Decode:
    def decode(value: AttributeValue) -> Any:
        if "M" not in value:
            return decode_value(value)
        return {name: member(part) for name, part in value["M"].items()}

    return decode


def _members(decoders: Sequence[Decode]) -> Decode:
    """A tuple's members, each of its own type."""

    def decode(value: AttributeValue) -> Any:
        if "L" not in value or len(value["L"]) != len(decoders):
            return decode_value(value)
        return [one(part) for one, part in zip(decoders, value["L"], strict=True)]

    return decode


def _decode_model(model: type[BaseModel], value: AttributeValue) -> Any:
    if "M" not in value:
        return decode_value(value)
    decoded: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        mark = mark_of(info)
        part = value["M"].get(mark.name or name)
        if part is not None:
            decode = _EPOCHS[mark.stored][1] if mark.stored is not None else decoder(info.annotation)
            decoded[name] = decode(part)
        elif info.is_required():
            decoded.update(_read_from_nothing(name, info.annotation))
    return decoded


def _read_from_nothing(name: str, annotation: Any) -> dict[str, Any]:
    """What a required field is where its attribute is absent: None or the empty set, which are stored so."""
    if without_none(annotation)[1]:
        return {name: None}
    return {name: set()} if is_set_type(annotation) else {}


def is_set_type(annotation: Any) -> bool:
    """Whether values of a type are sets, which are stored as nothing while they are empty."""
    annotation, optional = without_none(annotation)
    return not optional and (get_origin(annotation) or annotation) in {set, frozenset}
