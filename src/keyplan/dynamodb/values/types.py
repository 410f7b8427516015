"""Types of canonical values, with their equality and order.

A canonical value is a value in JSON wire form, with binary values as canonical base64 text.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from keyplan.errors import ValidationError

AttributeValue: TypeAlias = dict[str, Any]
"""An attribute value: a dict with exactly one member, such as {"S": "a"} or {"N": "1"}."""

Item: TypeAlias = dict[str, AttributeValue]
"""An item or the content of a map: a dict from names to attribute values."""

Values: TypeAlias = Mapping[str, AttributeValue]
"""Maps the value placeholders of a request, such as ":v", to attribute values."""

TYPES = frozenset(("S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "L", "M"))
"""The type codes of all attribute values."""

ORDERED_TYPES = frozenset("SNB")
"""The type codes of values that have an order. Only such values can be keys and elements of sets."""

SET_TYPES = frozenset(("SS", "NS", "BS"))


def type_of(value: AttributeValue) -> str:
    """Return the type code of a canonical value."""
    return next(iter(value))


class InvalidValueError(ValidationError):
    """Raised for an invalid number or set. `older` is the message of DynamoDB's older validation layer, if it differs.

    BatchWriteItem and Scan validate values in this older layer, some of whose messages differ. DynamoDB is moving
    transactions from one layer to the other (observed in DynamoDB, October 2026).
    """

    def __init__(self, message: str, older: str | None = None) -> None:
        super().__init__(message)
        self.older = message if older is None else older


def sorted_members(kind: str, members: list[str]) -> list[str]:
    """Return the canonical elements of a set in the order in which DynamoDB returns them. `kind` is the set type: SS,
    NS or BS.

    Strings and binary values are sorted by bytes, and numbers by value (observed in DynamoDB, October 2026).
    """
    if len(members) == 1:
        return members
    if kind == "SS":
        return sorted(members)  # code points sort like their UTF-8 bytes
    return sorted(members, key=Decimal if kind == "NS" else b64decode)


def members_in_message_order(kind: str, members: Sequence[str]) -> list[str]:
    """Return the elements of a set with duplicates in the order in which DynamoDB's error message lists them.

    The elements before the first duplicate are sorted, and the remaining elements are in the order of the request.
    """
    first_duplicate = next(position for position, member in enumerate(members) if member in members[:position])
    return [*sorted_members(kind, list(members[:first_duplicate])), *members[first_duplicate:]]


_SHORT_DIGITS = 18  # integers of up to this many characters are compared without Decimal


def comparable_number(text: str) -> int | Decimal:
    """Return a canonical number as an int or Decimal, so that comparisons are exact."""
    if len(text) < _SHORT_DIGITS and "." not in text:
        return int(text)
    return Decimal(text)


def order_key(type_code: str, content: Any) -> Any:
    """Return a sort key for a value of type S, N or B. For values of the same type, the sort keys have the same order
    as the values.

    Strings sort by code points, which is the order of their UTF-8 bytes. Binary values sort by unsigned bytes, and
    numbers by value.
    """
    if type_code == "N":
        return comparable_number(content)
    if type_code == "B":
        return b64decode(content)
    return content


def compare(left: AttributeValue, right: AttributeValue) -> int:
    """Compare two values of the same type, which must be S, N or B. Return -1 if `left` sorts before `right`, 0 if they
    are equal, and 1 otherwise.
    """
    ((type_code, content),) = left.items()
    first, second = order_key(type_code, content), order_key(type_code, right[type_code])
    return int(first > second) - int(first < second)


def equal_values(left: AttributeValue, right: AttributeValue) -> bool:
    """Return True if two canonical values have the same type and content. The order of set elements is ignored."""
    if left == right:
        return True
    ((type_code, content),) = left.items()
    other = right.get(type_code)
    if other is None:
        return False
    if type_code in SET_TYPES:
        return len(content) == len(other) and set(content) == set(other)
    # Lists and maps may contain sets in another order.
    if type_code == "L":
        return len(content) == len(other) and all(map(equal_values, content, other))
    if type_code == "M":
        return equal_items(content, other)
    return False


def equal_items(left: Item, right: Item) -> bool:
    """Return True if two items, or the contents of two maps, have the same attributes with the same values."""
    return left.keys() == right.keys() and all(equal_values(value, right[name]) for name, value in left.items())
