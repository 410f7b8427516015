"""Application with all shared parts, over a real socket: problems, IDs, logs, limits, health."""

from __future__ import annotations

import asyncio
import io
import logging
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Annotated, Any

import httpx
import orjson
import pytest
from fastapi import Body, Depends, FastAPI, Request, WebSocket
from pydantic import BaseModel, Field
from starlette.responses import Response, StreamingResponse
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from keyplan_systems.web.application import LazyRoute, add_routes, api_router, web_application
from keyplan_systems.web.health import health_router
from keyplan_systems.web.logs import JsonFormatter
from keyplan_systems.web.middleware import access_log
from keyplan_systems.web.problems import UPPER_CODES, Problem, ProblemStyle
from keyplan_systems.web.request_context import add_log_field, current_request_id
from keyplan_systems.web.server import KEEP_ALIVE_S, MESSAGE_BYTES, Running, ServingError

PATIENCE_S = 60
"""Timeout of tests, generous for busy machines."""
get, post, request = (partial(ask, timeout=PATIENCE_S) for ask in (httpx.get, httpx.post, httpx.request))


class TakenError(Exception):
    """Error of a rule."""


class TakenBySomebodyError(TakenError):
    """Subclass of that error."""


class Order(BaseModel):
    name: str = Field(min_length=1, max_length=5)
    count: int


async def well() -> None:
    """Pass as a health check."""


def build(**options: Any) -> FastAPI:
    app = web_application(
        "shop", translations={TakenError: lambda error: Problem(409, str(error), code="taken")}, **options
    )

    @app.post("/orders/{order_id}")
    async def order(order_id: str, order: Annotated[Order, Body()]) -> dict[str, object]:
        add_log_field("order_id", order_id)
        return {"count": order.count, "request_id": current_request_id()}

    @app.get("/taken")
    async def taken() -> None:
        raise TakenBySomebodyError("that one is gone")

    @app.get("/broken")
    def broken() -> None:
        raise ZeroDivisionError("password=hunter2")

    @app.get("/halfway")
    async def halfway() -> StreamingResponse:
        async def parts() -> Any:
            yield b"first"
            raise OSError("the disk went away")

        return StreamingResponse(parts())

    @app.websocket("/echo")
    async def echo(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text(await socket.receive_text())
        await socket.close(4001)

    @app.websocket("/refuses/{when}")
    async def refuses(socket: WebSocket, when: str) -> None:
        if when == "crash":
            raise ZeroDivisionError
        if when != "early":
            await socket.accept()
        raise Problem(500 if when == "broken" else 403, "Ünwanted " * 20)

    return app


class Log(io.StringIO):
    """Recorded log lines, with a wait for more."""

    def __init__(self) -> None:
        super().__init__()
        self.grown = threading.Condition()

    def write(self, text: str) -> int:
        with self.grown:
            self.grown.notify_all()
            return super().write(text)


@pytest.fixture
def log() -> Iterator[Log]:
    stream = Log()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    access_log.addHandler(handler)
    level, access_log.level = access_log.level, logging.INFO
    access_log.setLevel(logging.INFO)
    yield stream
    access_log.removeHandler(handler)
    access_log.setLevel(level)


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with Running(build(checks={"store": well}, body_limit_bytes=200)) as running:
        yield running


def line_of(log: Log, response: httpx.Response) -> dict[str, Any]:
    """Return the line of a request to a server, which is written after the answer was sent."""

    def lines_of_request() -> list[dict[str, Any]]:
        return [line for line in request_lines(log) if line["request_id"] == response.headers["X-Request-Id"]]

    with log.grown:
        assert log.grown.wait_for(lines_of_request, PATIENCE_S)
    (line,) = lines_of_request()
    return line


def request_lines(log: Log) -> list[dict[str, Any]]:
    lines = [orjson.loads(line) for line in log.getvalue().splitlines()]
    return [line for line in lines if line["message"] == "request"]


def test_a_valid_request_returns_its_id_in_body_and_header(server: Running) -> None:
    response = post(f"{server.url}/orders/7", json={"name": "tea", "count": 2})
    assert response.status_code == 200
    assert response.json() == {"count": 2, "request_id": response.headers["X-Request-Id"]}
    assert len(response.headers["X-Request-Id"]) == 32
    assert "server" not in response.headers


@pytest.mark.parametrize("path", ["openapi.json", "taken", "nowhere", "broken", "health"])
def test_responses_are_not_cached(server: Running, path: str) -> None:
    assert get(f"{server.url}/{path}").headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("message", "values"),
    [
        ({"Cache-Control": "public, max-age=60"}, ["public, max-age=60"]),
        ({"ETag": '"1"'}, []),
    ],
)
def test_a_response_may_set_its_own_cache_control(message: dict[str, str], values: list[str]) -> None:
    app = build()

    @app.get("/kept")
    async def answer() -> Response:
        return Response("for all", headers=message)

    with Running(app) as running:
        assert get(f"{running.url}/kept").headers.get_list("Cache-Control") == values


