"""An engine that throttles, on a clock that only tests move."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.engine import tables_of

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults


@pytest.fixture
def clock() -> ManualClock:
    return tables_of.clock()


@pytest.fixture
def engine(clock: ManualClock) -> Iterator[Engine]:
    with Engine.memory(clock=clock, faults=Faults(throttle=True)) as engine:
        yield engine
