"""The HTTP server of the console. It runs standalone, or serves connections that `keyplan serve` has accepted."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from keyplan.console import Console
from keyplan.server.asyncio_server import url_of

_GRACE_S: Final = 5
_KEEP_ALIVE_S: Final = 75


class SignalServer(uvicorn.Server):
    """An HTTP server that stops on SIGINT and SIGTERM without ending the process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM. Unlike in Uvicorn, they are not raised again after the server has stopped."""
        signals = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in signals}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def run(console: Console, server_socket: socket.socket, print_line: Callable[[str], None]) -> None:
    """Serve a console on a bound socket until SIGINT or SIGTERM. `print_line` is called with each line of output."""
    server_socket.listen()  # the URL works as soon as it is printed
    print_line(f"{console.source.name}{' (read-only)' if console.source.read_only else ''}; stop with Ctrl-C")
    print_line(f"open {console.url(url_of(server_socket))}")
    SignalServer(_config(console.site())).run(sockets=[server_socket])
    print_line("stopped")


class Handover:
    """The HTTP server for the console's connections, which another server has accepted."""

    def __init__(self, app: ASGIApp) -> None:
        """Create a server for the application `app`. An event loop must be running."""
        self._config = _config(app)
        self._config.load()
        self._state = ServerState()

    def protocol(self) -> asyncio.Protocol:
        """Return an asyncio protocol for a new connection."""
        return HttpToolsProtocol(self._config, self._state, {}, asyncio.get_running_loop())

    async def stop(self, grace_s: float = _GRACE_S) -> None:
        """Close each connection after the response in progress. Close all connections after `grace_s` seconds."""
        for connection in list(self._state.connections):
            connection.shutdown()
        if self._state.tasks:
            await asyncio.wait(list(self._state.tasks), timeout=grace_s)
        for connection in list(self._state.connections):
            connection.transport.abort()


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        proxy_headers=False,  # by default any local program could forge its address
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_GRACE_S,
        ws="none",
    )
