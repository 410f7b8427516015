"""Storage formats of fields, and the conversion of Python values to attribute values and back.

Values are encoded according to their runtime type, so a value that pydantic accepted is stored unchanged. Numbers are
exact: a Decimal keeps its digits, and a float uses its shortest representation. Timestamps are stored as strings that
sort by time, or as a whole number of seconds or milliseconds since 1970.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any, get_args, get_origin
from uuid import UUID

import orjson
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from keyplan.design.fields.annotations import (
    KEY_TYPES,
    AttributeValue,
    DeclaredField,
    StoredAs,
    TypeCode,
    Unset,
    UnstorableTypeError,
    WriteEvent,
    annotation_with_limits,
    attribute_of,
    check_aliases,
    check_attribute,
    check_decoding_types,
    check_round_trip,
    check_union_attributes,
    is_set_type,
    plain_value,
    type_code,
    without_none,
    write_time_of,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_OFFSET = timedelta(0)
_TEXT_ONLY = frozenset({str})


def timestamp_text(value: datetime, timespec: str = "microseconds") -> str:
    """Return a timestamp as a fixed-width string in UTC with a Z suffix. The strings sort by time.

    The default precision is microseconds. Raises ValueError for a timestamp without a time zone.
    """
    if value.tzinfo is UTC and value.__class__ is datetime and timespec == "microseconds":
        text = orjson.dumps(value, None, orjson.OPT_UTC_Z).decode()  # quoted; five times as fast as isoformat
        return text[1:-1] if value.microsecond else f"{text[1:-2]}.000000Z"
    _check_time_zone(value)
    if value.utcoffset() == _NO_OFFSET:
        return value.isoformat(timespec=timespec)[: -len("+00:00")] + "Z"
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


def epoch_units(value: datetime, per_second: int) -> str:
    """Convert a timestamp to the number of whole time units since 1970, as a string.

    `per_second` is the number of units in a second, such as 1000 for milliseconds. Raises ValueError for a timestamp
    without a time zone.
    """
    _check_time_zone(value)
    delta = value - _EPOCH
    microseconds = (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
    return str(microseconds * per_second // 1_000_000)


def timestamp_from_epoch(number: str, per_second: int) -> datetime:
    """Convert a number of time units since 1970 to a timestamp. `per_second` is the number of units in a second."""
    return _EPOCH + timedelta(microseconds=int(Decimal(number) * 1_000_000 / per_second))


def _check_time_zone(value: datetime) -> None:
    if value.tzinfo is None:
        raise ValueError(f"{value.isoformat()} has no time zone: a stored datetime must have one")


def round_down(stored: StoredAs | None, value: datetime) -> datetime:
    """Round a timestamp down to the precision of its storage format."""
    if stored is None:
        return value
    unit_us = 1_000_000 if stored in {"epoch_s", "iso_s"} else 1_000
    return value.replace(microsecond=value.microsecond // unit_us * unit_us)


def round_up(stored: StoredAs, value: Any) -> Any:
    """Round a timestamp up to the precision of its storage format. Return values of other types unchanged."""
    if not isinstance(value, datetime):
        return value
    unit_us = 1_000_000 if stored in {"epoch_s", "iso_s"} else 1_000
    excess_us = value.microsecond % unit_us
    try:
        return value + timedelta(microseconds=unit_us - excess_us) if excess_us else value
    except OverflowError:
        return value  # the last representable unit


Encoder = Callable[[Any], AttributeValue]


def encode_value(value: Any) -> AttributeValue:
    """Encode a Python value as an attribute value. Raises UnstorableTypeError for an unsupported type."""
    encode = _ENCODERS.get(type(value))
    if encode is not None:
        return encode(value)
    return _encode_other(value)


def encoder(annotation: Any, stored: StoredAs | None = None) -> Encoder:
    """Return a function that encodes values of a type or, with `stored`, timestamps in that storage format."""
    if stored is not None:
        return _TIMESTAMP_ENCODERS[stored]
    annotation, _ = without_none(annotation)
    return _encode_text if annotation is str else encode_value


def member_encoder(annotation: Any, parts: Sequence[object], *, rounds_up: bool = False) -> Encoder:
    """Return a function that encodes values at a path inside a field of type `annotation`.

    `parts` are the elements of the path: names and list indexes. With `rounds_up`, timestamps are rounded up to the
    precision of their storage format.
    """
    stored: StoredAs | None = None
    for part in parts:
        annotation, _ = without_none(annotation)
        stored = None
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            info = annotation.model_fields.get(str(plain_value(part)))
            if info is None:
                return encode_value
            stored, annotation = attribute_of(info).stored, info.annotation
        else:
            inner = get_args(annotation)
            annotation = inner[-1] if inner else object
    if stored is None:
        return encode_value
    stored_as, encode = stored, _TIMESTAMP_ENCODERS[stored]

    def encode_member(value: Any) -> AttributeValue:
        if not isinstance(value, datetime):
            return encode_value(value)
        return encode(round_up(stored_as, value) if rounds_up else value)

    return encode_member


def is_stored_as_absent(value: object) -> bool:
    """Return True for None and empty sets, which are stored as absent attributes."""
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
    for name, attribute, encode in _member_encoders(type(model)):
        value = getattr(model, name)
        if not is_stored_as_absent(value):
            encoded[attribute] = encode(value)
    return encoded


@lru_cache(maxsize=4096)
def _member_encoders(model: type[BaseModel]) -> tuple[tuple[str, str, Encoder], ...]:
    """Return a tuple for each field of a nested model: the field's name, its stored name, and its encoder."""
    settings_by_field = {name: attribute_of(info) for name, info in model.model_fields.items()}
    return tuple(
        (name, settings.name or name, encode_value if settings.stored is None else _TIMESTAMP_ENCODERS[settings.stored])
        for name, settings in settings_by_field.items()
    )


