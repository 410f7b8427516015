"""Pages of Ask-a-Human over a stage, with a clock that only tests move."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Mount
from tests.browser import PHONE, Window, Windows
from tests.systems.app_clients import passing_check
from tests.systems.ask_a_human.stage import Stage

from keyplan.pages import ASSETS, assets_of
from keyplan_systems.ask_a_human.api import application
from keyplan_systems.ask_a_human.pages import add_pages
from keyplan_systems.web.server import Running
from keyplan_systems.web.sessions import Sessions

KEY = b"k" * 32


@dataclass
class PageSite:
    """Pages of a stage, and the windows of the people who use them."""

    stage: Stage
    windows: Windows
    url: str

    def open(self, path: str = "", **options: Any) -> Window:
        """Open a person's window, of a phone by default, at a path below the pages'."""
        window = self.windows.open(f"{self.url}/ask_a_human/app/", **{"width": PHONE, **options})
        window.expected.append("when fetching the script")  # the service worker, of a window that is closed at once
        window.goto(path)
        return window

    def create_question(self, prompt: str, **body: Any) -> str:
        """Ask a question and return its ID."""
        return self.stage.create_question(prompt=prompt, **body)


@contextmanager
def page_site(stage: Stage, windows: Windows, push_key: str | None = None) -> Iterator[PageSite]:
    """Serve the pages as `keyplan up` does, below the system's name."""
    system = application(stage.service, {"table": passing_check})
    add_pages(system, stage.service, 0, push_key)
    routes = [Mount(ASSETS, app=assets_of("keyplan.pages")), Mount("/ask_a_human", app=system)]
    with Running(Sessions(Starlette(routes=routes), KEY, stage.clock)) as server:
        yield PageSite(stage, windows, server.url)
