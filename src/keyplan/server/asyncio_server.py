"""The asyncio HTTP server of `keyplan serve`. When it stops, it first completes the requests in progress."""

from __future__ import annotations

import asyncio
import socket
from typing import Protocol

from keyplan.clock import SystemClock
from keyplan.server.connection import HttpConnection
from keyplan.server.protocol import DynamoDBProtocol
from keyplan.server.turns import Turns
from keyplan.server.wire import http_date

BACKLOG = 1024
IDLE_S = 120.0  # closes a connection without a request
REQUEST_S = 120.0  # limits the time to receive a request, and the time in which a client does not read
GRACE_S = 5.0  # limits the time for requests in flight when the server stops


class WebPages(Protocol):
    """The interface of an HTTP server for browsers that shares the port with the DynamoDB protocol."""

    def protocol(self) -> asyncio.Protocol:
        """Return an asyncio protocol for a new connection."""

    async def stop(self) -> None:
        """Close each connection after the response in progress."""


class Server:
    """An HTTP server for the DynamoDB protocol, which can listen on several sockets.

    Create and use the server inside a running event loop.
    """

    def __init__(
        self,
        protocol: DynamoDBProtocol,
        *,
        idle_s: float = IDLE_S,
        request_s: float = REQUEST_S,
        pages: WebPages | None = None,
    ) -> None:
        """Create a server. `pages` serves connections of browsers, which start with a GET or HEAD request or with a
        request to the web console.

        A connection is closed if it is idle for `idle_s` seconds, or if a request does not arrive completely within
        `request_s` seconds.
        """
        self.protocol = protocol
        self.loop = asyncio.get_running_loop()
        self.turns = Turns(protocol, self.loop)
        self._clock = SystemClock()
        self._idle_s = idle_s
        self._request_s = request_s
        self._pages = pages
        self._connections: set[HttpConnection] = set()
        self._listeners: list[asyncio.AbstractServer] = []
        self._sweep: asyncio.TimerHandle | None = None
        self._empty: asyncio.Event | None = None
        self._aborted = 0
        self._date_s = 0
        self._date = b""

    async def listen(self, server_socket: socket.socket) -> None:
        """Accept connections on a socket that is already bound to an address."""
        listener = await self.loop.create_server(lambda: HttpConnection(self), sock=server_socket, backlog=BACKLOG)
        self._listeners.append(listener)

    async def stop(self, grace_s: float = GRACE_S) -> int:
        """Stop accepting connections, complete the requests in progress, and close all connections.

        Connections that are still open after `grace_s` seconds are aborted. Returns the number of aborted connections.
        """
        for listener in self._listeners:
            listener.close()
        self._listeners.clear()
        self._empty = asyncio.Event()
        if self._pages is not None:
            await self._pages.stop()
        for connection in list(self._connections):
            connection.drain()
        if self._connections:
            try:
                await asyncio.wait_for(self._empty.wait(), grace_s)
            except TimeoutError:
                self.abort()
                await self._empty.wait()
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        return self._aborted

    def abort(self) -> None:
        """Abort all open connections."""
        self._aborted += len(self._connections)
        for connection in list(self._connections):
            connection.abort()

    def add(self, connection: HttpConnection) -> None:
        """Register a new connection."""
        self._connections.add(connection)
        if self._empty is not None:
            connection.drain()  # accepted while the server stops
        elif self._sweep is None:
            self._sweep_later()

    def remove(self, connection: HttpConnection) -> None:
        """Remove a connection that has been closed or passed to the server for browsers."""
        self._connections.discard(connection)
        if self._empty is not None and not self._connections:
            self._empty.set()

    def pages(self) -> asyncio.Protocol | None:
        """Return a protocol for a connection from a browser, or None if the server does not serve web pages."""
        return None if self._pages is None else self._pages.protocol()

    def date(self) -> bytes:
        """Return the value of the Date header for responses that are sent now."""
        now_s = int(self._clock.now())
        if now_s != self._date_s:
            self._date_s = now_s
            self._date = http_date(now_s)
        return self._date

    def _sweep_later(self) -> None:
        pause_s = min(self._idle_s, self._request_s) / 4
        self._sweep = self.loop.call_later(pause_s, self._sweep_now)

    def _sweep_now(self) -> None:
        """Close connections that have exceeded a time limit, and schedule the next check if connections are
        still open.
        """
        self._sweep = None
        now_s = self.loop.time()
        for connection in list(self._connections):
            connection.check_time_limits(now_s, self._idle_s, self._request_s)
        if self._connections:
            self._sweep_later()


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to the address but not yet listening. Port 0 selects a free port.

    Raises OSError if the address is not available.
    """
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV)
    family, socket_type, protocol, _, address = addresses[0]
    server_socket = socket.socket(family, socket_type, protocol)
    try:
        # Without it, a restart must wait until connections of the previous run have timed out. On Windows, the same
        # option would let two servers share the port.
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):
            server_socket.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            server_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server_socket.bind(address)
    except OSError:
        server_socket.close()
        raise
    return server_socket


def url_of(server_socket: socket.socket) -> str:
    """Return the HTTP URL of a bound socket."""
    host, port = server_socket.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def loop_factory() -> asyncio.AbstractEventLoop:
    """Return a uvloop event loop if uvloop is installed, otherwise an asyncio event loop."""
    try:
        import uvloop  # noqa: PLC0415 - optional, and not available on Windows
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
