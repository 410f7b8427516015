"""System with a clock that only tests move."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.systems.served_engine import ServedEngine
from tests.systems.venue_booking.samples import NOW, VENUE
from tests.systems.venue_booking.stage import Caller, Stage, connected, staged

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine


@pytest.fixture
def clock() -> ManualClock:
    """Return 2025-10-21 10:00 UTC."""
    return ManualClock(NOW.timestamp())


@pytest.fixture
def stage(engine: Engine | ServedEngine, clock: ManualClock, tmp_path: Path) -> Iterator[Stage]:
    with connected(engine, clock) as connection, staged(connection, clock, tmp_path / "keys", VENUE) as stage:
        yield stage


@pytest.fixture
def ada(stage: Stage) -> Caller:
    return stage.person("ada")


@pytest.fixture
def admin(stage: Stage) -> Caller:
    return stage.admin()
