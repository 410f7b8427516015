"""The outermost middleware. It assigns request IDs, logs one line per request, limits the size of request bodies, and
handles unexpected errors.

It is an ASGI middleware that wraps `receive` and `send`. It does not buffer responses, so it does not affect streaming,
WebSocket connections or context variables.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keyplan.clock import Clock, SystemClock
from keyplan_systems.web.pages import add_security_headers
from keyplan_systems.web.problems import Problem, ProblemStyle, problem_response, server_problem
from keyplan_systems.web.request_context import RequestContext, enter_context, leave_context

access_log = logging.getLogger("keyplan_systems.requests")

REQUEST_ID_HEADER: Final = "X-Request-Id"
UNREADABLE_HEADER: Final = "X-Unreadable-Items"
"""Response header with the number of items that were omitted from a list because they cannot be read.

The log contains the keys of these items.
"""
DEFAULT_BODY_LIMIT_BYTES: Final = 1024 * 1024

_WELL_FORMED_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,127}")
_LOGGED_PATH_CHARACTERS: Final = 200


def request_id_from(header: str | None, new_id: Callable[[], str]) -> str:
    """Return the request ID in the header if it is valid, or a new ID otherwise.

    A valid ID consists of 8 to 128 letters, digits, dots and dashes.
    """
    if header is not None and _WELL_FORMED_ID.fullmatch(header):
        return header
    return new_id()


class RequestMiddleware:
    """The outermost middleware of an application, which must be added last."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        style: ProblemStyle | None = None,
        clock: Clock | None = None,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
        body_limit_bytes: int = DEFAULT_BODY_LIMIT_BYTES,
    ) -> None:
        self._app = app
        self._style = style or ProblemStyle()
        self._clock = clock or SystemClock()
        self._new_id = new_id
        self._body_limit_bytes = body_limit_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application for an HTTP request or a WebSocket connection, and log the request. Lifespan events are
        passed to the application without a log line.
        """
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        context = RequestContext(request_id_from(headers.get(REQUEST_ID_HEADER), self._new_id))
        scope.setdefault("state", {})["request_id"] = context.request_id
        token = enter_context(context)
        try:
            await self._run_and_log(scope, receive, _Sender(send, context), context)
        finally:
            leave_context(token)

    async def _run_and_log(self, scope: Scope, receive: Receive, sender: _Sender, context: RequestContext) -> None:
        started_s = self._clock.monotonic()
        try:
            await self._run(scope, receive, sender)
        finally:
            elapsed_ms = round((self._clock.monotonic() - started_s) * 1000, 3)
            access_log.info("request", extra={**_log_fields(scope, sender), "duration_ms": elapsed_ms, **context.extra})

    async def _run(self, scope: Scope, receive: Receive, sender: _Sender) -> None:
        """Run the application. If it raises an unexpected error before the response has started, respond with 500."""
        if scope["type"] == "http":
            receive = _LimitedBody(scope, receive, self._body_limit_bytes)
        try:
            await self._app(scope, receive, sender)
        except Exception as error:
            problem = error if isinstance(error, Problem) else server_problem(self._style)
            if problem is not error:
                access_log.exception("unhandled error")
            if sender.started:
                raise
            await problem_response(problem, self._style)(scope, receive, sender)


class _Sender:
    """Wraps `send` to record the status of the response, and to add headers for the request ID, the number of omitted
    items, caching and security.

    A response without Cache-Control and without an entity tag gets `no-store`, because it is intended only for its
    caller. Caches treat a response as private only if the request has an Authorization header, which not every
    application uses.
    """

    def __init__(self, send: Send, context: RequestContext) -> None:
        self._send = send
        self._context = context
        self.started = False
        self.status: int | None = None

    async def __call__(self, message: Message) -> None:
        kind = message["type"]
        if kind in ("http.response.start", "websocket.http.response.start", "websocket.accept"):
            self.started = True
            self.status = message.get("status", 101)
            message.setdefault("headers", [])
            headers = MutableHeaders(scope=message)
            headers[REQUEST_ID_HEADER] = self._context.request_id
            if self._context.unreadable:
                headers[UNREADABLE_HEADER] = str(self._context.unreadable)
            if kind == "http.response.start" and "etag" not in headers:
                headers.setdefault("Cache-Control", "no-store")
            add_security_headers(message)
        elif kind == "websocket.close":
            self.status = message.get("code", 1000) if self.started else 403
            self.started = True
        await self._send(message)


class _LimitedBody:
    """Wraps `receive` to raise a `Problem` with status 413 if the request body exceeds the maximum size."""

    def __init__(self, scope: Scope, receive: Receive, limit_bytes: int) -> None:
        self._receive = receive
        self._limit_bytes = limit_bytes
        self._remaining_bytes = limit_bytes
        content_length = Headers(scope=scope).get("content-length", "")
        self._is_too_large = content_length.isdecimal() and int(content_length) > limit_bytes

    async def __call__(self) -> Message:
        if self._is_too_large:
            raise self._too_large()
        message = await self._receive()
        if message["type"] == "http.request":
            self._remaining_bytes -= len(message.get("body", b""))
            if self._remaining_bytes < 0:
                raise self._too_large()
        return message

    def _too_large(self) -> Problem:
        return Problem(413, f"The body may have at most {self._limit_bytes} bytes.")


def _log_fields(scope: Scope, sender: _Sender) -> dict[str, object]:
    """Return the log fields of a request.

    The log contains the path pattern of the route instead of the path, so that lines can be grouped and values in the
    path stay private. The path itself is logged only if no route matches. The query string is never logged.
    """
    route = getattr(scope.get("route"), "path", None)
    fields: dict[str, object] = {
        "method": scope.get("method", "WEBSOCKET"),
        "route": route,
        "status": sender.status,
    }
    if route is None:
        fields["path"] = scope["path"][:_LOGGED_PATH_CHARACTERS]
    return fields
