"""One suite, five ways to the items: every test that takes `db` runs on each of them."""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from tests.client.board import TABLES
from tests.sdk import ONCE, alone, shared_loader

import keyplan
from keyplan.client.requests import Retries
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.server.thread import ThreadedServer

__all__ = ["shared_loader"]  # a fixture

NOW = 1_800_000_000.0
"""Current time of the tests' clock, seconds since 1970."""

MOTO_GAPS: dict[str, str] = {
    "test_a_transaction_is_applied_once_per_token": "it takes no notice of client request tokens",
    "test_a_token_stays_valid_as_time_passes_and_expiry_is_compared": "it takes no notice of client request tokens",
    "test_a_transaction_keeps_its_time_for_its_token": "it takes no notice of client request tokens",
    "test_a_call_without_fields_returns_the_item_unchanged": "it fails on updates without an expression",
    "test_a_call_without_fields_checks_condition_and_version": "it fails on updates without an expression",
    "test_each_pattern_has_its_calls_requests_and_units": "its receipts leave writes out",
    "test_pages_and_reads_before_a_write_count": "its receipts leave writes out",
    "test_undeclared_transactions_are_named_by_their_calls": "its receipts leave transactions out",
}
"""By test: what moto does otherwise than the service, so that the test says nothing there."""

_numbers = itertools.count()


class Awaited:
    """AsyncConnection that is called like a Connection, on its own event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, connection: Any) -> None:
        self._loop, self._connection = loop, connection

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._connection, name)
        if name == "iterate":
            return lambda *args, **kwargs: self._loop.run_until_complete(_collected(method(*args, **kwargs)))
        if not callable(method):
            return method
        return lambda *args, **kwargs: self._result(method(*args, **kwargs))

    def _result(self, result: Any) -> Any:
        return self._loop.run_until_complete(result) if inspect.isawaitable(result) else result


async def _collected(results: Any) -> Any:
    return iter([result async for result in results])


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No files of the user, no proxy, and credentials that nobody checks."""
    alone(monkeypatch, tmp_path_factory, AWS_DEFAULT_REGION="us-east-1")


@pytest.fixture
def clock() -> ManualClock:
    """Time that only tests move."""
    return ManualClock(NOW)


@pytest.fixture
def engine(clock: ManualClock) -> Iterator[Engine]:
    """Yield an engine without background work."""
    with Engine.memory(clock=clock, ttl_sweep_s=None) as engine:
        yield engine


@pytest.fixture(scope="session")
def moto_url() -> Iterator[str]:
    """Yield the URL of a moto server."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - it is large, and few runs need it

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


Ways = ("engine", "served", "moto", "async engine", "async served")


@pytest.fixture(params=Ways)
def db(request: pytest.FixtureRequest, engine: Engine, clock: ManualClock) -> Iterator[Any]:
    """Yield a connection to existing tables."""
    way = request.param
    if way == "moto":
        gap = MOTO_GAPS.get(request.node.originalname)
        if gap:
            pytest.skip(f"moto: {gap}")
    make: Callable[[pytest.FixtureRequest, Engine, ManualClock], Iterator[Any]] = _WAYS[way]
    yield from make(request, engine, clock)


def _engine(_request: pytest.FixtureRequest, engine: Engine, _clock: ManualClock) -> Iterator[Any]:
    with keyplan.connect(engine=engine) as db:
        yield db


def _served(_request: pytest.FixtureRequest, engine: Engine, clock: ManualClock) -> Iterator[Any]:
    with ThreadedServer(engine) as server, keyplan.connect(server.url, clock=clock) as db:
        db.create_tables(*TABLES)
        yield db


def _moto(request: pytest.FixtureRequest, _engine: Engine, clock: ManualClock) -> Iterator[Any]:
    url = request.getfixturevalue("moto_url")
    retries = Retries(attempts=4, first_s=0.001, most_s=0.01)
    with keyplan.connect(f"{url}?table_prefix=t{next(_numbers)}-", clock=clock, retries=retries) as db:
        db.create_tables(*TABLES)
        yield db


def _async_engine(_request: pytest.FixtureRequest, engine: Engine, _clock: ManualClock) -> Iterator[Any]:
    with asyncio.Runner() as runner:
        db = Awaited(runner.get_loop(), runner.run(keyplan.connect_async(engine=engine)))
        yield db
        db.close()


def _async_served(_request: pytest.FixtureRequest, engine: Engine, clock: ManualClock) -> Iterator[Any]:
    with ThreadedServer(engine) as server, asyncio.Runner() as runner:
        db = Awaited(runner.get_loop(), runner.run(keyplan.connect_async(server.url, clock=clock)))
        db.create_tables(*TABLES)
        yield db
        db.close()


_WAYS = {
    "engine": _engine,
    "served": _served,
    "moto": _moto,
    "async engine": _async_engine,
    "async served": _async_served,
}


@pytest.fixture
def raw() -> Callable[[Any], Callable[..., Any]]:
    """Return a function that reads stored items without keyplan: `raw(db)("GetItem", {...})`."""

    def of(db: Any) -> Callable[..., Any]:
        connection = db._connection if isinstance(db, Awaited) else db
        transport = connection.transport
        if hasattr(transport, "engine"):
            return transport.engine.call  # type: ignore[no-any-return]
        client = boto3.client("dynamodb", endpoint_url=_url(transport), config=ONCE)
        from keyplan.client.transports import BotoTransport  # noqa: PLC0415 - only here

        return BotoTransport(client).call

    return of


def _url(transport: Any) -> str:
    url: str = transport.client.meta.endpoint_url
    return url
