"""The web console, which shows tables, items, the design, load and systems in a browser.

    console = Console(Source.file("data.db"))
    uvicorn.run(console.site(), port=8001)  # then open console.url("http://127.0.0.1:8001")

`Console.app` serves the paths below /console/. It can be mounted in an application that serves `keyplan.pages.ASSETS`.
`Console.site()` returns a complete application. Each group of pages is a module or folder: `data`, `design`, `load`
and `home`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keyplan.console.access import Access
    from keyplan.console.application import Console
    from keyplan.console.source import Source
    from keyplan.console.watching import WatchedDesign

__all__ = ["Access", "Console", "Source", "WatchedDesign"]

_HOMES = {"Access": "access", "Console": "application", "Source": "source", "WatchedDesign": "watching"}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `keyplan serve` can record load without importing the pages."""
    if name not in _HOMES:
        raise AttributeError(f"module 'keyplan.console' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"keyplan.console.{_HOMES[name]}"), name)
    return value
