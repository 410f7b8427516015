"""The system with time that only tests move."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.systems.elsewhere import Elsewhere, connected
from tests.systems.todo.stage import Caller, Stage, staged

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine


@pytest.fixture
def clock() -> ManualClock:
    """2025-11-20 12:00 UTC."""
    return ManualClock(1_763_640_000)


@pytest.fixture
def stage(engine: Engine | Elsewhere, clock: ManualClock, tmp_path: Path) -> Iterator[Stage]:
    with connected(engine, clock) as connection, staged(connection, clock, tmp_path / "keys") as stage:
        yield stage


@pytest.fixture
def ada(stage: Stage) -> Caller:
    return stage.person("ada")
