"""Lakes of a time that stands, wherever a ManualClock begins."""

from __future__ import annotations

import pytest

from keyplan.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
