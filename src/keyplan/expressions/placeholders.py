"""Placeholders taken while expressions are built, and the values behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias

from keyplan.expressions import nodes

Plain: TypeAlias = (
    str | int | Decimal | bytes | bool | Sequence[Any] | Mapping[str, Any] | frozenset[Any] | set[Any] | None
)
"""A Python value that stands for an attribute value."""


@dataclass(frozen=True, slots=True)
class Built:
    """An expression as a request takes it. Maps that would be empty must be left out of it."""

    expression: str
    names: dict[str, str]
    values: dict[str, dict[str, Any]]


@dataclass(slots=True)
class Placeholders:
    """The placeholders of one request; give the same one to every expression of it."""

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    _by_name: dict[str, str] = field(default_factory=dict)

    def path(self, parts: tuple[str | int, ...]) -> nodes.Path:
        """The path with a placeholder for every name."""
        return nodes.Path(tuple(part if isinstance(part, int) else self._name(part) for part in parts))

    def _name(self, name: str) -> str:
        placeholder = self._by_name.setdefault(name, f"#n{len(self._by_name)}")
        self.names[placeholder] = name
        return placeholder

    def value(self, value: Plain) -> nodes.Value:
        """A new placeholder for the value."""
        return self.bind(attribute_value(value))

    def bind(self, value: dict[str, Any]) -> nodes.Value:
        """A new placeholder for an attribute value."""
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return nodes.Value(placeholder)


def attribute_value(value: Any) -> dict[str, Any]:
    """The attribute value that a Python value stands for, as boto3 makes it.

    str gives S, int and Decimal N, bytes B, bool BOOL, None NULL, a list L, a dict M, and a set SS,
    NS or BS by its members. Raises TypeError where there is none, such as for float.
    """
    match value:
        case bool():
            return {"BOOL": value}
        case None:
            return {"NULL": True}
        case str():
            return {"S": value}
        case int() | Decimal():
            return {"N": str(value)}
        case bytes() | bytearray():
            return {"B": bytes(value)}
        case set() | frozenset():
            return _set_value(value)
        case Mapping():
            return {"M": {name: attribute_value(member) for name, member in value.items()}}
        case Sequence():
            return {"L": [attribute_value(element) for element in value]}
    raise TypeError(f"no attribute value can hold a {type(value).__name__}: {value!r}")


def _set_value(members: set[Any] | frozenset[Any]) -> dict[str, Any]:
    converted = [attribute_value(member) for member in members]
    types = {next(iter(member)) for member in converted}
    if len(types) != 1 or not types <= set("SNB"):
        raise TypeError(f"a set holds one or more members of one type, S, N or B: {members!r}")
    (type_code,) = types
    return {f"{type_code}S": sorted(member[type_code] for member in converted)}
