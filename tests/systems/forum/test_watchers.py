"""Watchers, concurrent writers, killed connections, a stream that repeats and swaps: no event duplicated or missed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.systems.forum.watchers import FAULTS, Load, faults_of, remaining_items, run, start_run
from tests.systems.served_engine import ServedEngine, served

from keyplan.engine.engine import Engine


@pytest.fixture
def engine(place: str, tmp_path: Path) -> Iterator[Engine | ServedEngine]:
    """Yield an engine with injected faults, or an endpoint."""
    if place == "served":
        with served(tmp_path) as endpoint:
            yield endpoint
    else:
        with Engine.memory(faults=FAULTS) as engine:
            yield engine


def test_every_watcher_gets_every_later_event_once_in_order_after_it_is_stored(
    engine: Engine | ServedEngine, tmp_path: Path
) -> None:
    load = Load(watchers=16, threads=4, events=160, writers=4, kills=24, hubs=2)
    with ExitStack() as stack:
        course = start_run(load, stack, engine, tmp_path)
        run(course)
        assert faults_of(course) == []
        assert course.kills_left < load.kills
        assert remaining_items(course) == 0
