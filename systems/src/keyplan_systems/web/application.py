"""Builds the base of every system's FastAPI application: error handling, request IDs, logs, token verification and
health checks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from enum import Enum
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.params import Depends
from fastapi.routing import APIRoute
from fastapi_offline import FastAPIOffline
from starlette.routing import compile_path, get_name

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

    Its documentation pages at /docs and /redoc do not load files from other hosts. If a verifier is given, the requests
    of each user are limited according to KEYPLAN_REQUEST_LIMIT. Middleware that a system adds to the application runs
    outside the request middleware, so a response that such middleware sends itself does not have a request ID. Raises
    ValueError if the limit is malformed.
    """
    app = FastAPIOffline(None, None, title=title, version=version, lifespan=lifespan, responses=ERROR_RESPONSES)
    app.router.route_class = LazyRoute
    install_docs(app)
    install_problems(app, style or ProblemStyle(), translations)
    if verifier is not None:
        install_verifier(app, verifier)
        install_limiter(app, Buckets(limit_from(REQUESTS_VARIABLE, REQUESTS), clock or SystemClock()))
    install_health(app, checks)
    app.add_middleware(RequestMiddleware, style=style, clock=clock, body_limit_bytes=body_limit_bytes)
    return app


class LazyRoute(APIRoute):
    """A route that is built when it receives its first request or when the OpenAPI document is generated.

    Building a route takes a few milliseconds, because FastAPI creates a validator for each parameter and result. The
    application therefore starts much faster, but errors in a route's declaration are raised later.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self.path = path
        self.endpoint = endpoint
        self.name = options.get("name") or get_name(endpoint)
        self.methods = {method.upper() for method in options.get("methods") or ("GET",)}
        self.path_regex, self.path_format, self.param_convertors = compile_path(path)
        self._pending_options: dict[str, Any] | None = options
        self._build_lock = threading.RLock()

    def __getattr__(self, attribute: str) -> Any:
        """Return an attribute that only a built route has. The route is built if necessary."""
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        with self._build_lock:
            options, self._pending_options = self._pending_options, None
            if options is not None:
                try:
                    super().__init__(self.path, self.endpoint, **options)
                except BaseException:
                    self._pending_options = options  # the next request raises the same error
                    raise
        return object.__getattribute__(self, attribute)


def api_router(*, prefix: str = "", tags: Sequence[str | Enum] = (), dependencies: Sequence[Depends] = ()) -> APIRouter:
    """Return a router whose routes have the given tags and dependencies, and the common error responses. Add it to an
    application with `add_routes`.
    """
    return APIRouter(
        prefix=prefix, tags=list(tags), dependencies=dependencies, responses=ERROR_RESPONSES, route_class=LazyRoute
    )


def add_routes(app: FastAPI, *routers: APIRouter) -> None:
    """Add routes to an application. The routers must have been created by `api_router`.

    `FastAPI.include_router` is not used, because it would build every route again at the first request.
    """
    for router in routers:
        app.router.routes.extend(router.routes)
