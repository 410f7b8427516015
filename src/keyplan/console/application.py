"""The application of the web console, which serves all pages below /console/ and checks access to them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from keyplan.console import data, design, home
from keyplan.console.access import Access
from keyplan.console.frame import PATH, Frame
from keyplan.console.load import pages as load
from keyplan.console.load.state import RecordedLoad
from keyplan.console.source import Source
from keyplan.console.watching import WatchedDesign
from keyplan.pages import ASSETS, assets_of

if TYPE_CHECKING:
    from keyplan.console.load.engine import EngineLoad
    from keyplan.design.declaring.design import Design


class Console:
    """The web console of one database."""

    def __init__(
        self,
        source: Source,
        *,
        design: Design | WatchedDesign | None = None,
        designs: Mapping[str, Design] | None = None,
        against: Mapping[str, Design] = MappingProxyType({}),
        overview: home.OverviewSource | None = None,
        token: str | None = None,
        read_only: bool = False,
        access: Access | None = None,
        recording: EngineLoad | None = None,
    ) -> None:
        """Create the application.

        `design` is the design that the pages show. A `WatchedDesign` is loaded again when one of its files changes.
        `token` is the token that gives a browser access. By default, it is random. If `read_only` is True, every
        operation that writes is rejected. `access` replaces the default checks of the token and the Host and Origin
        headers. Each design in `designs` has its own pages below designs/NAME/. `against` contains other versions of
        `design` for comparison. `overview` returns the systems that the home page shows. `recording` is an observer
        that is already recording the load of the engine.
        """
        if read_only:
            source.read_only = True
        self.access = access if access is not None else Access(token)
        self.source = source
        self._designs = dict(designs or {})
        self._watched = design if isinstance(design, WatchedDesign) else None
        design = design.design if isinstance(design, WatchedDesign) else design
        all_designs = [*(() if design is None else (design,)), *self._designs.values()]
        self.load = RecordedLoad(source, all_designs, recording)
        """The state of the Load pages."""
        self.frame = Frame(
            source,
            self.access,
            design,
            load=self.load,
            designs=self._designs,
            overview=overview,
            against=against,
            watched=self._watched,
        )
        self._pages: ASGIApp = self._create_app()
        self.app: ASGIApp = self.access.guard(self.frame, self._serve)
        """The ASGI application to mount at /console."""

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._watched is not None and scope["type"] == "http":
            await run_in_threadpool(self._watched.refresh, self._replace_design)
        await self._pages(scope, receive, send)

    def _replace_design(self, design: Design) -> None:
        """Replace the design that the pages show with a newly loaded version."""
        self.frame.stop_work()
        self.frame.design = design
        self.load.set_designs([design, *self._designs.values()])
        self._pages = self._create_app()

    def _create_app(self) -> Starlette:
        mounts = [
            Mount(
                f"/designs/{name}",
                app=_pages_app(Frame(self.source, self.access, design_name, load=self.load, depth=2)),
            )
            for name, design_name in self._designs.items()
        ]
        return _pages_app(self.frame, *mounts)

    def site(self, other_app: ASGIApp | None = None) -> Starlette:
        """Return an application that serves the console and its files, and passes requests for other paths
        to `other_app`.
        """
        other_routes = [Mount("/", app=other_app)] if other_app is not None else [Route("/", _to_console)]
        return Starlette(
            routes=[
                Route(PATH, _to_console),
                Mount(PATH, app=self.app),
                Mount(ASSETS, app=assets_of("keyplan.pages")),
                *other_routes,
            ]
        )

    def url(self, server: str) -> str:
        """Return the URL that opens the console on a server such as http://127.0.0.1:8000. The URL contains
        the token.
        """
        return f"{server}{PATH}/?token={self.access.token}"


def _pages_app(frame: Frame, *mounts: Mount) -> Starlette:
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
