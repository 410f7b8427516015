"""Decoders and encoders of whole items, generated for the fields of one entity.

A loop over fields costs more than the conversion of most values. These functions are straight-line code: an item whose
attributes have their declared types is decoded with one lookup for each field. Items of other forms raise, and are
decoded field by field (`keyplan.client.codec`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, get_args, get_origin

from keyplan.design.fields.annotations import AttributeValue
from keyplan.design.fields.stored import StoredField, encode_value, plain_decoder

ItemDecoder = Callable[[Mapping[str, Any]], dict[str, Any]]
ItemEncoder = Callable[[Mapping[str, Any]], dict[str, AttributeValue]]
IRREGULAR = (KeyError, TypeError, ValueError, ArithmeticError, AttributeError)
"""The exceptions of a decoder for an item that it does not decode."""


def item_decoder(fields: Sequence[StoredField]) -> ItemDecoder:
    """Return a function from an item to the values of these fields; absent fields are left out.

    The function raises one of IRREGULAR for an item without a needed attribute, or with one of another type.
    """
    scope: dict[str, Any] = {"Decimal": Decimal}
    needed, rest = [], []
    for place, field in enumerate(fields):
        scope[f"decode{place}"] = plain_decoder(field) or field.decode
        if field.is_needed:
            needed.append(f"{field.name!r}: {_decoded(field, place, f'item[{field.attribute!r}]')}")
        else:
            rest.append(f"    stored = get({field.attribute!r})")
            rest.append(f"    if stored is not None: values[{field.name!r}] = {_decoded(field, place, 'stored')}")
    lines = [f"    values = {{{', '.join(needed)}}}", "    get = item.get", *rest, "    return values"]
    decode: ItemDecoder = _made("def made(item):", lines, scope)
    return decode


def _decoded(field: StoredField, place: int, stored: str) -> str:
    """Return the expression that decodes a field."""
    if plain_decoder(field) is None:
        return f"decode{place}({stored})"
    content = f"{stored}[{field.type_code!r}]"
    if field.type_code in {"S", "BOOL"}:
        return content
    if field.type_code == "N" and field.annotation in {int, Decimal}:
        return f"{field.annotation.__name__}({content})"
    if field.type_code == "L" and _is_list_of_text(field):
        return f"[member['S'] for member in {content}]"
    return f"decode{place}({content})"


def _is_list_of_text(field: StoredField) -> bool:
    return get_origin(field.annotation) is list and get_args(field.annotation) == (str,)


def item_encoder(fields: Sequence[StoredField]) -> ItemEncoder:
    """Return a function from values by field name to the attributes of an item; None and empty sets are left out."""
    scope: dict[str, Any] = {"encode_value": encode_value}
    lines = ["    item = {}"]
    for place, field in enumerate(fields):
        scope[f"encode{place}"] = field.encode
        lines.append(f"    value = values[{field.name!r}]")
        member = "[{'S': one} if one.__class__ is str else encode_value(one) for one in value]"
        simple = {
            "S": ("str", "{'S': value}") if field.annotation is str else None,
            "N": ("int", "{'N': str(value)}") if field.annotation is int else None,
            "BOOL": ("bool", "{'BOOL': value}") if field.annotation is bool else None,
            "L": ("list", f"{{'L': {member}}}") if _is_list_of_text(field) else None,
        }.get(field.type_code)
        if simple is not None:
            lines.append(f"    if value.__class__ is {simple[0]}: item[{field.attribute!r}] = {simple[1]}")
        condition = "value is not None and not ((value.__class__ is set or value.__class__ is frozenset) and not value)"
        lines.append(f"    {'elif' if simple else 'if'} {condition}: item[{field.attribute!r}] = encode{place}(value)")
    encode: ItemEncoder = _made("def made(values):", [*lines, "    return item"], scope)
    return encode


def _made(head: str, lines: Sequence[str], scope: dict[str, Any]) -> Any:
    exec("\n".join([head, *lines]), scope)  # noqa: S102 - the source has names and types of declared fields only
    return scope["made"]
