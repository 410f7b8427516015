"""The HTTP server in a thread."""

from __future__ import annotations

import asyncio

import pytest

from keyplan.engine.engine import Engine
from keyplan.server import thread
from keyplan.testing.endpoint import serving


def test_a_loop_that_cannot_be_created_raises_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> asyncio.AbstractEventLoop:
        raise OSError("too many open files")

    monkeypatch.setattr(thread, "loop_factory", refuse)
    with Engine.memory() as engine, pytest.raises(OSError, match="too many open files"), serving(engine):
        pass
