"""An HTTP server in a separate thread, for clients that need an endpoint URL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from keyplan.server.protocol import ServedEngine
from keyplan.server.thread import ThreadedServer


@contextmanager
def serving(engine: ServedEngine) -> Iterator[str]:
    """Serve an engine over HTTP on a free port of this machine, and yield the URL. The engine is not closed
    afterwards.
    """
    with ThreadedServer(engine) as server:
        yield server.url
