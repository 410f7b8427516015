"""Fixtures of the HTTP server's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.server.fake_engine import FakeEngine
from tests.server.plain_http import Client

from keyplan.server import connection
from keyplan.server.thread import ThreadedServer


@pytest.fixture(autouse=True)
def patient_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer before a connection closes, so that a client on a busy machine can read the refusal."""
    monkeypatch.setattr(connection, "LINGER_S", 240.0)


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def server(engine: FakeEngine) -> Iterator[ThreadedServer]:
    with ThreadedServer(engine) as running:
        yield running


@pytest.fixture
def client(server: ThreadedServer) -> Iterator[Client]:
    with Client(server.port) as connected:
        yield connected
