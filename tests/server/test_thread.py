"""The server in a thread: its address, and its stop."""

from __future__ import annotations

import threading

import pytest
from tests.server.fake_engine import FakeEngine
from tests.server.plain_http import Client, put, raw

from keyplan.clock import ManualClock
from keyplan.server.sigv4 import AccessKey, SignatureVerifier
from keyplan.server.thread import ThreadedServer

LONG_S = 240.0
"""A grace that no machine is too busy for."""


def test_the_url_names_the_port(engine: FakeEngine) -> None:
    with ThreadedServer(engine) as server:
        assert server.url == f"http://127.0.0.1:{server.port}"
        assert server.port > 0


def test_a_port_in_use_is_an_error(server: ThreadedServer, engine: FakeEngine) -> None:
    with pytest.raises(OSError, match="in use"):
        ThreadedServer(engine, port=server.port)


def test_stopping_twice_is_harmless_and_frees_the_port(engine: FakeEngine) -> None:
    again = next(filter(None, (stopped_and_started(engine) for _ in range(100))))
    with again, Client(again.port) as client:
        assert client.ask(put("a")).status == 200


def stopped_and_started(engine: FakeEngine) -> ThreadedServer | None:
    """Return a server on the port of one that was stopped, or None if another program has got the port since."""
    server = ThreadedServer(engine)
    server.stop()
    server.stop()
    try:
        return ThreadedServer(engine, port=server.port)
    except OSError:
        return None


def test_stopping_answers_requests_in_progress(engine: FakeEngine) -> None:
    engine.gate = threading.Event()
    server = ThreadedServer(engine)
    idle, asking = Client(server.port), Client(server.port)
    assert idle.ask(raw({}, method=b"GET")).status == 200
    asking.send(put("a") + put("b"))
    while not engine.calls:
        pass
    stopper = threading.Thread(target=server.stop, args=(LONG_S,))
    stopper.start()
    engine.gate.set()
    replies = [asking.read(), asking.read()]
    stopper.join()
    assert [reply.status for reply in replies] == [200, 200]
    assert asking.closed_by_server()
    assert idle.closed_by_server()
    idle.close()
    asking.close()


def test_an_incomplete_request_is_closed_after_the_grace_period(engine: FakeEngine) -> None:
    server = ThreadedServer(engine)
    with Client(server.port) as half:
        assert half.ask(put("a")).status == 200
        half.send(put("b")[:-1])
        assert half.socket.getpeername()
        server.stop(grace_s=0.02)
        assert half.closed_by_server()


def test_an_incomplete_request_is_answered_within_the_grace_period(engine: FakeEngine) -> None:
    server = ThreadedServer(engine)
    with Client(server.port) as half, Client(server.port) as other:
        data = put("b")
        half.send(data[:-1])
        assert other.ask(put("a")).status == 200  # so the other half is stored as well
        stopper = threading.Thread(target=server.stop, args=(LONG_S,))
        stopper.start()
        assert other.closed_by_server()
        half.send(data[-1:])
        reply = half.read()
        assert (reply.status, reply.headers["connection"]) == (200, "close")
        stopper.join()


def test_signatures_are_verified_if_configured(engine: FakeEngine) -> None:
    signatures = SignatureVerifier({"OTHER": AccessKey("x")}, ManualClock(1_767_225_600.0))
    with ThreadedServer(engine, signatures=signatures) as server, Client(server.port) as client:
        reply = client.ask(put("a"))
        assert reply.status == 400
        assert reply.json()["__type"].startswith("com.amazon.coral.service#")
        assert client.ask(raw({}, method=b"GET")).status == 200
    assert engine.calls == []