@pytest.mark.parametrize(
    ("sent", "is_kept"),
    [
        ("abcdef12-3.4_5", True),
        ("short", False),
        ("has space in it", False),
        ("x" * 129, False),
        ("-starts-with-dash", False),
        ('{"forged":"line"}', False),
    ],
)
def test_a_request_id_is_kept_only_if_it_is_well_formed(server: Running, sent: str, is_kept: bool) -> None:
    response = get(f"{server.url}/health", headers={"X-Request-Id": sent})
    assert (response.headers["X-Request-Id"] == sent) is is_kept


def test_invalid_input_names_the_fields_and_never_the_values(server: Running) -> None:
    response = post(f"{server.url}/orders/7", json={"name": "far too long a secret", "count": "many"})
    assert response.status_code == 422
    error = response.json()["error"]
    assert error["code"] == "invalid"
    assert error["message"] == "Invalid input: count, name."
    assert [(detail["in"], detail["field"], detail["type"]) for detail in error["details"]] == [
        ("body", "name", "string_too_long"),
        ("body", "count", "int_parsing"),
    ]
    assert error["request_id"] == response.headers["X-Request-Id"]
    assert "secret" not in response.text


def test_a_body_that_is_not_json_is_malformed(server: Running) -> None:
    response = post(f"{server.url}/orders/7", content=b"{nope", headers={"Content-Type": "application/json"})
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "malformed"


@pytest.mark.parametrize(("method", "path", "status", "code"), [
    ("GET", "/nowhere", 404, "not_found"),
    ("GET", "/orders/7", 405, "method_not_allowed"),
    ("GET", "/taken", 409, "taken"),
])  # fmt: skip
def test_each_failure_has_the_common_error_format(
    server: Running, method: str, path: str, status: int, code: str
) -> None:
    response = request(method, server.url + path)
    assert response.status_code == status
    assert set(response.json()["error"]) == {"code", "message", "request_id"}
    assert response.json()["error"]["code"] == code


def test_a_problem_may_contain_lone_surrogates() -> None:
    app = web_application("words")

    @app.post("/words")
    async def words(body: Annotated[Any, Body()]) -> None:
        raise Problem(409, f"taken: {body}", details={"number": 10**40})

    with Running(app) as server:
        json = {"Content-Type": "application/json"}
        response = post(f"{server.url}/words", content=b'"\\ud800"', headers=json)
    assert response.status_code == 409
    error = response.json()["error"]
    assert (error["message"], error["details"]) == ("taken: \ud800", {"number": 10**40})


def test_a_405_lists_the_allowed_methods(server: Running) -> None:
    assert get(f"{server.url}/orders/7").headers["Allow"] == "POST"


def test_an_unexpected_error_returns_500_without_its_text(server: Running, log: Log) -> None:
    response = get(f"{server.url}/broken")
    assert response.status_code == 500
    assert response.json()["error"]["code"] == "server_error"
    assert "hunter2" not in response.text
    assert "Traceback" not in response.text
    lines = [orjson.loads(line) for line in log.getvalue().splitlines()]
    (failure,) = (line for line in lines if line["message"] == "unhandled error")
    assert "ZeroDivisionError" in failure["exception"]
    assert failure["request_id"] == response.headers["X-Request-Id"]


def test_an_error_after_the_response_started_breaks_the_connection(server: Running) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        get(f"{server.url}/halfway")


def test_a_body_above_the_limit_is_rejected_by_its_declared_length(server: Running) -> None:
    response = post(f"{server.url}/orders/7", json={"name": "x" * 300, "count": 1})
    assert response.status_code == 413
    assert response.json()["error"]["message"] == "The body may have at most 200 bytes."


def test_a_body_declared_too_long_is_rejected_before_any_of_it_is_read() -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("nothing should be read")

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-length", b"201"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/orders/7", "headers": headers, "query_string": b""}
    asyncio.run(build(body_limit_bytes=200)(scope, receive, send))
    assert sent[0]["status"] == 413


def test_after_the_response_started_nothing_is_added() -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/halfway", "headers": [], "query_string": b""}
    with pytest.raises((OSError, ExceptionGroup)):
        asyncio.run(build()(scope, receive, send))
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]


def test_a_chunked_body_above_the_limit_is_rejected(server: Running) -> None:
    response = post(
        f"{server.url}/orders/7",
        content=iter([b'{"name": "', b"x" * 150, b"x" * 150]),
        headers={"Content-Type": "application/json"},
    )
    assert response.status_code == 413
    assert response.json()["error"]["code"] == "too_large"


