"""Sizes as the service counts them, in bytes.

An item's size is the UTF-8 length of its attribute names plus its values: text and binary by length,
a number about one byte for two significant digits plus one, null and boolean 1, a list or map 3 bytes
plus 1 for each element in addition to the elements themselves.

Source: developer guide, "DynamoDB item sizes and formats".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from keyplan.dynamodb.values.keybytes import number_key
from keyplan.dynamodb.values.types import AttributeValue, Item

DOCUMENT_BYTES = 3
ELEMENT_BYTES = 1


def item_bytes(item: Item) -> int:
    """Return the size of a canonical item."""
    total = 0
    for name, value in item.items():
        total += text_bytes(name) + value_bytes(value)
    return total


def changed_item_bytes(old: Item, old_bytes: int, new: Item, names: Iterable[str]) -> int:
    """Return the size of a canonical item from the size of an old one that differs at most in these attributes."""
    total = old_bytes
    for name in names:
        before, after = old.get(name), new.get(name)
        if before is not None:
            total -= value_bytes(before)
        if after is not None:
            total += value_bytes(after)
        if before is None and after is not None:
            total += text_bytes(name)
        elif after is None and before is not None:
            total -= text_bytes(name)
    return total


def value_bytes(value: AttributeValue) -> int:
    """Return the size of a canonical value, without its name."""
    ((kind, content),) = value.items()
    if kind == "S":
        return text_bytes(content)
    if kind == "N":
        return number_bytes(content)
    if kind in ("BOOL", "NULL"):
        return 1
    return _compound_bytes(kind, content)


def _compound_bytes(kind: str, content: Any) -> int:
    if kind == "B":
        return binary_bytes(content)
    if kind == "L":
        return DOCUMENT_BYTES + sum(ELEMENT_BYTES + value_bytes(member) for member in content)
    if kind == "M":
        return DOCUMENT_BYTES + sum(
            ELEMENT_BYTES + text_bytes(name) + value_bytes(member) for name, member in content.items()
        )
    measure = {"SS": text_bytes, "NS": number_bytes, "BS": binary_bytes}[kind]
    return sum(map(measure, content))


def text_bytes(text: str) -> int:
    """Return the UTF-8 length of a text. Raises TypeError for bytes."""
    return len(text) if str.isascii(text) else len(text.encode())


def binary_bytes(encoded: str) -> int:
    """Return the number of bytes that a canonical base64 text encodes."""
    return len(encoded) // 4 * 3 - encoded.count("=", -2)


def number_bytes(text: str) -> int:
    """Return the size of a canonical number: an exponent byte, one byte per two digits, one more if negative."""
    if text.isdigit():
        if text == "0":
            return 1
        return 1 + (len(text.rstrip("0")) + (len(text) & 1) + 1) // 2
    whole, point, fraction = text.partition(".")
    if point and whole.isdigit() and whole != "0":
        return 1 + (len(whole) + len(fraction) + (len(whole) & 1) + 1) // 2
    return len(number_key(text))
