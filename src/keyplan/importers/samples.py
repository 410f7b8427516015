"""Which Python type an attribute's values have: by its declared type, and by the values of sample items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

_PLAIN = {
    "S": "str",
    "B": "bytes",
    "BOOL": "bool",
    "M": "dict[str, Any]",
    "L": "list[Any]",
    "SS": "set[str]",
    "BS": "set[bytes]",
}
ANY = "Any"


_SETS = ("SS", "NS", "BS")


def is_item(value: object) -> bool:
    """Whether a value has the form of an item: each attribute a type with its content."""
    return isinstance(value, Mapping) and all(map(_is_value, value.values()))


def _is_value(value: object) -> bool:
    if not (isinstance(value, Mapping) and len(value) == 1):
        return False
    ((code, content),) = value.items()
    return code not in _SETS or isinstance(content, list)


def python_type(code: str | None, values: Iterable[Mapping[str, Any]]) -> str:
    """The annotation for an attribute of a type (None where it is not said) with such values.

    Of numbers without values Decimal, which reads them all.
    """
    contents = [next(iter(value.items())) for value in values if "NULL" not in value]
    codes = {name for name, _ in contents} or ({code} if code else set())
    if len(codes) != 1:
        return ANY
    (found,) = codes
    if found == "N":
        return _number([content for _, content in contents])
    if found == "NS":
        return f"set[{_number([one for _, content in contents for one in content])}]"
    return _PLAIN.get(found, ANY)


def _number(contents: list[Any]) -> str:
    return "int" if contents and all(map(_is_whole, contents)) else "Decimal"


def _is_whole(content: object) -> bool:
    try:
        number = Decimal(str(content))
    except InvalidOperation:
        return False
    return number.is_finite() and number == number.to_integral_value()