def test_a_request_is_logged_on_one_line_with_route_and_without_query(server: Running, log: Log) -> None:
    response = post(f"{server.url}/orders/7?access_token=hush", json={"name": "tea", "count": 2})
    line = line_of(log, response)
    assert line["method"] == "POST"
    assert line["route"] == "/orders/{order_id}"
    assert line["status"] == 200
    assert line["order_id"] == "7"
    assert line["duration_ms"] >= 0
    assert "hush" not in log.getvalue()


def test_a_request_without_route_is_logged_by_its_path(server: Running, log: Log) -> None:
    line = line_of(log, get(f"{server.url}/nowhere?secret=1"))
    assert (line["route"], line["path"], line["status"]) == (None, "/nowhere", 404)


def test_health_lists_its_checks(server: Running) -> None:
    response = get(f"{server.url}/health")
    assert response.status_code == 200
    assert response.json() == {"status": "ok", "checks": {"store": "ok"}}
    assert get(f"{server.url}/health/live").json() == {"status": "ok"}


def test_health_returns_503_if_a_check_fails_or_hangs() -> None:
    async def ill() -> None:
        raise ConnectionError("db.internal refused")

    async def hangs() -> None:
        await asyncio.Event().wait()

    app = web_application("ill", checks={"store": ill, "mail": well})
    with Running(app) as running:
        response = get(f"{running.url}/health")
        assert response.status_code == 503
        assert response.json() == {"status": "failing", "checks": {"store": "failing", "mail": "ok"}}
        assert get(f"{running.url}/health/live").status_code == 200

    app = FastAPI()
    app.include_router(health_router({"queue": hangs}, timeout_s=0.01))
    with Running(app) as running:
        assert get(f"{running.url}/health").json()["checks"] == {"queue": "failing"}


