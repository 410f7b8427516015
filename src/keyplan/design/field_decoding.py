"""Attribute values as plain Python values, of which pydantic makes what a field declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from keyplan.design.field_losses import check_losses, check_marks
from keyplan.design.field_marks import check_aliases, check_mark, mark_of
from keyplan.design.field_moments import from_epoch
from keyplan.design.field_types import AttributeValue, StoredAs, is_set_type, without_none

Decode = Callable[[AttributeValue], Any]


def decode_value(value: AttributeValue) -> Any:
    """The plain Python value of an attribute value: str, int, Decimal, bytes, bool, None, list, dict, set."""
    ((code, content),) = value.items()
    return PLAIN[code](content)


def _decode_number(text: str) -> int | Decimal:
    return int(text) if text.isdigit() or text.lstrip("-").isdigit() else Decimal(text)


PLAIN: dict[str, Callable[[Any], Any]] = {
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
"""What makes a plain value of the content of an attribute of each type."""


def decoder(annotation: Any, stored: StoredAs | None = None) -> Decode:
    """The function that decodes the values of a type, or moments that are stored so, for pydantic to validate."""
    if stored is not None:
        return _MOMENTS[stored]
    annotation, _ = without_none(annotation)
    return _nested_models(annotation) or decode_value


def _moment(value: AttributeValue, per_second: int) -> Any:
    return from_epoch(value["N"], per_second) if "N" in value else decode_value(value)


_MOMENTS: dict[StoredAs, Decode] = {
    "epoch_s": lambda value: _moment(value, 1),
    "epoch_ms": lambda value: _moment(value, 1000),
    "iso_s": decode_value,
    "iso_ms": decode_value,
}


def _nested_models(annotation: Any) -> Decode | None:
    """Models store their fields under their attributes' names; other maps under their own keys."""
    origin, inner = get_origin(annotation) or annotation, get_args(annotation)
    if not isinstance(origin, type):
        return None
    if issubclass(origin, BaseModel):
        check_aliases(origin)
        for info in origin.model_fields.values():
            check_mark(mark_of(info), without_none(info.annotation)[0])
            check_marks(info.annotation, info.metadata)
            check_losses(info.annotation)
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
    for name, attribute, decode, instead in _members_of(model):
        part = value["M"].get(attribute)
        if part is not None:
            decoded[name] = decode(part)
        elif instead is not None:
            decoded[name] = instead()
    return decoded


@lru_cache(maxsize=4096)
def _members_of(model: type[BaseModel]) -> tuple[tuple[str, str, Decode, Callable[[], Any] | None], ...]:
    """Of each field of a model that is stored within an item: its name, its name in the map, its decoder, and what
    makes its value where the map lacks it."""
    members = []
    for name, info in model.model_fields.items():
        mark = mark_of(info)
        instead = _stored_as_nothing(info.annotation) if info.is_required() else None
        members.append((name, mark.name or name, decoder(info.annotation, mark.stored), instead))
    return tuple(members)


def _stored_as_nothing(annotation: Any) -> Callable[[], Any] | None:
    """What makes the value of a required field that is stored as nothing: None, or the empty set."""
    if without_none(annotation)[1]:
        return lambda: None
    return set if is_set_type(annotation) else None
