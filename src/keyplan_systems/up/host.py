"""The one application: every system under its name, the DynamoDB endpoint, a home page, health."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from keyplan.check.checking import Report
from keyplan.cost.estimate import Estimate
from keyplan.design.design import Design
from keyplan_systems.up import home
from keyplan_systems.up.workers import Workers
from keyplan_systems.web.problems import ProblemStyle, framework_problem, problem_response
from keyplan_systems.web.system import Built, System

_log = logging.getLogger("keyplan_systems.up")


@dataclass(frozen=True)
class Hosted:
    """A system that runs here."""

    system: System
    design: Design
    report: Report
    month: Estimate
    built: Built


class Host:
    """An ASGI application that holds all of them."""

    def __init__(self, hosted: Sequence[Hosted], workers: Workers, dynamodb: ASGIApp | None) -> None:
        self.hosted, self.workers, self._dynamodb = hosted, workers, dynamodb
        routes = [Mount(f"/{one.system.name}", app=one.built.app, name=one.system.name) for one in hosted]
        self._pages = Starlette(
            routes=[Route("/", self._home), Route("/health", self._health), *routes],
            lifespan=self._lifespan,
            exception_handlers={HTTPException: _nothing_there},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one scope; what is signed for DynamoDB goes to the endpoint."""
        if self._dynamodb is not None and scope["type"] == "http" and _for_dynamodb(scope):
            await self._dynamodb(scope, receive, send)
        else:
            await self._pages(scope, receive, send)

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        """Start what the systems start; then the workers.

        Whoever runs the process stops the workers, once nothing is written any more: what was written last is theirs.
        """
        async with AsyncExitStack() as stack:
            for one in self.hosted:
                router = getattr(one.built.app, "router", None)
                if router is not None:
                    await stack.enter_async_context(router.lifespan_context(one.built.app))
            self.workers.start()
            yield

    async def _home(self, request: Request) -> Response:
        url, has_endpoint = str(request.base_url).rstrip("/"), self._dynamodb is not None
        return HTMLResponse(home.page(self.hosted, self.workers.states, url, has_endpoint=has_endpoint))

    async def _health(self, _request: Request) -> Response:
        states = self.workers.states
        failing = [state for state in states if state.failures]
        told: dict[str, Any] = {
            "status": "failing" if failing else "ok",
            "systems": [one.system.name for one in self.hosted],
            "workers": {
                state.worker.name: {"done": state.done, "failures": state.failures, "last_error": state.last_error}
                for state in states
            },
        }
        return JSONResponse(told, 503 if failing else 200)


async def _nothing_there(_request: Request, error: Exception) -> Response:
    """An address of no system, or a method that it does not know: told in the form in which the systems tell."""
    return problem_response(framework_problem(cast("HTTPException", error)), ProblemStyle())


def _for_dynamodb(scope: Scope) -> bool:
    return scope["method"] == "POST" and any(name.lower() == b"x-amz-target" for name, _ in scope["headers"])
