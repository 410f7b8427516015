"""The HTTP server as the whole work of a process: until SIGINT or SIGTERM, then drained."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Callable

from keyplan.server.asyncio_server import Server, loop_factory
from keyplan.server.protocol import DynamoDBProtocol

GC_THRESHOLDS = (20_000, 20, 50)
SWITCH_S = 0.00005
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_until_stopped(protocol: DynamoDBProtocol, bound: socket.socket, started: Callable[[], None]) -> int:
    """Serve on a bound socket until a signal; how many connections had to be cut off at the end.

    `started` is called when connections are accepted. A second signal ends the grace for requests
    in flight at once.
    """
    # Requests make many objects and no cycles: what is there now stays, and new ones are looked at less often.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    # A thread that comes back from a sync should not wait long for a loop that is busy with requests.
    sys.setswitchinterval(SWITCH_S)
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(_serve(protocol, bound, started))


async def _serve(protocol: DynamoDBProtocol, bound: socket.socket, started: Callable[[], None]) -> int:
    loop = asyncio.get_running_loop()
    asked = asyncio.Event()
    insisted = asyncio.Event()

    def ask() -> None:
        (insisted if asked.is_set() else asked).set()

    _on_signals(loop, ask)
    server = Server(protocol)
    await server.listen(bound)
    started()
    await asked.wait()
    stopping = asyncio.ensure_future(server.stop())
    insisting = asyncio.ensure_future(insisted.wait())
    await asyncio.wait((stopping, insisting), return_when=asyncio.FIRST_COMPLETED)
    insisting.cancel()
    if not stopping.done():
        server.abort()
    return await stopping


def _on_signals(loop: asyncio.AbstractEventLoop, ask: Callable[[], None]) -> None:
    """Have the loop call `ask` at each signal; Windows loops know no signals of their own."""
    for number in _SIGNALS:
        try:
            loop.add_signal_handler(number, ask)
        except NotImplementedError:
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(ask))
