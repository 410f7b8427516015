"""System with a clock that only tests move."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.systems.ask_a_human.builders import at
from tests.systems.ask_a_human.stage import Stage, staged
from tests.systems.served_engine import ServedEngine, connected

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine

NOON = at("2026-02-02T12:00:00") / 1000


@pytest.fixture
def clock() -> ManualClock:
    """Return a Monday at noon, plus half a millisecond, so that truncating float seconds gives the intended value."""
    return ManualClock(NOON + 0.0005)


@pytest.fixture
def stage(engine: Engine | ServedEngine, clock: ManualClock, tmp_path: Path) -> Iterator[Stage]:
    with connected(engine, clock) as connection, staged(connection, clock, tmp_path) as stage:
        yield stage
