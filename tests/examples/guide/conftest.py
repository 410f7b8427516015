"""A connection to an engine in memory, whose clock stands still, and its items as they are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

import keyplan
from keyplan import Engine, Table
from keyplan.client.connection import Connection
from keyplan.clock import ManualClock

NOW = datetime(2023, 6, 1, tzinfo=UTC)
"""The time of the tests' clock. The guide's sample items are of the years 2020 to 2023."""


@pytest.fixture
def engine() -> Iterator[Engine]:
    """Yield an engine without background work."""
    with Engine.memory(clock=ManualClock(NOW.timestamp()), ttl_sweep_s=None) as engine:
        yield engine


@pytest.fixture
def db(engine: Engine) -> Iterator[Connection]:
    """Yield a connection that creates tables at first use."""
    with keyplan.connect(engine=engine) as db:
        yield db


@pytest.fixture
def stored(engine: Engine) -> Callable[..., list[dict[str, Any]]]:
    """Return a function that returns the items of a table or index, with plain strings and numbers."""

    def items(table: Table, index: str | None = None) -> list[dict[str, Any]]:
        request = {"TableName": table.name} | ({"IndexName": index} if index else {})
        return [
            {name: next(iter(value.values())) for name, value in item.items()}
            for item in engine.call("Scan", request)["Items"]
        ]

    return items
