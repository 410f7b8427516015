"""The state of the Load pages: the recorder of a database's load, and a forecast for comparison with the recorded
counts.

The counts come from an observer of the engine, or from reports of connected programs.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from keyplan.client.reporting import document
from keyplan.console.load.engine import EngineLoad
from keyplan.console.load.heat_maps import PartitionLoad, partition_load_of
from keyplan.console.load.matching import Matcher, labels
from keyplan.console.load.recorder import LoadCounts, LoadRecorder, LoadWindow
from keyplan.console.load.reports import MeterReports
from keyplan.console.source import is_console_call
from keyplan.cost.estimate import SECONDS_PER_MONTH, price_of_call
from keyplan.cost.expected import expected
from keyplan.cost.prices import PriceBook, book

if TYPE_CHECKING:
    from keyplan.client.requests import Meter
    from keyplan.console.source import Source
    from keyplan.design.declaring.design import Design

_HEAT_MAPS: Final = 8
"""The maximum number of tables and indexes whose heat maps are shown."""
_MORE_EXPENSIVE: Final = 1.5
"""A pattern is reported as more expensive than expected if it uses more than this multiple of the expected capacity
units.
"""


class RecordedLoad:
    """The recorded load of a database, which all pages of a console share."""

    def __init__(self, source: Source, designs: Sequence[Design], engine: EngineLoad | None = None) -> None:
        """Prepare to record the load of a database.

        `engine` is an observer that already records the load. If it is None and `source` has an engine, an observer is
        created.
        """
        self.source = source
        if engine is None and source.engine is not None:
            engine = EngineLoad(source.engine)
        if engine is not None:
            engine.is_console_call = is_console_call
            engine.start()
        self.engine = engine
        self.recorder = engine.recorder if engine is not None else LoadRecorder()
        self.reports = MeterReports(self.recorder)
        self._meters: list[tuple[Meter, str, str]] = []
        self.set_designs(designs)

    def set_designs(self, designs: Sequence[Design]) -> None:
        """Match all later requests with the patterns of these designs instead of the previous designs."""
        self.designs = tuple(designs)
        self.matcher = Matcher(self.designs)
        self.__dict__.pop("prediction", None)
        if self.engine is not None:
            self.engine.matcher = self.matcher

    def watch(self, meter: Meter, program: str) -> None:
        """Record the counts of a meter in this process, under the program name `program`.

        The reports of other programs are recorded too.
        """
        self._meters.append((meter, program, secrets.token_hex(8)))

    def window(self, span: str = "5m") -> LoadWindow:
        """Return the counts for the time span with the given name, including the latest counts of meters in this
        process.
        """
        for meter, program, run in self._meters:
            self.reports.add(document(meter.read(), program, run))
        return self.recorder.window(span)

    def partition_loads(self, window: LoadWindow, limit: int = _HEAT_MAPS) -> list[PartitionLoad]:
        """Return the heat maps of up to `limit` tables and indexes with the most capacity units.

        The list is empty if the database is not an embedded engine.
        """
        if self.engine is None:
            return []
        active_resources = {name.partition(" ")[0] for name in window.totals("partition")}
        resources = [resource for resource in window.totals("resource") if resource in active_resources][:limit]
        return [partition_load_of(window, resource, self.engine.partitions(resource)) for resource in resources]

    def forecast(self, window: LoadWindow) -> list[PatternForecast]:
        """Return a comparison of the declared and the measured load of each pattern."""
        return self.prediction.compare(window.totals("pattern"), window.seconds)

    @cached_property
    def prediction(self) -> Forecast:
        """The forecast for all designs."""
        return Forecast(self.designs, book())


@dataclass(frozen=True)
class PatternForecast:
    """The forecast load and the measured load of one pattern."""

    name: str
    design: str
    table: str
    declared: float | None
    """The declared average number of calls per second, or None if the design declares no rate."""
    peak: float | None
    measured: float
    """The measured number of requests per second."""
    expected_units: float
    """The predicted number of read and write units of a call."""
    measured_units: float | None
    """The average number of measured capacity units per request, or None if no requests were measured."""
    forecast: float | None
    """The monthly on-demand price in dollars at the declared rate, or None if no rate is declared."""
    projected: float
    """The monthly on-demand price, in dollars, if the measured load continues for the whole month."""

    @property
    def forecast_or_zero(self) -> float:
        """Return the forecast cost, or 0 if no rate is declared."""
        return self.forecast or 0.0

    @property
    def verdict(self) -> str:
        """Return the result of the comparison: "above peak", "more expensive", "cheaper" or "as declared".

        Return an empty string if no requests were measured.
        """
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
    """The forecast load of all patterns in one or more designs. It is computed once and then compared with
    measurements.
    """

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
        """Compare the forecast for each pattern with its counts in a window of `seconds` seconds.

        The patterns with the highest projected cost come first.
        """
        rows = []
        for name, design, pattern, price, units in self._rows:
            rate, schema, counts = pattern.facts.rate, pattern.plan.schema, measured.get(name, LoadCounts())
            window_cost = self.prices.on_demand(counts.read, counts.write, schema.table_class)
            rows.append(
                PatternForecast(
                    name,
                    design,
                    schema.name,
                    None if rate is None else rate.average,
                    None if rate is None else rate.highest,
                    counts.requests / seconds,
                    units.read + units.total_write,
                    counts.units / counts.requests if counts.requests else None,
                    None if rate is None else rate.average * SECONDS_PER_MONTH * price,
                    window_cost / seconds * SECONDS_PER_MONTH,
                )
            )
        return sorted(rows, key=lambda row: (-row.projected, -(row.forecast or 0.0), row.name))
