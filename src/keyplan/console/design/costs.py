"""The monthly cost of a design at the declared load, or with other rates, item counts and item sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from keyplan.cost.estimate import SECONDS_PER_MONTH, Estimate, Load, PatternCost, estimate
from keyplan.cost.prices import PriceBook
from keyplan.cost.sizes import Growth
from keyplan.design.declaring.design import Design
from keyplan.design.workload import Rate

FACTORS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""The factors that a user can multiply a declared value by. The factor 1 leaves the value unchanged."""
_CURVE: Final = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
_PATTERN_FACTORS: Final = (0.0, *FACTORS)
_PATTERN_RATES: Final = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
"""The rates, in calls per second, that a user can choose for a pattern without a declared rate."""
_PREFIX: Final = "rate."
_UNITS: Final = (("s", 1), ("minute", 60), ("hour", 3600), ("day", 86_400), ("month", SECONDS_PER_MONTH))
_ROUNDING: Final = 1e-9
"""Amounts below this number of dollars are rounding errors, and are shown as $0.00."""
BARS: Final = 12
"""The maximum number of patterns that have a separate bar in the cost chart."""


@dataclass(frozen=True)
class WhatIf:
    """A user's choices: factors for the declared load, item counts and item sizes, and rates of individual patterns."""

    load: float = 1.0
    items: float = 1.0
    size: float = 1.0
    rates: tuple[tuple[str, float], ...] = ()
    """The name of each pattern whose rate is changed, and a number for the new rate.

    The number is a factor for the declared rate. For a pattern without a declared rate, it is the number of calls per
    second.
    """

    @classmethod
    def from_query(cls, query: Mapping[str, str], design: Design) -> WhatIf:
        """Return the factors and rates in a query string.

        A value that the form does not offer is ignored, and the declared value is used.
        """
        load, items, size = (_parse_choice(query.get(name, ""), FACTORS) for name in ("load", "items", "size"))
        rates = []
        for pattern in design.patterns:
            offered = _PATTERN_RATES if pattern.facts.rate is None else _PATTERN_FACTORS
            value = _parse_choice(query.get(_PREFIX + pattern.name, ""), offered, math.nan)
            if not math.isnan(value):
                rates.append((pattern.name, value))
        return cls(load, items, size, tuple(rates))

    def as_load(self, design: Design, load: float | None = None) -> Load:
        """Return these choices as a Load, for use in estimates. If `load` is given, it replaces the chosen factor for
        all rates.
        """
        scale = self.load if load is None else load
        declared = {pattern.name: pattern.facts.rate or Rate(1.0) for pattern in design.patterns}
        rates = {name: declared[name].scaled(value * scale) for name, value in self.rates}
        return Load(scale, rates, Growth(self.items, self.size))

    @property
    def is_declared(self) -> bool:
        """Return True if all rates, item counts and item sizes have their declared values."""
        return self == WhatIf()


def _parse_choice(text: str, offered: Sequence[float], default: float = 1.0) -> float:
    try:
        value = float(text)
    except ValueError:
        return default
    return value if value in offered else default


@dataclass(frozen=True)
class RateChoice:
    """A form field for choosing the rate of a pattern."""

    name: str
    field: str
    value: str
    """The value of the selected option. An empty string stands for the declared rate."""
    options: tuple[tuple[str, str], ...]
    """The value and the text of each option for the rate."""
    cost: float
    """The monthly price of the pattern's requests at the chosen rate, in dollars."""
    share: float
    """The pattern's share of the total price of requests, between 0 and 1."""


