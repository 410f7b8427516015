"""The ASGI application, called like by a server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import orjson
import pytest
from tests.server.fake_engine import FakeEngine
from tests.server.plain_http import Client, headers_for, raw

from keyplan.engine.engine import Engine
from keyplan.server.asgi import DynamoDBApplication
from keyplan.server.sigv4 import FormatChecker


def scope_of(headers: dict[bytes, bytes], method: str = "POST", path: str = "/", **more: Any) -> dict[str, Any]:
    pairs = list(headers.items())
    return {"type": "http", "method": method, "path": path, "headers": pairs, **more}


async def ask(
    app: DynamoDBApplication, scope: dict[str, Any], chunks: Iterable[bytes] = (b"",)
) -> tuple[int, dict[bytes, bytes], bytes] | None:
    incoming = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    incoming.append({"type": "http.request", "body": b"", "more_body": False})
    sent: list[Any] = []

    async def receive() -> Any:
        return incoming.pop(0) if incoming else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    if not sent:
        return None
    start, body = sent
    return start["status"], dict(start["headers"]), body["body"]


def put(key: str) -> bytes:
    return orjson.dumps({"Item": {"p": {"S": key}}})


def test_a_call_is_answered(engine: FakeEngine) -> None:
    reply = asyncio.run(
        ask(DynamoDBApplication(engine), scope_of(headers_for("PutItem")), [put("a")[:5], put("a")[5:]])
    )
    assert reply is not None
    status, headers, body = reply
    assert (status, body) == (200, b"{}")
    assert headers[b"content-length"] == b"2"
    assert headers[b"x-amz-crc32"] == b"2745614147"
    assert len(headers[b"x-amzn-requestid"]) == 52
    assert all(name == name.lower() for name in headers)


def test_requests_of_one_turn_share_a_commit(engine: FakeEngine) -> None:
    app = DynamoDBApplication(engine)

    async def many() -> None:
        scopes = [scope_of(headers_for("PutItem")) for _ in range(5)]
        await asyncio.gather(*(ask(app, scope, [put("a")]) for scope in scopes))

    asyncio.run(many())
    asyncio.run(many())  # another loop works too
    assert engine.groups == [["PutItem"] * 5] * 2


@pytest.mark.parametrize(
    ("path", "more", "status"),
    [
        ("/", {}, 200),
        ("/other", {}, 404),
        ("/db/", {"root_path": "/db"}, 200),
        ("/db", {"root_path": "/db"}, 200),
        ("/db/other", {"root_path": "/db"}, 404),
        ("/", {"query_string": b"a=b", "raw_path": b"/"}, 200),
    ],
)
def test_the_health_page_is_served_below_its_mount(
    engine: FakeEngine, path: str, more: dict[str, Any], status: int
) -> None:
    reply = asyncio.run(ask(DynamoDBApplication(engine), scope_of({}, "GET", path, **more)))
    assert reply is not None
    assert reply[0] == status


@pytest.mark.parametrize(
    ("path", "more", "status"),
    [
        ("/", {}, 200),
        ("/garbage", {}, 404),
        ("/db/", {"root_path": "/db"}, 200),
        ("/db", {"root_path": "/db"}, 200),
        ("/db/garbage", {"root_path": "/db"}, 404),
        ("/dbx", {"root_path": "/db"}, 404),
    ],
)
def test_calls_are_served_at_the_root_of_the_mount(
    engine: FakeEngine, path: str, more: dict[str, Any], status: int
) -> None:
    scope = scope_of(headers_for("ListTables"), path=path, **more)
    reply = asyncio.run(ask(DynamoDBApplication(engine), scope, [b"{}"]))
    assert reply is not None
    assert reply[0] == status


def test_headers_of_over_16_kb_are_a_bad_request(engine: FakeEngine) -> None:
    for size, status in ((15 * 1024, 200), (16 * 1024, 400)):
        scope = scope_of(headers_for("ListTables", x_filler=b"x" * size))
        reply = asyncio.run(ask(DynamoDBApplication(engine), scope, [b"{}"]))
        assert reply is not None
        assert reply[0] == status


def test_discovery_and_health_name_the_requested_host() -> None:
    host = {"host": b"127.0.0.1:8001"}
    with Engine.memory() as real:
        app = DynamoDBApplication(real)
        result = asyncio.run(ask(app, scope_of(headers_for("DescribeEndpoints", **host)), [b"{}"]))
        healthy = asyncio.run(ask(app, scope_of({b"host": host["host"]}, "GET")))
    assert result is not None
    assert orjson.loads(result[2])["Endpoints"][0]["Address"] == "127.0.0.1:8001"
    assert healthy is not None
    assert healthy[2] == b"healthy: 127.0.0.1:8001 "


@pytest.mark.parametrize(
    ("server", "hosts", "status"),
    [
        (("127.0.0.1", 8000), (), 403),
        (("::1", 8000), (), 403),
        (("127.0.0.1", 8000), ("api.example",), 200),
        (("10.0.0.7", 8000), (), 200),
        (("/run/socket", None), (), 200),
        (None, (), 200),
    ],
)
def test_a_foreign_host_is_rejected_if_the_server_was_reached_at_a_loopback_address(
    engine: FakeEngine, server: Any, hosts: tuple[str, ...], status: int
) -> None:
    app = DynamoDBApplication(engine, hosts=hosts)
    for header in ("host", "origin"):
        value = b"api.example" if header == "host" else b"https://api.example"
        scope = scope_of(headers_for("ListTables", **{header: value}), server=server)
        reply = asyncio.run(ask(app, scope, [b"{}"]))
        assert reply is not None
        assert reply[0] == status


def test_signatures_replace_the_check_of_the_host(engine: FakeEngine) -> None:
    app = DynamoDBApplication(engine, signatures=FormatChecker())
    scope = scope_of(headers_for("ListTables", host=b"api.example"), server=("127.0.0.1", 8000))
    reply = asyncio.run(ask(app, scope, [b"{}"]))
    assert reply is not None
    assert reply[0] == 200


def test_a_head_request_has_no_body(engine: FakeEngine) -> None:
    reply = asyncio.run(ask(DynamoDBApplication(engine), scope_of({}, "HEAD")))
    assert reply is not None
    assert (reply[0], reply[1][b"content-length"], reply[2]) == (200, b"42", b"")


def test_an_oversized_request_is_rejected(engine: FakeEngine) -> None:
    chunks = (b" " * 1_000_000 for _ in range(17))
    reply = asyncio.run(ask(DynamoDBApplication(engine), scope_of(headers_for("PutItem")), chunks))
    assert reply is not None
    assert reply[0] == 413
    assert engine.calls == []


def test_a_disconnected_client_is_not_answered(engine: FakeEngine) -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    app = DynamoDBApplication(engine)
    asyncio.run(app(scope_of(headers_for("PutItem")), receive, send))
    assert sent == []
    assert engine.calls == []


def test_lifespan_events_are_answered_and_other_scopes_ignored(engine: FakeEngine) -> None:
    incoming = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    sent: list[Any] = []

    async def receive() -> Any:
        return incoming.pop(0)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    app = DynamoDBApplication(engine)
    asyncio.run(app({"type": "lifespan"}, receive, send))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    incoming.append({"type": "websocket.connect"})
    asyncio.run(app({"type": "websocket"}, receive, send))
    assert sent[-1] == "websocket.close"
    with pytest.raises(ValueError, match="unknown ASGI scope"):
        asyncio.run(app({"type": "smoke"}, receive, send))


def test_repeated_headers_are_joined(engine: FakeEngine) -> None:
    headers = [*headers_for("Scan").items(), (b"Accept-Encoding", b"br"), (b"accept-encoding", b"gzip")]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    reply = asyncio.run(ask(DynamoDBApplication(engine), scope, [b'{"Size":9999}']))
    assert reply is not None
    assert reply[1][b"content-encoding"] == b"gzip"


def test_the_application_runs_under_uvicorn(engine: FakeEngine) -> None:
    uvicorn = pytest.importorskip("uvicorn")

    async def serve() -> list[int]:
        config = uvicorn.Config(DynamoDBApplication(engine), port=0, log_level="error")
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0)
        port = server.servers[0].sockets[0].getsockname()[1]

        def talk() -> list[int]:
            with Client(port) as client:
                first = client.ask(raw(headers_for("PutItem"), put("a")))
                first.check_crc()
                large = raw(headers_for("PutItem"), b" " * (16 * 1024 * 1024 + 1))
                return [first.status, client.ask(large).status]

        statuses = await asyncio.to_thread(talk)
        server.should_exit = True
        await task
        return statuses

    assert asyncio.run(serve()) == [200, 413]
