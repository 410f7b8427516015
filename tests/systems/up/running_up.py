"""`keyplan up` in a thread of the test, and requests to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import httpx

from keyplan_systems.up.launch import Settings, prepare
from keyplan_systems.web.server import Running

PATIENCE_S = 200
"""Timeout of a request, generous for busy machines."""
get, post = partial(httpx.get, timeout=PATIENCE_S), partial(httpx.post, timeout=PATIENCE_S)


@contextmanager
def running(settings: Settings) -> Iterator[tuple[str, list[str]]]:
    """Serve the systems; yield the address and the lines that the command prints."""
    messages: list[str] = []
    with ExitStack() as stack:
        host = prepare(settings, stack, messages.append)
        with Running(host) as server:
            yield server.url, messages
        assert host.workers.stop()