@dataclass(frozen=True)
class Costs:
    """The monthly costs of a design, both with the values that a user chose and with the declared values."""

    what_if: WhatIf
    month: Estimate
    declared: Estimate
    curve: tuple[tuple[float, float, float], ...]
    """The points of the cost curve. Each consists of the load factor, the total cost, and the cost of requests."""
    unrated: frozenset[str] = frozenset()
    """The names of the patterns that declare no rate."""

    @property
    def by_pattern(self) -> list[PatternCost]:
        """Return the cost of each pattern, the most expensive first."""
        return sorted(self.month.patterns, key=lambda cost: -cost.requests)

    @property
    def rates(self) -> list[RateChoice]:
        """Return the form field for the rate of each pattern.

        The patterns are sorted by their cost at the declared rates, the most expensive first.
        """
        total = sum(cost.requests for cost in self.month.patterns) or 1.0
        prices = {cost.name: cost.requests for cost in self.month.patterns}
        chosen_rates = dict(self.what_if.rates)
        return [
            RateChoice(
                cost.name,
                _PREFIX + cost.name,
                f"{chosen_rates[cost.name]:g}" if cost.name in chosen_rates else "",
                tuple(_unrated_options() if cost.name in self.unrated else _options(cost.calls / SECONDS_PER_MONTH)),
                prices[cost.name],
                prices[cost.name] / total,
            )
            for cost in sorted(self.declared.patterns, key=lambda cost: -cost.requests)
        ]

    @property
    def bars(self) -> list[tuple[str, float]]:
        """Return the label and the cost of each bar in the cost chart: the most expensive patterns, and the sum of all
        others.
        """
        costs = [cost for cost in self.by_pattern if cost.requests > 0]
        bars = [(cost.name, cost.requests) for cost in costs[:BARS]]
        other_costs = sum(cost.requests for cost in costs[BARS:])
        return [*bars, (f"{len(costs) - BARS} others", other_costs)] if other_costs else bars

    @property
    def parts(self) -> list[tuple[str, float]]:
        """Return the name and the monthly cost of each table and index.

        The cost is the price of requests or of provisioned capacity, plus the price of storage.
        """
        return [
            (part.name, (part.on_demand if table.billing == "on demand" else part.provisioned) + part.storage)
            for table in self.month.tables
            for part in table.parts
        ]


def costs(design: Design, book: PriceBook, what_if: WhatIf) -> Costs:
    """Return the monthly costs of a design with the factors and rates in `what_if`, at the prices in `book`."""
    month = estimate(design, book, what_if.as_load(design))
    curve = []
    for factor in _CURVE:
        estimated = estimate(design, book, what_if.as_load(design, factor))
        curve.append((factor, estimated.total, sum(table.requests for table in estimated.tables)))
    declared = month if what_if.is_declared else estimate(design, book)
    unrated = frozenset(pattern.name for pattern in design.patterns if pattern.facts.rate is None)
    return Costs(what_if, month, declared, tuple(curve), unrated)


def _unrated_options() -> Iterator[tuple[str, str]]:
    """Yield the value and the text of each rate that a user can choose for a pattern without a declared rate."""
    yield "", "no calls"
    yield from ((f"{rate:g}", rate_text(rate)) for rate in _PATTERN_RATES)


def _options(declared: float) -> Iterator[tuple[str, str]]:
    """Yield the value and the text of each factor that a user can choose for the declared rate `declared`."""
    for factor in _PATTERN_FACTORS:
        text = "as declared" if factor == 1 else f"{factor:g} \u00d7"
        yield "" if factor == 1 else f"{factor:g}", f"{text}, {rate_text(factor * declared)}" if factor else "no calls"


def rate_text(calls_per_s: float) -> str:
    """Return a rate as text in calls per second. A low rate is shown per minute, hour, day or month."""
    unit, seconds = next((pair for pair in _UNITS if calls_per_s * pair[1] >= 1), _UNITS[-1])
    calls = calls_per_s * seconds
    return f"{calls:,.0f}/{unit}" if calls >= 100 else f"{calls:.3g}/{unit}"


def money(value: float) -> str:
    """Return an amount as text in dollars, with cents. Small amounts are shown with their first significant digits."""
    amount, sign = abs(value), "-" if value < 0 else ""
    if amount < _ROUNDING:
        return "$0.00"
    if amount >= 0.01:
        return f"{sign}${amount:,.2f}"
    return f"{sign}${amount:.2g}" if amount >= 1e-4 else f"{sign}${amount:.1e}"
