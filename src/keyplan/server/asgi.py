"""The same protocol as an ASGI 3 application: to mount beside others or run under any ASGI server.

    app = DynamoDBApplication(engine)

Requests that reach the loop in one turn share a commit here as well (see `turns`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from keyplan.limits import REQUEST_BYTES
from keyplan.server.protocol import Call, DynamoDBProtocol, ServedEngine
from keyplan.server.sigv4 import Signatures
from keyplan.server.turns import Turns, Work
from keyplan.server.wire import Answer, Request

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


class _DisconnectedError(Exception):
    """The client left before its request was complete."""


class _Waiter:
    """The lane of one request: a future for its answer."""

    def __init__(self, work: Call | Answer, loop: asyncio.AbstractEventLoop) -> None:
        self.works: deque[Work] = deque((work,))
        self.queued = False
        self.stalled = False
        self.future: asyncio.Future[Answer] = loop.create_future()

    def answered(self, answer: Answer) -> None:
        """Wake the request, if it still waits."""
        if not self.future.done():
            self.future.set_result(answer)


class DynamoDBApplication:
    """An ASGI application over one engine, which stays the caller's to close."""

    def __init__(self, engine: ServedEngine, *, signatures: Signatures | None = None) -> None:
        self._protocol = DynamoDBProtocol(engine, signatures=signatures)
        self._turns: Turns | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one scope: http or lifespan; anything else is refused."""
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})
        else:
            raise ValueError(f"unknown ASGI scope {scope['type']!r}")

    async def _serve(self, scope: Message, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        try:
            body = await _body(receive)
        except _DisconnectedError:
            return
        if body is None:
            answer = self._protocol.too_large(headers)
        else:
            method = scope["method"].encode("latin-1")
            request = Request(method, _target(scope), headers, body)
            answer = await self._answer(self._protocol.read(request))
        await send(
            {
                "type": "http.response.start",
                "status": answer.status,
                "headers": [(name.lower(), value) for name, value in answer.headers()],
            }
        )
        shown = b"" if scope["method"] == "HEAD" else answer.body
        await send({"type": "http.response.body", "body": shown})

    async def _answer(self, work: Call | Answer) -> Answer:
        if isinstance(work, Answer):
            return work
        loop = asyncio.get_running_loop()
        turns = self._turns
        if turns is None or self._loop is not loop:
            turns = self._turns = Turns(self._protocol, loop)
            self._loop = loop
        waiter = _Waiter(work, loop)
        turns.enqueue(waiter)
        return await waiter.future


def _headers(scope: Message) -> dict[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        known = name.lower()
        headers[known] = headers[known] + b"," + value if known in headers else value
    return headers


def _target(scope: Message) -> bytes:
    """Path and query as sent. The part under which the application is mounted stays: clients sign
    it; only the health page is looked for below it."""
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    root = (scope.get("root_path") or "").encode()
    if scope["method"] != "POST" and root and path.startswith(root):
        path = path[len(root) :]
    query: bytes = scope.get("query_string", b"")
    return path + b"?" + query if query else path


async def _body(receive: Receive) -> bytes | None:
    """The whole body, or None when it is over the limit (it is read to its end all the same)."""
    chunks: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _DisconnectedError
        chunk = message.get("body", b"")
        size += len(chunk)
        if size <= REQUEST_BYTES:
            chunks.append(chunk)
        else:
            chunks.clear()
        more = message.get("more_body", False)
    return b"".join(chunks) if size <= REQUEST_BYTES else None


async def _live(receive: Receive, send: Send) -> None:
    """The lifespan protocol: there is nothing to start or stop."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
