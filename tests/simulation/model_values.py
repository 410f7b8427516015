"""Attribute values as the model sees them: compared, ordered and measured by its own rules.

Values are in the Python form of requests (binary as bytes). Nothing here comes from keyplan, so that a
mistake there is not repeated here. Source of the sizes: developer guide, "DynamoDB item sizes and formats".
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any

Value = dict[str, Any]
Item = dict[str, Value]

_EXACT = Context(prec=200)


def canon(value: Value) -> Any:
    """Return a hashable form that is equal exactly for values that the service considers equal."""
    ((kind, content),) = value.items()
    if kind == "N":
        return kind, Decimal(content)
    if kind == "NS":
        return kind, frozenset(map(Decimal, content))
    if kind in ("SS", "BS"):
        return kind, frozenset(content)
    if kind == "L":
        return kind, tuple(map(canon, content))
    if kind == "M":
        return kind, canon_item(content)
    return kind, content


def canon_item(item: Item | None) -> Any:
    """Return the hashable form of an item; None stays None."""
    return None if item is None else frozenset((name, canon(value)) for name, value in item.items())


def order(value: Value) -> Any:
    """Return the sort order of a key value: text as UTF-8, numbers by value, binary as unsigned bytes."""
    ((kind, content),) = value.items()
    if kind == "S":
        return content.encode()
    return Decimal(content) if kind == "N" else content


def plus(left: str, right: str, sign: int = 1) -> str:
    """Exact sum (or difference) of two numbers, as a request would say it."""
    total = _EXACT.add(Decimal(left), sign * Decimal(right))
    return format(total, "f")


def digits(text: str) -> int:
    """How many significant digits a number has."""
    return len(Decimal(text).normalize(_EXACT).as_tuple().digits)


def number_bytes(text: str) -> int:
    """One byte, one for each pair of digits around the decimal point, one more below zero."""
    number = Decimal(text)
    if not number:
        return 1
    sign, digits, exponent = number.normalize(_EXACT).as_tuple()
    assert isinstance(exponent, int)
    lead = (len(digits) + exponent) % 2
    pairs = (lead + len(digits) + 1) // 2
    return min(21, 1 + pairs + sign)


def value_bytes(value: Value) -> int:
    """Size of a value without a name."""
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "B":
            return len(content)
        case "N":
            return number_bytes(content)
        case "BOOL" | "NULL":
            return 1
        case "L":
            return 3 + sum(1 + value_bytes(member) for member in content)
        case "M":
            return 3 + sum(1 + len(name.encode()) + value_bytes(member) for name, member in content.items())
        case _:
            return sum(value_bytes({kind[0]: member}) for member in content)


def item_bytes(item: Item) -> int:
    """Size of an item."""
    return sum(len(name.encode()) + value_bytes(value) for name, value in item.items())


def write_units(*sizes: int) -> int:
    """Units of a write whose versions have these sizes: 1 KB each, by the larger one."""
    return max(1, (max(sizes, default=0) + 1023) // 1024)


def read_units(size: int, consistent: bool) -> float:
    """Units of a read of so many bytes: 4 KB each, half for eventual consistency."""
    return max(1, (size + 4095) // 4096) * (1.0 if consistent else 0.5)
