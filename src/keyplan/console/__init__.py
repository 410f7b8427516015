"""Web console: tables, items, the design, load and systems in a browser.

    console = Console(Source.file("data.db"))
    uvicorn.run(console.site(), port=8001)  # then open console.url("http://127.0.0.1:8001")

`Console.app` is the application below /console/, to mount in an application that serves `keyplan.pages.ASSETS`.
`Console.site()` returns a complete application. Each room of the console is a module or folder: `data`, `design`,
`load` and `home`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from keyplan.console import data, design, home, load
from keyplan.console.access import Access
from keyplan.console.frame import PATH, Frame
from keyplan.console.load.room import LoadRoom
from keyplan.console.source import Source
from keyplan.pages import ASSETS, assets_of

if TYPE_CHECKING:
    from keyplan.design.declaring.design import Design

__all__ = ["Access", "Console", "Source"]


class Console:
    """The web console of one database."""

    def __init__(
        self,
        source: Source,
        *,
        design: Design | None = None,
        designs: Mapping[str, Design] | None = None,
        against: Mapping[str, Design] = MappingProxyType({}),
        overview: home.OverviewSource | None = None,
        token: str | None = None,
        read_only: bool = False,
        access: Access | None = None,
    ) -> None:
        """Create the application.

        `token` gives a browser access. By default, it is random. `read_only` rejects every operation that writes.
        `access` replaces the check of token, Host and Origin. Each design in `designs` has its own pages below
        designs/NAME/. `against` contains other versions of `design` to compare it with. `overview` returns the systems
        that the home page shows.
        """
        if read_only:
            source.read_only = True
        self.access = access if access is not None else Access(token)
        self.source = source
        self._designs = dict(designs or {})
        every = [*(() if design is None else (design,)), *self._designs.values()]
        self.load = LoadRoom(source, every)
        """The state of the Load room."""
        self.frame = Frame(
            source,
            self.access,
            design,
            load=self.load,
            designs=self._designs,
            overview=overview,
            against=against,
        )
        self.app: ASGIApp = self.access.guard(self.frame, self._rooms())
        """ASGI application to mount at /console."""

    def _rooms(self) -> Starlette:
        mounts = [
            Mount(f"/designs/{name}", app=_rooms(Frame(self.source, self.access, one, load=self.load, depth=2)))
            for name, one in self._designs.items()
        ]
        return _rooms(self.frame, *mounts)

    def site(self, rest: ASGIApp | None = None) -> Starlette:
        """Return an application with the console and its files, which passes requests for other paths to `rest`."""
        others = [Mount("/", app=rest)] if rest is not None else [Route("/", _to_console)]
        return Starlette(
            routes=[
                Route(PATH, _to_console),
                Mount(PATH, app=self.app),
                Mount(ASSETS, app=assets_of("keyplan.pages")),
                *others,
            ]
        )

    def url(self, server: str) -> str:
        """Return the URL that opens the console of a server such as http://127.0.0.1:8000, with the token."""
        return f"{server}{PATH}/?token={self.access.token}"


def _rooms(frame: Frame, *mounts: Mount) -> Starlette:
    routes = [
        *mounts,
        *home.routes(frame),
        *data.routes(frame),
        *design.routes(frame),
        *load.routes(frame),
        Mount("/static", app=frame.pages.assets()),
    ]
    return Starlette(routes=routes, exception_handlers=frame.exception_handlers())


def _to_console(request: Request) -> RedirectResponse:
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"{PATH}/{query}", 307)
