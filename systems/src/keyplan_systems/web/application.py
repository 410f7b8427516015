"""The FastAPI application that all systems use, with error handling, request IDs, logs, tokens and health checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi_offline import FastAPIOffline

from keyplan.clock import Clock, SystemClock
from keyplan_systems.web.authentication import install_limiter, install_verifier
from keyplan_systems.web.health import Check, install_health
from keyplan_systems.web.middleware import DEFAULT_BODY_LIMIT_BYTES, RequestMiddleware
from keyplan_systems.web.pages import install_docs
from keyplan_systems.web.problems import ERROR_RESPONSES, ProblemStyle, Translation, install_problems
from keyplan_systems.web.rate_limits import REQUESTS, REQUESTS_VARIABLE, Buckets, limit_from
from keyplan_systems.web.tokens import TokenVerifier


def web_application(
    title: str,
    *,
    version: str = "1",
    style: ProblemStyle | None = None,
    translations: Mapping[type[Exception], Translation] | None = None,
    verifier: TokenVerifier | None = None,
    checks: Mapping[str, Check] | None = None,
    clock: Clock | None = None,
    body_limit_bytes: int = DEFAULT_BODY_LIMIT_BYTES,
    lifespan: Callable[[FastAPI], AbstractAsyncContextManager[Any]] | None = None,
) -> FastAPI:
    """Return an application to which a system adds its routers.

    Its documentation pages at /docs and /redoc do not load files from other hosts. With a verifier, the requests of
    each user are limited according to KEYPLAN_REQUEST_LIMIT. Middleware that a system adds later runs outside the
    request middleware, so its responses have no request ID. Raises ValueError for a malformed limit.
    """
    app = FastAPIOffline(None, None, title=title, version=version, lifespan=lifespan, responses=ERROR_RESPONSES)
    install_docs(app)
    install_problems(app, style or ProblemStyle(), translations)
    if verifier is not None:
        install_verifier(app, verifier)
        install_limiter(app, Buckets(limit_from(REQUESTS_VARIABLE, REQUESTS), clock or SystemClock()))
    install_health(app, checks)
    app.add_middleware(RequestMiddleware, style=style, clock=clock, body_limit_bytes=body_limit_bytes)
    return app


def add_routes(app: FastAPI, *routers: APIRouter) -> None:
    """Add the routes of routers to an application. Each router must itself declare `responses=ERROR_RESPONSES`.

    `FastAPI.include_router` is not used, because it would build every route again at the first request.
    """
    for router in routers:
        app.router.routes.extend(router.routes)
