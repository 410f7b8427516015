"""Lakes with a stopped clock, at the start time of a ManualClock."""

from __future__ import annotations

import pytest

from keyplan.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