def _encode_text(value: Any) -> AttributeValue:
    """Encode a str. Raises UnstorableTypeError for other types instead of converting them with str()."""
    if type(value) is str:
        return {"S": value}
    if not isinstance(value, str):
        raise UnstorableTypeError(f"{value!r} is {type(value).__name__}, but the field is a str")
    return {"S": str.__str__(value)}


def _refuse_unset(value: Any) -> AttributeValue:
    raise UnstorableTypeError(f"{value!r} is not a value: only .patch(...) accepts it")


def encode_set(value: set[Any] | frozenset[Any]) -> AttributeValue:
    """Encode a set. Raises UnstorableTypeError if it is empty or its elements have different types."""
    if _TEXT_ONLY.issuperset(map(type, value)) and value:
        return {"SS": sorted(value)}
    members = [encode_value(member) for member in value]
    if not members:
        raise UnstorableTypeError("an empty set cannot be stored")
    code = next(iter(members[0]))
    if any(code not in member for member in members) or code not in KEY_TYPES:
        raise UnstorableTypeError("a set holds only strings, only numbers or only binary")
    return {code + "S": sorted(member[code] for member in members)}


def _map_key(name: object) -> str:
    """Convert the key of a dict to the key of a DynamoDB map, which must be a string."""
    if isinstance(name, Enum):
        return _map_key(name.value)
    return timestamp_text(name) if isinstance(name, datetime) else str(name)


def number_text(value: float | Decimal) -> str:
    """Convert a number to the string that represents it in an attribute value. Raises ValueError for nan and inf.

    A Decimal keeps its digits, and a float uses its shortest representation.
    """
    if not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
        raise ValueError(f"{value} cannot be stored: a Number is finite")
    if not isinstance(value, Decimal):
        return repr(value)
    text = str(value)
    return format(value, "f") if "E" in text else text


_TIMESTAMP_ENCODERS: dict[StoredAs, Encoder] = {
    "epoch_s": lambda value: {"N": epoch_units(value, 1)},
    "epoch_ms": lambda value: {"N": epoch_units(value, 1000)},
    "iso_s": lambda value: {"S": timestamp_text(value, "seconds")},
    "iso_ms": lambda value: {"S": timestamp_text(value, "milliseconds")},
}

