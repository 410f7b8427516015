"""Equality and order of attribute values, as conditions see them.

Values are canonical, so equal numbers are equal texts. Sets are equal whatever the order of their
members. Only S, N and B have an order: strings by their UTF-8 bytes, which is the order of their
code points; binary by unsigned bytes; numbers by value.
"""

from __future__ import annotations

from base64 import b64decode
from decimal import Decimal
from typing import Any

from keyplan.dynamodb.values.types import SET_TYPES, AttributeValue, Item

_SHORT_DIGITS = 18  # integers of up to this many characters are compared without Decimal


def number_key(text: str) -> int | Decimal:
    """A canonical number as something that orders and compares exactly."""
    if len(text) < _SHORT_DIGITS and "." not in text:
        return int(text)
    return Decimal(text)


def order_key(type_code: str, content: Any) -> Any:
    """What to order a value of type S, N or B by, among values of the same type."""
    if type_code == "N":
        return number_key(content)
    if type_code == "B":
        return b64decode(content)
    return content


def compare(left: AttributeValue, right: AttributeValue) -> int:
    """-1, 0 or 1 for two values of the same type S, N or B."""
    ((type_code, content),) = left.items()
    one, other = order_key(type_code, content), order_key(type_code, right[type_code])
    return int(one > other) - int(one < other)


def same(left: AttributeValue, right: AttributeValue) -> bool:
    """Whether two values are equal: same type, same content, sets in any order."""
    if left == right:
        return True
    ((type_code, content),) = left.items()
    other = right.get(type_code)
    if other is None:
        return False
    if type_code in SET_TYPES:
        return len(content) == len(other) and set(content) == set(other)
    # Lists and maps may hold sets that are written in another order.
    if type_code == "L":
        return len(content) == len(other) and all(map(same, content, other))
    if type_code == "M":
        return same_members(content, other)
    return False


def same_members(left: Item, right: Item) -> bool:
    """Whether two items, or the contents of two maps, are equal."""
    return left.keys() == right.keys() and all(same(value, right[name]) for name, value in left.items())
