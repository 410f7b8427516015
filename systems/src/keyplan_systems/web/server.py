"""Runs the example systems on an HTTP server. For tests and scripts, the server can run in a thread.

    with Running(app) as server:
        httpx.get(f"{server.url}/health")

Tests use the same configuration of uvicorn as production.
"""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Any, Final

import uvicorn

_HOST: Final = "127.0.0.1"
START_TIMEOUT_S: Final = 30.0
STOP_TIMEOUT_S: Final = 10.0
KEEP_ALIVE_S: Final = 75
"""Time in seconds for which an idle connection stays open.

It is longer than the idle timeouts of clients and load balancers, so they do not send a request on a connection that
the server is closing.
"""
MESSAGE_BYTES: Final = 128 * 1024
"""Maximum size of a WebSocket message in bytes, as in Amazon API Gateway. If a client sends a larger message, the
connection is closed with code 1009.
"""


class ServingError(Exception):
    """Raised if the application cannot be started or does not stop in time."""


class _Server(uvicorn.Server):
    """A server that signals when it accepts connections, so that callers do not need to poll it."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.startup_ended = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.startup_ended.set()


class Running:
    """A context manager that runs an ASGI application in a thread, on a port of the loopback interface."""

    def __init__(self, app: Any, port: int = 0) -> None:
        """Create the server. If `port` is 0, a free port is selected."""
        self._requested_port = port
        self._server = _Server(server_config(app))
        self._socket: socket.socket | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="keyplan-web", daemon=True)

    def __enter__(self) -> Running:
        """Start the server and wait until it accepts connections. Raises ServingError if it cannot be started."""
        self._socket = socket.create_server((_HOST, self._requested_port))
        self._thread.start()
        startup_has_ended = self._server.startup_ended.wait(START_TIMEOUT_S)
        if self._failure is not None or not startup_has_ended or not self._server.started:
            self._stop()
            raise ServingError("the application did not start: see its log") from self._failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server: finish the current requests, and then shut down the application. Raises ServingError if the
        application does not stop in time.
        """
        self._stop()
        if self._thread.is_alive() and error is None:
            raise ServingError(f"the application did not stop within {STOP_TIMEOUT_S:g} seconds")

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        if self._socket is None:
            raise ServingError("the application is not running")
        port: int = self._socket.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """The base URL without a trailing slash, such as http://127.0.0.1:40123."""
        return f"http://{_HOST}:{self.port}"

    def _run(self) -> None:
        assert self._socket is not None
        try:
            self._server.run(sockets=[self._socket])
        except BaseException as error:  # noqa: BLE001 - the starting thread raises it
            self._failure = error
        finally:
            self._server.startup_ended.set()

    def _stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(STOP_TIMEOUT_S)
        if self._thread.is_alive():
            self._server.force_exit = True
            self._thread.join(STOP_TIMEOUT_S)
        if self._socket is not None:
            self._socket.close()


def server_config(app: Any, *, grace_s: float = STOP_TIMEOUT_S / 2) -> uvicorn.Config:
    """Return the configuration of uvicorn. When the server stops, it waits for at most `grace_s` seconds until the
    current requests are finished.
    """
    # The application logs each request itself, and the server's name is not published. By default uvicorn reads the
    # caller's address from X-Forwarded-For on every connection from this machine, so that any local program, or any
    # client of a proxy that forwards the header, could forge its address. Trusted proxies are configured separately.
    return uvicorn.Config(
        app,
        proxy_headers=False,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        ws_max_size=MESSAGE_BYTES,
        timeout_graceful_shutdown=int(grace_s),
    )
