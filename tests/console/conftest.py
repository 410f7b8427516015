"""Consoles on real sockets, and the browser that visits them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.browser import Window, Windows, browser, prompt_servers, windows

from keyplan.console import Console, Source
from keyplan.engine.engine import Engine
from keyplan_systems.web.server import Running

__all__ = ["browser", "prompt_servers", "windows"]


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.memory() as engine:
        yield engine


@pytest.fixture
def visit(windows: Windows) -> Iterator[Callable[..., Window]]:
    """Yield a function that serves a console of an engine or source, and opens its link in a new window."""
    with ExitStack() as stack:

        def opened(subject: Engine | Source, *, width: int = 1280, dark: bool = False, **options: Any) -> Window:
            scripts = options.pop("scripts", True)
            source = subject if isinstance(subject, Source) else Source.from_engine(subject)
            console = Console(source, **options)
            server = stack.enter_context(Running(console.site()))
            window = windows.open(server.url, width=width, dark=dark, scripts=scripts)
            window.page.goto(console.url(server.url))
            return window

        yield opened
        windows.close()
