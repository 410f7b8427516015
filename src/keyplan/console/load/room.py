"""State of the Load pages: the recorder of a database, which is filled by an observer of its engine or by program
reports.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from keyplan.client.reporting import document
from keyplan.console.load.engine import EngineLoad
from keyplan.console.load.forecast import Forecast, PatternForecast
from keyplan.console.load.heat import Heat, heat_of
from keyplan.console.load.matching import Matcher
from keyplan.console.load.recorder import LoadRecorder, LoadWindow
from keyplan.console.load.reports import MeterReports
from keyplan.console.source import is_own_call
from keyplan.cost.prices import book

if TYPE_CHECKING:
    from keyplan.client.requests import Meter
    from keyplan.console.source import Source
    from keyplan.design.declaring.design import Design

_HEAT_MAPS: Final = 8
"""Maximum number of tables and indexes whose heat maps are drawn."""


class RecordedLoad:
    """Recorded load of a database, shared by all pages of a console."""

    def __init__(self, source: Source, designs: Sequence[Design], engine: EngineLoad | None = None) -> None:
        """Continue the recording of the source's engine, or start one if the engine is in this process."""
        self.source = source
        if engine is None and source.engine is not None:
            engine = EngineLoad(source.engine)
        if engine is not None:
            engine.is_own = is_own_call
            engine.start()
        self.engine = engine
        self.recorder = engine.recorder if engine is not None else LoadRecorder()
        self.reports = MeterReports(self.recorder)
        self._meters: list[tuple[Meter, str, str]] = []
        self.use(designs)

    def use(self, designs: Sequence[Design]) -> None:
        """Attribute later requests to the patterns of these designs, in place of the previous designs."""
        self.designs = tuple(designs)
        self.matcher = Matcher(self.designs)
        self.__dict__.pop("prediction", None)
        if self.engine is not None:
            self.engine.matcher = self.matcher

    def watch(self, meter: Meter, program: str) -> None:
        """Record the counts of a meter in this process, in addition to those that other programs report."""
        self._meters.append((meter, program, secrets.token_hex(8)))

    def window(self, span: str = "5m") -> LoadWindow:
        """Return the counts of a span, including the latest counts of watched meters."""
        for meter, program, run in self._meters:
            self.reports.add(document(meter.read(), program, run))
        return self.recorder.window(span)

    def heat(self, window: LoadWindow, most: int = _HEAT_MAPS) -> list[Heat]:
        """Return the heat maps of the tables and indexes with the most units, or an empty list without an embedded
        engine.
        """
        if self.engine is None:
            return []
        busy = {name.partition(" ")[0] for name in window.totals("partition")}
        places = [place for place in window.totals("place") if place in busy][:most]
        return [heat_of(window, place, self.engine.partitions(place)) for place in places]

    def forecast(self, window: LoadWindow) -> list[PatternForecast]:
        """Compare the declared load of each pattern with the measured load."""
        return self.prediction.compare(window.totals("pattern"), window.seconds)

    @cached_property
    def prediction(self) -> Forecast:
        """The forecast of the load for all designs."""
        return Forecast(self.designs, book())
