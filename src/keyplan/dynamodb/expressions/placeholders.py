"""Placeholders taken while expressions are built, and the values behind them."""

from __future__ import annotations

from dataclasses import dataclass, field

from keyplan.dynamodb.expressions import nodes
from keyplan.dynamodb.values.types import AttributeValue, Item


@dataclass(slots=True)
class Placeholders:
    """The placeholders of one request; give the same one to every expression of it."""

    names: dict[str, str] = field(default_factory=dict)
    values: Item = field(default_factory=dict)
    _by_name: dict[str, str] = field(default_factory=dict)

    def path(self, parts: tuple[str | int, ...]) -> nodes.Path:
        """The path with a placeholder for every name."""
        return nodes.Path(tuple(part if isinstance(part, int) else self._name(part) for part in parts))

    def _name(self, name: str) -> str:
        placeholder = self._by_name.setdefault(name, f"#n{len(self._by_name)}")
        self.names[placeholder] = name
        return placeholder

    def bind(self, value: AttributeValue) -> nodes.Value:
        """A new placeholder for an attribute value."""
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return nodes.Value(placeholder)
