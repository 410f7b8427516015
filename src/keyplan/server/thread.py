"""The HTTP server in a separate thread, for tests and for programs without an event loop.

with ThreadedServer(engine) as endpoint:
    boto3.client("dynamodb", endpoint_url=endpoint.url, ...)
"""

from __future__ import annotations

import asyncio
import socket
import threading
from types import TracebackType

from keyplan.server.asyncio_server import (
    GRACE_S,
    IDLE_S,
    REQUEST_S,
    Server,
    bind,
    loop_factory,
    url_of,
)
from keyplan.server.hosts import LocalHosts
from keyplan.server.protocol import DynamoDBProtocol, ServedEngine
from keyplan.server.sigv4 import SignatureChecker


class ThreadedServer:
    """An HTTP server for an engine. The server runs in a separate thread until `stop` is called.

    The caller must close the engine.
    """

    def __init__(
        self,
        engine: ServedEngine,
        *,
        port: int = 0,
        signatures: SignatureChecker | None = None,
        idle_s: float = IDLE_S,
        request_s: float = REQUEST_S,
    ) -> None:
        hosts = LocalHosts() if signatures is None else None
        self._protocol = DynamoDBProtocol(engine, signatures=signatures, hosts=hosts)
        self._idle_s = idle_s
        self._request_s = request_s
        self._socket = bind("127.0.0.1", port)
        self.url = url_of(self._socket)
        self.port: int = self._socket.getsockname()[1]
        self._grace_s = GRACE_S
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="keyplan-http", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure

    def __enter__(self) -> ThreadedServer:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self, grace_s: float = GRACE_S) -> None:
        """Stop the server after the requests in progress, or after `grace_s` seconds.

        Calling this method again has no effect.
        """
        if self._loop is not None and self._stopping is not None and self._thread.is_alive():
            self._grace_s = grace_s
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=loop_factory) as runner:
                runner.run(self._serve(self._socket))
        except BaseException as error:
            self._failure = error
            if self._ready.is_set():  # otherwise the constructor raises the error
                raise
        finally:
            self._socket.close()
            self._ready.set()

    async def _serve(self, server_socket: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        server = Server(self._protocol, idle_s=self._idle_s, request_s=self._request_s)
        await server.listen(server_socket)
        self._ready.set()
        await self._stopping.wait()
        await server.stop(self._grace_s)
