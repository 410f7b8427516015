"""System with a clock that only tests move."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.systems.served_engine import ServedEngine, connected
from tests.systems.todo.stage import Caller, Stage, staged

from keyplan.client.connection import Connection
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.todo.entities import app as table
from keyplan_systems.todo.feed import Feed
from keyplan_systems.todo.lake.lake import Lake


@pytest.fixture
def clock() -> ManualClock:
    """Return 2025-11-20 12:00 UTC."""
    return ManualClock(1_763_640_000)


@pytest.fixture
def stage(engine: Engine | ServedEngine, clock: ManualClock, tmp_path: Path) -> Iterator[Stage]:
    with connected(engine, clock) as connection, staged(connection, clock, tmp_path / "keys") as stage:
        yield stage


@pytest.fixture
def ada(stage: Stage) -> Caller:
    return stage.person("ada")


@pytest.fixture
def connection(engine: Engine | ServedEngine, clock: ManualClock) -> Iterator[Connection]:
    with connected(engine, clock) as connection:
        connection.create_tables(table)
        yield connection


@pytest.fixture
def lake(tmp_path: Path, clock: ManualClock) -> Lake:
    return Lake.open(tmp_path / "lake", clock=clock)


@pytest.fixture
def feed(connection: Connection, lake: Lake, clock: ManualClock) -> Feed:
    return Feed(connection, lake, clock=clock)
