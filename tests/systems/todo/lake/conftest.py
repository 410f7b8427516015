"""A lake in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from keyplan.clock import ManualClock
from keyplan_systems.todo.lake.lake import Lake


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def lake(tmp_path: Path, clock: ManualClock) -> Lake:
    return Lake.open(tmp_path / "lake", clock=clock)
