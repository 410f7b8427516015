"""The types of the internal form: the wire's own JSON, binary as canonical base64 text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

AttributeValue: TypeAlias = dict[str, Any]
"""One attribute value with exactly one member, such as {"S": "a"} or {"N": "1"}."""

Item: TypeAlias = dict[str, AttributeValue]
"""Attribute names to values."""

Values: TypeAlias = Mapping[str, AttributeValue]
"""Placeholders such as ":v" to values."""

TYPES = frozenset(("S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "L", "M"))
"""The type codes of all values."""

ORDERED_TYPES = frozenset("SNB")
"""Those that have an order, and can be keys and members of sets."""

SET_TYPES = frozenset(("SS", "NS", "BS"))


def type_of(value: AttributeValue) -> str:
    """The type code of a canonical value."""
    return next(iter(value))
