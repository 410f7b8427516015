"""An application behind a real socket: how every system is served, and one in a thread for tests and scripts.

    with Running(app) as server:
        httpx.get(f"{server.url}/health")

It is the same uvicorn either way, so what tests see is what runs.
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
"""How long an idle connection stays open: longer than clients and load balancers keep theirs, so that none sends a
request on a connection that is just being closed here."""
MESSAGE_BYTES: Final = 128 * 1024
"""The longest websocket message that is read, as behind Amazon API Gateway; a longer one ends its connection (1009)."""


class ServingError(Exception):
    """The application did not start, or did not stop in time."""


class _Server(uvicorn.Server):
    """Says when it takes connections, so that nobody has to ask again and again."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.settled = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.settled.set()


class Running:
    """Runs an ASGI application in a thread while the `with` block lasts, on a free port of this machine."""

    def __init__(self, app: Any) -> None:
        self._server = _Server(server_config(app))
        self._socket: socket.socket | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="keyplan-web", daemon=True)

    def __enter__(self) -> Running:
        """Start; returns once connections are taken. ServingError if the application's startup fails."""
        self._socket = socket.create_server((_HOST, 0))
        self._thread.start()
        settled = self._server.settled.wait(START_TIMEOUT_S)
        if self._failure is not None or not settled or not self._server.started:
            self._stop()
            raise ServingError("the application did not start; its log says why") from self._failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop: answer what is under way, then end the application's lifespan."""
        self._stop()
        if self._thread.is_alive() and error is None:
            raise ServingError(f"the application did not stop within {STOP_TIMEOUT_S:g} seconds")

    @property
    def port(self) -> int:
        """The port it listens on."""
        if self._socket is None:
            raise ServingError("the application is not running")
        port: int = self._socket.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """Its address without a slash at the end, such as http://127.0.0.1:40123."""
        return f"http://{_HOST}:{self.port}"

    def _run(self) -> None:
        assert self._socket is not None
        try:
            self._server.run(sockets=[self._socket])
        except BaseException as error:  # noqa: BLE001 - handed to the starting thread, which raises it
            self._failure = error
        finally:
            self._server.settled.set()

    def _stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(STOP_TIMEOUT_S)
        if self._thread.is_alive():
            self._server.force_exit = True
            self._thread.join(STOP_TIMEOUT_S)
        if self._socket is not None:
            self._socket.close()


def server_config(app: Any, *, grace_s: float = STOP_TIMEOUT_S / 2) -> uvicorn.Config:
    """How an application is served; `grace_s` is what requests under way have when it stops."""
    # The application writes one line per request itself; the server's name is nobody's business. Left to itself uvicorn
    # takes the caller's address from X-Forwarded-For wherever a connection comes from this machine, so that anybody
    # here, or behind a proxy that passes the header on, could say who they are. Which proxies are trusted is a setting.
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
