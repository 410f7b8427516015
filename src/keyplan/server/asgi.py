"""The DynamoDB protocol as an ASGI 3 application. Run it in an ASGI server, or mount it in another application.

    app = DynamoDBApplication(engine)

Requests that arrive in the same iteration of the event loop share a commit (see `turns`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias

from keyplan.limits import REQUEST_BYTES, REQUEST_HEAD_BYTES
from keyplan.server.hosts import LocalHosts, is_loopback
from keyplan.server.protocol import DynamoDBProtocol, ProtocolCall, ServedEngine
from keyplan.server.sigv4 import SignatureChecker
from keyplan.server.turns import Job, Turns
from keyplan.server.wire import Request, Response

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


class _DisconnectedError(Exception):
    """Raised if the client disconnects before its request is complete."""


class _Waiter:
    """The queue of a single ASGI request, with a future that receives the response."""

    def __init__(self, job: ProtocolCall | Response, loop: asyncio.AbstractEventLoop) -> None:
        self.jobs: deque[Job] = deque((job,))
        self.queued = False
        self.stalled = False
        self.future: asyncio.Future[Response] = loop.create_future()

    def send_response(self, response: Response) -> None:
        """Set the response as the result of the future, unless the ASGI request was cancelled."""
        if not self.future.done():
            self.future.set_result(response)


class DynamoDBApplication:
    """An ASGI application that serves one engine. The caller must close the engine.

    `signatures` checks the signatures of requests. If it is None, any access key is accepted, and a request to a
    loopback address is rejected if its Host or Origin header contains a name that is neither a loopback name nor one of
    `hosts`. See `keyplan.server.hosts`.
    """

    def __init__(
        self, engine: ServedEngine, *, signatures: SignatureChecker | None = None, hosts: Iterable[str] = ()
    ) -> None:
        self._hosts = LocalHosts(hosts) if signatures is None else None
        self._protocol = DynamoDBProtocol(engine, signatures=signatures)
        self._turns: Turns | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve an ASGI connection of type http or lifespan. A websocket connection is closed. Raises ValueError for
        any other type.
        """
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "lifespan":
            await _run_lifespan(receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})
        else:
            raise ValueError(f"unknown ASGI scope {scope['type']!r}")

    async def _serve(self, scope: Message, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        target = _target(scope)
        try:
            body = await _body(receive)
        except _DisconnectedError:
            return
        reason = self._hosts.refusal(headers) if self._hosts is not None and _is_local(scope) else None
        if reason is not None:
            response = self._protocol.forbidden(reason)
        elif _head_bytes(target, headers) > REQUEST_HEAD_BYTES:
            response = self._protocol.malformed(400)
        elif body is None:
            response = self._protocol.too_large(headers)
        else:
            method = scope["method"].encode("latin-1")
            mount = (scope.get("root_path") or "").encode()
            request = Request(method, target, headers, body, mount)
            response = await self._answer(self._protocol.read(request))
        await send(
            {
                "type": "http.response.start",
                "status": response.status,
                "headers": [(name.lower(), value) for name, value in response.headers()],
            }
        )
        content = b"" if scope["method"] == "HEAD" else response.body
        await send({"type": "http.response.body", "body": content})

    async def _answer(self, job: ProtocolCall | Response) -> Response:
        if isinstance(job, Response):
            return job
        loop = asyncio.get_running_loop()
        turns = self._turns
        if turns is None or self._loop is not loop:
            turns = self._turns = Turns(self._protocol, loop)
            self._loop = loop
        waiter = _Waiter(job, loop)
        turns.enqueue(waiter)
        return await waiter.future


def _headers(scope: Message) -> dict[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        lower = name.lower()
        headers[lower] = headers[lower] + b"," + value if lower in headers else value
    return headers


def _is_local(scope: Message) -> bool:
    """Return True if the client connected to a loopback address. Only such requests are checked for DNS rebinding."""
    server = scope.get("server")
    return server is not None and is_loopback(server[0])


def _head_bytes(target: bytes, headers: dict[bytes, bytes]) -> int:
    """Return the size in bytes of the request target and the headers."""
    return len(target) + sum([len(name) + len(value) + 4 for name, value in headers.items()])


def _target(scope: Message) -> bytes:
    """Return the path and query of a request as sent, including the mount path. Clients sign the path in this form."""
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope.get("query_string", b"")
    return path + b"?" + query if query else path


async def _body(receive: Receive) -> bytes | None:
    """Read the whole request body and return it, or None if it exceeds the size limit."""
    chunks: list[bytes] = []
    size = 0
    has_more = True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _DisconnectedError
        chunk = message.get("body", b"")
        size += len(chunk)
        if size <= REQUEST_BYTES:
            chunks.append(chunk)
        else:
            chunks.clear()
        has_more = message.get("more_body", False)
    return b"".join(chunks) if size <= REQUEST_BYTES else None


async def _run_lifespan(receive: Receive, send: Send) -> None:
    """Run the lifespan protocol. The application has nothing to do at startup or shutdown."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
