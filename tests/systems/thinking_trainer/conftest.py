"""System with a clock that only tests move."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.systems.served_engine import ServedEngine, connected
from tests.systems.thinking_trainer.stage import Caller, Stage, staged

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine


@pytest.fixture
def clock() -> ManualClock:
    """Return 2026-03-01 12:00 UTC."""
    return ManualClock(1_772_366_400)


@pytest.fixture
def stage(engine: Engine | ServedEngine, clock: ManualClock, tmp_path: Path) -> Iterator[Stage]:
    with connected(engine, clock) as connection, staged(connection, clock, tmp_path / "keys") as stage:
        yield stage


@pytest.fixture
def ada(stage: Stage) -> Caller:
    return stage.person("ada")
