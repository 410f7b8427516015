"""An HTTP server in a thread of its own, for clients that want an endpoint URL."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from keyplan.server.asyncio_server import Server, bind, loop_factory, url_of
from keyplan.server.protocol import DynamoDBProtocol, ServedEngine


@contextmanager
def serving(engine: ServedEngine) -> Iterator[str]:
    """Serve the engine on a free port of this machine; gives the URL. The engine stays open."""
    bound = bind("127.0.0.1", 0)
    ready: Future[Callable[[], object]] = Future()
    thread = threading.Thread(target=_run, args=(engine, bound, ready), name="keyplan-endpoint", daemon=True)
    url = url_of(bound)
    thread.start()
    stop = ready.result()
    try:
        yield url
    finally:
        stop()
        thread.join()


def _run(engine: ServedEngine, bound: socket.socket, ready: Future[Callable[[], object]]) -> None:
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:  # makes the loop, which may fail too
            runner.run(_serve(engine, bound, ready))
    except Exception as error:
        if ready.done():
            raise
        bound.close()
        ready.set_exception(error)


async def _serve(engine: ServedEngine, bound: socket.socket, ready: Future[Callable[[], object]]) -> None:
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    server = Server(DynamoDBProtocol(engine))
    await server.listen(bound)
    ready.set_result(lambda: loop.call_soon_threadsafe(stopping.set))
    await stopping.wait()
    await server.stop()
