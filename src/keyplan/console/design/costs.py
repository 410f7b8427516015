"""Monthly cost of a design, as declared or with a different load and different numbers and sizes of items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from keyplan.cost.estimate import Estimate, Load, PatternCost, estimate
from keyplan.cost.prices import PriceBook
from keyplan.cost.sizes import Growth
from keyplan.design.declaring.design import Design

FACTORS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Factors that a user can choose. Factor 1 stands for the declared values."""
_CURVE: Final = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
BARS: Final = 12
"""Number of patterns that have their own bar."""


@dataclass(frozen=True)
class WhatIf:
    """Factors by which the declared load, numbers and sizes are multiplied."""

    load: float = 1.0
    items: float = 1.0
    size: float = 1.0

    @classmethod
    def read(cls, query: Mapping[str, str]) -> WhatIf:
        """Return the factors in a query string. A factor that is not offered counts as 1."""
        return cls(*(_factor(query.get(name, "")) for name in ("load", "items", "size")))

    def as_load(self, load: float | None = None) -> Load:
        """Return the changes to the declared load. `load` replaces the factor of the rates."""
        return Load(self.load if load is None else load, growth=Growth(self.items, self.size))

    @property
    def is_declared(self) -> bool:
        """Return True if nothing differs from the declarations."""
        return self == WhatIf()


def _factor(text: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        return 1.0
    return factor if factor in FACTORS else 1.0


@dataclass(frozen=True)
class Costs:
    """Monthly costs, as the pages show them."""

    what_if: WhatIf
    month: Estimate
    declared: Estimate
    curve: tuple[tuple[float, float, float], ...]
    """Points of the cost curve: the load factor, the total cost, and the cost of requests."""

    @property
    def by_pattern(self) -> list[PatternCost]:
        """Return the patterns, the most expensive first."""
        return sorted(self.month.patterns, key=lambda cost: -cost.requests)

    @property
    def bars(self) -> list[tuple[str, float]]:
        """Return the most expensive patterns, and the sum of all others."""
        costs = [cost for cost in self.by_pattern if cost.requests > 0]
        shown = [(cost.name, cost.requests) for cost in costs[:BARS]]
        rest = sum(cost.requests for cost in costs[BARS:])
        return [*shown, (f"{len(costs) - BARS} others", rest)] if rest else shown

    @property
    def parts(self) -> list[tuple[str, float]]:
        """Return the monthly cost by table and index: requests or capacity, and storage."""
        return [
            (part.name, (part.on_demand if table.billing == "on demand" else part.provisioned) + part.storage)
            for table in self.month.tables
            for part in table.parts
        ]


def costs(design: Design, book: PriceBook, what_if: WhatIf) -> Costs:
    """Return the costs of a design under these factors."""
    month = estimate(design, book, what_if.as_load())
    curve = []
    for factor in _CURVE:
        found = estimate(design, book, what_if.as_load(factor))
        curve.append((factor, found.total, sum(table.requests for table in found.tables)))
    declared = month if what_if.is_declared else estimate(design, book)
    return Costs(what_if, month, declared, tuple(curve))


def money(value: float) -> str:
    """Return an amount in dollars, with cents or, for a small amount, with its first significant digits."""
    if value == 0 or abs(value) >= 0.01:
        return f"${value:,.2f}"
    return f"${value:.2g}" if abs(value) >= 1e-4 else f"${value:.1e}"
