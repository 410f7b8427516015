"""Comparison of the declared rates and expected units of patterns with measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from keyplan.console.load.matching import labels
from keyplan.console.load.recorder import LoadCounts
from keyplan.cost.estimate import SECONDS_A_MONTH, price_of_call
from keyplan.cost.expected import expected
from keyplan.cost.prices import PriceBook
from keyplan.design.declaring.design import Design

_MORE_EXPENSIVE: Final = 1.5
"""Ratio of measured to expected units above which a pattern is reported as more expensive."""


@dataclass(frozen=True)
class PatternForecast:
    """Forecast and measurement of one pattern."""

    name: str
    design: str
    table: str
    declared: float | None
    """Declared average calls per second, or None if the design declares no rate."""
    peak: float | None
    measured: float
    """Measured requests per second."""
    expected_units: float
    """Read and write units of a call according to the price model."""
    measured_units: float | None
    """Average measured units of a request, or None if there were no requests."""
    forecast: float | None
    """Monthly on-demand price at the declared rate in dollars, or None without a rate."""
    projected: float
    """Monthly price if the measured load continues."""

    @property
    def forecast_or_zero(self) -> float:
        """Return the forecast cost, or 0 if no rate is declared."""
        return self.forecast or 0.0

    @property
    def verdict(self) -> str:
        """Return "above peak", "more expensive", "cheaper" or "as declared", or "" if nothing was measured."""
        if self.measured_units is None:
            return ""
        if self.peak is not None and self.measured > self.peak:
            return "above peak"
        if self.expected_units and self.measured_units > _MORE_EXPENSIVE * self.expected_units:
            return "more expensive"
        if self.measured_units * _MORE_EXPENSIVE < self.expected_units:
            return "cheaper"
        return "as declared"


class Forecast:
    """Forecast for one or more designs, which is computed once and compared with measurements."""

    def __init__(self, designs: Sequence[Design], prices: PriceBook) -> None:
        self.prices = prices
        names = labels(designs)
        self._rows = [
            (names[pattern], design.name, pattern, price_of_call(pattern, expectation, prices), expectation.units)
            for design in designs
            for pattern in design.patterns
            for expectation in (expected(pattern),)
        ]

    def compare(self, measured: Mapping[str, LoadCounts], seconds: float) -> list[PatternForecast]:
        """Compare every pattern with its counts of the last `seconds`. The patterns with the highest projected cost
        come first.
        """
        rows = []
        for name, design, pattern, price, units in self._rows:
            rate, schema, counts = pattern.facts.rate, pattern.plan.schema, measured.get(name, LoadCounts())
            spent = self.prices.on_demand(counts.read, counts.write, schema.table_class)
            rows.append(
                PatternForecast(
                    name,
                    design,
                    schema.name,
                    None if rate is None else rate.average,
                    None if rate is None else rate.highest,
                    counts.requests / seconds,
                    units.read + units.written,
                    counts.units / counts.requests if counts.requests else None,
                    None if rate is None else rate.average * SECONDS_A_MONTH * price,
                    spent / seconds * SECONDS_A_MONTH,
                )
            )
        return sorted(rows, key=lambda row: (-row.projected, -(row.forecast or 0.0), row.name))