_ENCODERS: dict[type, Encoder] = {
    str: _encode_text,
    bool: lambda value: {"BOOL": value},
    int: lambda value: {"N": str(int(value))},
    float: lambda value: {"N": number_text(value)},
    Decimal: lambda value: {"N": number_text(value)},
    bytes: lambda value: {"B": bytes(value)},
    bytearray: lambda value: {"B": bytes(value)},
    UUID: lambda value: {"S": str(value)},
    datetime: lambda value: {"S": timestamp_text(value)},
    date: lambda value: {"S": value.isoformat()},
    time: lambda value: {"S": value.isoformat()},
    timedelta: lambda value: {"N": number_text(Decimal(value // timedelta(microseconds=1)) / 1_000_000)},
    type(None): lambda _value: {"NULL": True},
    Unset: _refuse_unset,
    list: lambda value: {"L": [encode_value(member) for member in value]},
    tuple: lambda value: {"L": [encode_value(member) for member in value]},
    dict: lambda value: {"M": {_map_key(name): encode_value(member) for name, member in value.items()}},
    set: encode_set,
    frozenset: encode_set,
}


Decoder = Callable[[AttributeValue], Any]


def decode_value(value: AttributeValue) -> Any:
    """Convert an attribute value to a Python value: str, int, Decimal, bytes, bool, None, list, dict or set."""
    ((code, content),) = value.items()
    return PLAIN_DECODERS[code](content)


def _decode_number(text: str) -> int | Decimal:
    return int(text) if text.isdigit() or text.lstrip("-").isdigit() else Decimal(text)


PLAIN_DECODERS: dict[str, Callable[[Any], Any]] = {
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
"""Maps each DynamoDB type to the function that decodes the content of an attribute value."""


def decoder(annotation: Any, stored: StoredAs | None = None) -> Decoder:
    """Return a function that decodes the stored values of a type. The decoded values must still be validated with
    pydantic.
    """
    if stored is not None:
        return _TIMESTAMP_DECODERS[stored]
    annotation, _ = without_none(annotation)
    return _nested_decoder(annotation) or decode_value


def _decode_timestamp(value: AttributeValue, per_second: int) -> Any:
    return timestamp_from_epoch(value["N"], per_second) if "N" in value else decode_value(value)


_TIMESTAMP_DECODERS: dict[StoredAs, Decoder] = {
    "epoch_s": lambda value: _decode_timestamp(value, 1),
    "epoch_ms": lambda value: _decode_timestamp(value, 1000),
    "iso_s": decode_value,
    "iso_ms": decode_value,
}


def _nested_decoder(annotation: Any) -> Decoder | None:
    """Return a decoder for a type that contains models, because their fields can have different stored names.

    Return None for any other type.
    """
    origin, inner = get_origin(annotation) or annotation, get_args(annotation)
    if not isinstance(origin, type):
        return None
    if issubclass(origin, BaseModel):
        check_aliases(origin)
        for info in origin.model_fields.values():
            check_attribute(attribute_of(info), without_none(info.annotation)[0])
            check_decoding_types(info.annotation, info.metadata)
            check_round_trip(info.annotation)
        return lambda value: _decode_model(origin, value)
    if issubclass(origin, tuple) and inner and inner[-1] is not Ellipsis:
        return _tuple_decoder([decoder(part) for part in inner])
    if issubclass(origin, (list, tuple)) and inner:
        member = _nested_decoder(without_none(inner[0])[0])
        return None if member is None else _list_decoder(member)
    if issubclass(origin, Mapping) and len(inner) == 2:
        member = _nested_decoder(without_none(inner[1])[0])
        return None if member is None else _map_decoder(member)
    return None


def _list_decoder(member: Decoder) -> Decoder:
    return lambda value: [member(part) for part in value["L"]] if "L" in value else decode_value(value)


def _map_decoder(member: Decoder) -> Decoder:
    def decode(value: AttributeValue) -> Any:
        if "M" not in value:
            return decode_value(value)
        return {name: member(part) for name, part in value["M"].items()}

    return decode


def _tuple_decoder(decoders: Sequence[Decoder]) -> Decoder:
    def decode(value: AttributeValue) -> Any:
        if "L" not in value or len(value["L"]) != len(decoders):
            return decode_value(value)
        return [decoder(part) for decoder, part in zip(decoders, value["L"], strict=True)]

    return decode


def _decode_model(model: type[BaseModel], value: AttributeValue) -> Any:
    if "M" not in value:
        return decode_value(value)
    decoded: dict[str, Any] = {}
    for name, attribute, decode, make_default in _member_decoders(model):
        part = value["M"].get(attribute)
        if part is not None:
            decoded[name] = decode(part)
        elif make_default is not None:
            decoded[name] = make_default()
    return decoded


@lru_cache(maxsize=4096)
def _member_decoders(model: type[BaseModel]) -> tuple[tuple[str, str, Decoder, Callable[[], Any] | None], ...]:
    """Return a tuple for each field of a nested model: the field's name, its stored name, its decoder, and a default
    factory.

    The default factory creates the value of a required field whose attribute is absent. It is None if the field does
    not have one.
    """
    members = []
    for name, info in model.model_fields.items():
        settings = attribute_of(info)
        make_default = _absent_default(info.annotation) if info.is_required() else None
        members.append((name, settings.name or name, decoder(info.annotation, settings.stored), make_default))
    return tuple(members)


def _absent_default(annotation: Any) -> Callable[[], Any] | None:
    """Return a function that creates the value of a field whose attribute is absent: None, or an empty set.

    Return None if the type allows neither None nor an empty set.
    """
    if without_none(annotation)[1]:
        return lambda: None
    return set if is_set_type(annotation) else None


@dataclass(frozen=True, eq=False)
class StoredField:
    """A field of an entity, with its storage format."""

    name: str
    attribute: str
    type_code: TypeCode
    optional: bool
    """Whether the field may be None. None is stored as an absent attribute."""
    annotation: Any
    info: FieldInfo
    encode: Callable[[Any], AttributeValue]
    decode: Callable[[AttributeValue], Any]
    stored: StoredAs | None = None
    write_time: WriteEvent | None = None
    """The event whose time the field stores, or None if it does not store a write time."""

    def __repr__(self) -> str:
        return f"<StoredField {self.name}: {self.type_code} {self.attribute}>"

    @cached_property
    def declared(self) -> DeclaredField:
        """The declared type of the field, with its choices and constraints, for use in key templates."""
        return DeclaredField.from_annotation(self.name, self.info.annotation, self.info)

    def encode_rounded_up(self, value: Any) -> AttributeValue:
        """Encode a value. A timestamp is rounded up to the precision of its storage format."""
        return self.encode(value if self.stored is None else round_up(self.stored, value))

    @property
    def is_needed(self) -> bool:
        """Whether every item must have the attribute, because the field has no default and cannot be None or an empty
        set.
        """
        return self.info.is_required() and not self.optional and not self.is_set

    @property
    def is_set(self) -> bool:
        """Whether the field is a set. An empty set is stored as an absent attribute."""
        return self.type_code in {"SS", "NS", "BS"}


def stored_field(name: str, info: FieldInfo, *, ttl: str | None = None) -> StoredField:
    """Return the StoredField for a field of a pydantic model. `ttl` is the name of the table's TTL
    attribute, if any.
    """
    settings = attribute_of(info)
    attribute = settings.name or name
    annotation, optional = without_none(info.annotation)
    check_attribute(settings, annotation)
    if optional and not info.is_required() and info.default_factory is None and info.default is not None:
        raise UnstorableTypeError(
            f"it may be None, but None is stored as an absent attribute, which is read as the default {info.default!r}",
            "declare the default None, or remove None from its type",
        )
    optional = optional or annotation in {Any, object}
    stored = settings.stored
    if stored is None and attribute == ttl and annotation is datetime:
        stored = "epoch_s"
    check_decoding_types(info.annotation, info.metadata)
    code = type_code(annotation, stored)
    check_union_attributes(annotation)
    check_round_trip(annotation)
    encode, decode = encoder(annotation, stored), decoder(annotation, stored)
    write_time = write_time_of(info, annotation)
    if write_time is not None:
        # The default applies only to unwritten items, because every stored item has the attribute.
        info = copy(info)
        info.default = PydanticUndefined
    return StoredField(name, attribute, code, optional, annotation, info, encode, decode, stored, write_time)


def plain_decoder(field: StoredField) -> Callable[[Any], Any] | None:
    """Return a fast decoder for the content of the field's attribute type, or None if `field.decode` must be used.

    `field.decode` also decodes other attribute types, whose values pydantic then validates.
    """
    return PLAIN_DECODERS.get(field.type_code) if field.decode is decode_value else None


@lru_cache(maxsize=4096)
@lru_cache(maxsize=1024)
def validator(field: StoredField) -> Callable[[Any], Any]:
    """Return a function that validates a value as the field's model would. The returned function raises ValueError for
    an invalid value.
    """
    return _validator(field.name, annotation_with_limits(field.info))


def amount_validator(field: StoredField) -> Callable[[Any], Any]:
    """Return a function that validates the type of an amount to add to a field. The function ignores the field's
    constraints, such as a minimum.
    """
    return validator(field) if field.stored is not None else _validator(field.name, field.annotation)


def _validator(name: str, annotation: Any) -> Callable[[Any], Any]:
    validate = TypeAdapter(annotation).validate_python

    def check(value: Any) -> Any:
        try:
            return validate(value)
        except ValidationError as error:
            problems = "; ".join(problem["msg"] for problem in error.errors())
            raise ValueError(f"{name}={value!r} is not valid: {problems}") from None

    return check
