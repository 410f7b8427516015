"""One engine behind two doors: consumers are tested in process and over HTTP, with the same code."""

from __future__ import annotations

from collections.abc import Iterator

import boto3
import pytest
from tests.sdk import ONCE, alone, shared_loader
from tests.streams.shop import NOW, Shop, World

from keyplan import connect
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.server.thread import ThreadedServer
from keyplan.streams import TableCheckpoints

__all__ = ["shared_loader"]  # a fixture


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Credentials, no files of the user, and no proxy between here and here."""
    alone(monkeypatch, tmp_path_factory)


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock that does not advance."""
    return ManualClock(NOW)


@pytest.fixture
def engine(clock: ManualClock) -> Iterator[Engine]:
    """Yield an engine whose streams have three shards."""
    with Engine.memory(clock=clock, stream_shards=3, ttl_sweep_s=None) as engine:
        yield engine


@pytest.fixture
def inside(engine: Engine, clock: ManualClock) -> Iterator[World]:
    """Yield the shop in this process."""
    db = connect(engine=engine)
    world = World(engine, db, clock, Shop(), checkpoints=lambda: TableCheckpoints(db))
    db.create_tables(world.shop.table)
    yield world
    _close(world)


@pytest.fixture
def over_http(engine: Engine, clock: ManualClock) -> Iterator[World]:
    """Yield the shop on a server, reached with boto3."""
    with ThreadedServer(engine) as server:
        client = boto3.client("dynamodb", region_name="us-east-1", endpoint_url=server.url, config=ONCE)
        db = connect(client=client, clock=clock)
        world = World(engine, db, clock, Shop(), checkpoints=lambda: TableCheckpoints(db, create=True, clock=clock))
        db.create_tables(world.shop.table)
        yield world
        _close(world)
        db.close()


@pytest.fixture(params=["inside", "over_http"])
def world(request: pytest.FixtureRequest) -> World:
    """Return the shop in process and over HTTP, one after the other."""
    fixture: World = request.getfixturevalue(request.param)
    return fixture


def _close(world: World) -> None:
    for runner in world.runners:
        runner.close()
