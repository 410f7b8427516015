"""The application that serves the home page, the DynamoDB endpoint, the health routes, and each system
under its name.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, cast
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from keyplan.console import Console
from keyplan.console.home import TEMPLATE, Overview
from keyplan.pages import ASSETS, Pages, assets_of
from keyplan_systems.up import home
from keyplan_systems.up.health import SystemHealth, health_of_all, overall
from keyplan_systems.up.registry import HostedSystem
from keyplan_systems.up.workers import Workers
from keyplan_systems.web.authentication import install_verifier, principal_of
from keyplan_systems.web.browsing import viewer_of
from keyplan_systems.web.health import health_response, hide_details
from keyplan_systems.web.pages import with_security_headers
from keyplan_systems.web.problems import Problem, ProblemStyle, framework_problem, problem_response
from keyplan_systems.web.sign_in import SampleSignIn, SignIn
from keyplan_systems.web.tokens import TokenVerifier

_API_DOCS: Final = ("/docs", "/redoc", "/openapi.json", "/schema.graphql")
"""Paths of a system's API documentation, relative to the system's path."""

_log = logging.getLogger("keyplan_systems.up")


class Host:
    """The ASGI application that contains the applications of all systems."""

    def __init__(
        self,
        hosted: Sequence[HostedSystem],
        workers: Workers,
        dynamodb: ASGIApp | None,
        verifier: TokenVerifier | None = None,
        *,
        console: Console | None = None,
        sign_in: SignIn | None = None,
        sessions: Callable[[ASGIApp], ASGIApp] = lambda app: app,
    ) -> None:
        """Create the application.

        If `verifier` is given, the home page, the API docs and the health details require a token that this verifier
        accepts, or a signed-in session. `console` is served at /console. `sign_in` provides the sign-in routes.
        `sessions` is a middleware that is applied to everything except the DynamoDB endpoint.
        """
        self.hosted, self.workers, self._dynamodb, self.console = hosted, workers, dynamodb, console
        self._signs_in_samples = isinstance(sign_in, SampleSignIn)
        self._home_pages = Pages("keyplan.console", "keyplan", static="console/static", viewer=viewer_of)
        routes = [
            Route("/", self._home),
            Route("/health", self._health),
            Route("/health/live", _liveness),
            Route("/health/{system}", self._system_health),
            *(sign_in.routes() if sign_in is not None else ()),
            Mount(ASSETS, app=assets_of("keyplan.pages"), name="assets"),
            Mount("/console/static", app=self._home_pages.assets(), name="console-assets"),
            *(() if console is None else (Mount("/console", app=console.app, name="console"),)),
        ]
        names = [entry.system.name for entry in hosted]
        self._pages = Starlette(
            routes=[
                *routes,
                *(Mount(f"/{entry.system.name}", app=entry.built.app, name=entry.system.name) for entry in hosted),
            ],
            lifespan=self._lifespan,
            exception_handlers={HTTPException: _not_found},
            middleware=[] if verifier is None else [Middleware(_AccessMiddleware, names=names)],
        )
        if verifier is not None:
            install_verifier(self._pages, verifier)
        self._application = sessions(self._pages)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve an HTTP request or a WebSocket connection. DynamoDB requests are passed to the DynamoDB endpoint."""
        if scope["type"] != "lifespan":
            send = with_security_headers(send)
        if self._dynamodb is not None and scope["type"] == "http" and _is_dynamodb_request(scope):
            await self._dynamodb(scope, receive, send)
        else:
            await self._application(scope, receive, send)

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        """Start the systems and then the workers.

        The caller stops the workers after the server has stopped, so that they also process the last writes.
        """
        async with AsyncExitStack() as stack:
            for entry in self.hosted:
                router = getattr(entry.built.app, "router", None)
                if router is not None:
                    await stack.enter_async_context(router.lifespan_context(entry.built.app))
            self.workers.start()
            yield

    async def _home(self, request: Request) -> Response:
        overview = await self.overview(request)
        return self._home_pages.render(
            request, TEMPLATE, layout="keyplan/base.html.j2", overview=overview, is_admitted=False
        )

    async def overview(self, request: Request) -> Overview:
        """Return the data that the home page and the console show."""
        return await home.overview(
            self.hosted,
            self.workers,
            request,
            has_endpoint=self._dynamodb is not None,
            has_console=self.console is not None,
            signs_in_samples=self._signs_in_samples,
        )

    async def _health(self, request: Request) -> Response:
        systems = await health_of_all([entry.built for entry in self.hosted], self.workers)
        status = overall(systems)
        names = [entry.system.name for entry in self.hosted]
        body = {"status": status, "systems": {name: health.body for name, health in zip(names, systems, strict=True)}}
        return health_response(request, body, 503 if status == "failing" else 200)

    async def _system_health(self, request: Request) -> Response:
        matches = [entry for entry in self.hosted if entry.system.name == request.path_params["system"]]
        if not matches:
            raise HTTPException(404)
        system = await SystemHealth.check(matches[0].built, self.workers)
        return health_response(request, system.body, 200 if system.status == "ok" else 503)


class _AccessMiddleware:
    """Middleware that requires a token or a signed-in session for the home page, the API docs and the
    health details.
    """

    def __init__(self, app: ASGIApp, names: Sequence[str]) -> None:
        self._app = app
        self._protected = {"/", *(f"/{name}{path}" for name in names for path in _API_DOCS)}
        self._reduced = {"/health", *(f"/health/{name}" for name in names), *(f"/{name}/health" for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the application if its path is not protected or if it has a valid token or session.

        Otherwise, respond with 401, redirect browsers to the sign-in page, or hide the health details. Paths of the
        systems' APIs and pages are not protected here, because the systems check these requests.
        """
        if scope["type"] == "http" and scope["path"] in self._protected | self._reduced:
            request = Request(scope)
            try:
                await principal_of(request)
            except Problem as problem:
                if scope["path"] in self._protected:
                    is_browser = "text/html" in request.headers.get("accept", "")
                    redirect = RedirectResponse(f"/sign-in?next={quote(scope['path'], safe='')}", 303)
                    response = redirect if is_browser else problem_response(problem, ProblemStyle())
                    await response(scope, receive, send)
                    return
                hide_details(scope)
        await self._app(scope, receive, send)


async def _liveness(request: Request) -> Response:
    return health_response(request, {"status": "ok"}, 200)


async def _not_found(_request: Request, error: Exception) -> Response:
    """Return an error response in the systems' error format, for a request whose path does not belong to any system."""
    problem = error if isinstance(error, Problem) else framework_problem(cast("HTTPException", error))
    return problem_response(problem, ProblemStyle())


def _is_dynamodb_request(scope: Scope) -> bool:
    return scope["method"] == "POST" and any(name.lower() == b"x-amz-target" for name, _ in scope["headers"])