def test_a_style_changes_status_and_names() -> None:
    style = ProblemStyle(
        invalid_status=400,
        invalid_code="VALIDATION_ERROR",
        malformed_code="VALIDATION_ERROR",
        server_code="SERVER_ERROR",
        codes={**UPPER_CODES, 404: "QUESTION_NOT_FOUND"},
    )
    with Running(build(style=style)) as running:
        invalid = post(f"{running.url}/orders/7", json={})
        assert (invalid.status_code, invalid.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
        assert get(f"{running.url}/nowhere").json()["error"]["code"] == "QUESTION_NOT_FOUND"
        assert get(f"{running.url}/broken").json()["error"]["code"] == "SERVER_ERROR"


def test_websockets_are_logged_with_their_close_code(log: Log) -> None:
    sent = talk(build(), "/echo")
    assert [message["type"] for message in sent] == ["websocket.accept", "websocket.send", "websocket.close"]
    assert any(name == b"x-request-id" for name, _ in sent[0]["headers"])
    (line,) = request_lines(log)
    assert (line["method"], line["route"], line["status"]) == ("WEBSOCKET", "/echo", 4001)


@pytest.mark.parametrize(("more", "code"), [(0, 4001), (1, 1009)])
def test_an_oversized_websocket_message_ends_its_connection(more: int, code: int) -> None:
    with Running(build()) as server, connect(f"ws{server.url.removeprefix('http')}/echo", max_size=None) as socket:
        socket.send("x" * (MESSAGE_BYTES + more))
        with pytest.raises(ConnectionClosed) as closed:
            list(socket)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == code


def test_a_websocket_without_a_route_is_rejected(log: Log) -> None:
    (refusal,) = talk(build(), "/nowhere")
    assert refusal["type"] == "websocket.close"
    assert request_lines(log)[0]["status"] == 403


@pytest.mark.parametrize(("when", "status", "kinds"), [
    ("early", 403, ["websocket.http.response.start", "websocket.http.response.body"]),
    ("late", 1008, ["websocket.accept", "websocket.close"]),
    ("broken", 1011, ["websocket.accept", "websocket.close"]),
    ("crash", 500, ["websocket.http.response.start", "websocket.http.response.body"]),
])  # fmt: skip
def test_a_problem_rejects_a_websocket_or_closes_it_with_a_reason(
    log: Log, when: str, status: int, kinds: list[str]
) -> None:
    sent = talk(build(), f"/refuses/{when}")
    assert [message["type"] for message in sent] == kinds
    assert request_lines(log)[0]["status"] == status
    if kinds[-1] == "websocket.close":
        assert len(sent[-1]["reason"].encode()) <= 123
        assert sent[-1]["reason"].startswith("Ünwanted")


def test_the_error_format_is_part_of_the_openapi_document() -> None:
    document = build().openapi()
    documented = document["paths"]["/orders/{order_id}"]["post"]["responses"]
    assert documented["default"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/ErrorAnswer"
    }
    assert "422" not in documented


def talk(app: FastAPI, path: str) -> list[dict[str, Any]]:
    """Speak ASGI to a websocket route: connect, send one message, collect its messages."""
    incoming = [{"type": "websocket.connect"}, {"type": "websocket.receive", "text": "hello"}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return incoming.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": path, "headers": [], "query_string": b"", "subprotocols": []}
    asyncio.run(app(scope, receive, send))
    return sent


@pytest.mark.parametrize("page", ["docs", "redoc"])
def test_api_docs_load_nothing_from_other_hosts(page: str) -> None:
    outer = FastAPI()
    outer.mount("/shop", build())
    with Running(outer) as running:
        page_text = get(f"{running.url}/shop/{page}").text
        loaded = re.findall(r"""(?:src|href|url|spec-url)["']?[=:] ?["']([^"']+)["']""", page_text)
        assert len(loaded) >= 3
        for url in loaded:
            assert url.startswith("/shop/")
            assert get(running.url + url).status_code == 200
        assert "http" not in re.sub("<!--.*?-->", "", page_text, flags=re.DOTALL)


def test_an_application_whose_startup_fails_does_not_serve() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no table"})

    running = Running(app)
    with pytest.raises(ServingError, match="did not start"):
        running.__enter__()


def test_serving_ends_the_lifespan_and_frees_the_port() -> None:
    states: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while True:
            message = await receive()
            states.append(message["type"])
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return

    with Running(app) as running:
        url = running.url
    assert states == ["lifespan.startup", "lifespan.shutdown"]
    with pytest.raises(httpx.ConnectError):
        get(url)


def test_an_idle_connection_is_closed_by_the_client_and_never_during_its_next_request(server: Running) -> None:
    expiry_s = httpx.Limits().keepalive_expiry
    assert expiry_s is not None
    assert expiry_s < KEEP_ALIVE_S
    assert server._server.config.timeout_keep_alive == KEEP_ALIVE_S


def test_forwarding_headers_do_not_change_the_client_address() -> None:
    app = web_application("shop")

    @app.get("/whence")
    async def whence(request: Request) -> dict[str, object]:
        return {"address": request.client and request.client.host, "scheme": request.url.scheme}

    with Running(app) as server:
        result = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https", "Forwarded": "for=203.0.113.9"}
        assert get(f"{server.url}/whence", headers=result).json() == {"address": "127.0.0.1", "scheme": "http"}


def lazy_route() -> LazyRoute:
    """Return the route of a router for `add_routes`."""
    router = api_router(prefix="/shop", tags=["shop"])

    @router.put("/orders/{order_id}")
    def change(order_id: int, order: Order) -> dict[str, int]:
        return {"order": order_id, "count": order.count}

    (route,) = router.routes
    assert isinstance(route, LazyRoute)
    return route


def test_a_route_is_built_on_its_first_request() -> None:
    app = web_application("shop")
    route = lazy_route()
    app.router.routes.append(route)
    with Running(app) as server:
        assert get(f"{server.url}/shop/orders/1").status_code == 405
        assert get(f"{server.url}/health/live").status_code == 200
        assert "dependant" not in vars(route)

        reply = request("PUT", f"{server.url}/shop/orders/1", json={"name": "tea", "count": 2})
        assert reply.json() == {"order": 1, "count": 2}
        assert request("PUT", f"{server.url}/shop/orders/one", json={}).status_code == 422
    assert "dependant" in vars(route)


def test_the_openapi_document_contains_routes_that_no_request_has_built() -> None:
    app = web_application("shop")
    router = api_router(tags=["shop"])

    @router.get("/stock", summary="List the stock")
    def stock(limit: int) -> list[Order]:
        return []

    add_routes(app, router)
    operation = app.openapi()["paths"]["/stock"]["get"]
    assert operation["summary"] == "List the stock"
    assert operation["tags"] == ["shop"]
    assert [parameter["name"] for parameter in operation["parameters"]] == ["limit"]
    assert "ErrorAnswer" in str(operation["responses"]["default"])
    assert "Order" in app.openapi()["components"]["schemas"]


def test_a_route_is_built_once_by_concurrent_readers() -> None:
    route = lazy_route()
    with ThreadPoolExecutor(8) as pool:
        dependants = [future.result() for future in [pool.submit(lambda: route.dependant) for _ in range(8)]]
    assert len({id(dependant) for dependant in dependants}) == 1


def test_a_route_has_no_unknown_attributes() -> None:
    with pytest.raises(AttributeError, match="colour"):
        _ = lazy_route().colour


def test_a_mistake_in_a_route_is_raised_by_each_request() -> None:
    router = api_router()

    @router.get("/stock")
    def stock(limit: object = Depends(3)) -> None:  # type: ignore[arg-type]
        """Depend on a value that is not callable."""

    (route,) = router.routes
    assert isinstance(route, LazyRoute)
    for _ in range(2):
        with pytest.raises(TypeError, match="callable"):
            _ = route.dependant
