"""Health routes for applications. `GET /health` runs the health checks, and `GET /health/live` always responds with
200.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, Literal, TypeAlias

import orjson
from fastapi import APIRouter, FastAPI, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import ASGIApp, Scope

logger = logging.getLogger(__name__)

Check: TypeAlias = Callable[[], Awaitable[object]]
"""A health check: a coroutine function that raises an exception if the checked component does not work."""
CheckState: TypeAlias = Literal["ok", "failing"]

DEFAULT_TIMEOUT_S: Final = 2.0


def in_thread(function: Callable[..., object], *arguments: object) -> Check:
    """Return a health check that runs a blocking function, such as a function that reads a table, in a thread."""
    return partial(run_in_threadpool, function, *arguments)


def install_health(app: FastAPI, checks: Mapping[str, Check] | None = None) -> None:
    """Add the health routes to an application, and register its health checks, which `checks_of` then returns."""
    app.state.health_checks = dict(checks or {})
    app.include_router(health_router(checks))


def checks_of(app: ASGIApp) -> Mapping[str, Check]:
    """Return the health checks that `install_health` registered for an application, or an empty mapping if none are
    registered.
    """
    checks: Mapping[str, Check] = getattr(getattr(app, "state", None), "health_checks", {})
    return checks


def health_router(checks: Mapping[str, Check] | None = None, timeout_s: float | None = None) -> APIRouter:
    """Return a router with the health routes. `timeout_s` is the maximum duration of each health check in seconds; see
    `run_checks`.

    The status code is 200 if all checks pass. Otherwise, it is 503, the response contains the names of the failed
    checks, and the log contains the reasons.
    """
    router = APIRouter(tags=["health"])
    checks_by_name = dict(checks or {})

    @router.get("/health", summary="Check the health of all parts")
    async def health(request: Request) -> Response:
        states = await run_checks(checks_by_name, timeout_s)
        is_healthy = all(state == "ok" for state in states.values())
        return health_response(
            request, {"status": "ok" if is_healthy else "failing", "checks": states}, 200 if is_healthy else 503
        )

    @router.get("/health/live", summary="Check that the process responds")
    async def live(request: Request) -> Response:
        return health_response(request, {"status": "ok"}, 200)

    return router


async def run_checks(checks: Mapping[str, Check], timeout_s: float | None = None) -> dict[str, CheckState]:
    """Run all health checks concurrently, and return a mapping from the name of each check to its state.

    Each check may take up to `timeout_s` seconds, or DEFAULT_TIMEOUT_S if it is None. A check that raises an exception
    or times out has failed, and the reason is logged.
    """
    limit_s = DEFAULT_TIMEOUT_S if timeout_s is None else timeout_s
    states = await asyncio.gather(*(_state(name, check, limit_s) for name, check in checks.items()))
    return dict(zip(checks, states, strict=True))


async def _state(name: str, check: Check, timeout_s: float) -> CheckState:
    try:
        async with asyncio.timeout(timeout_s):
            await check()
    except Exception:
        logger.exception("health check failed", extra={"check": name})
        return "failing"
    return "ok"


def hide_details(scope: Scope) -> None:
    """Mark a health request. The response that `health_response` returns for the request then contains only
    `status`.
    """
    scope.setdefault("state", {})["hides_health_details"] = True


def health_response(request: Request, body: Mapping[str, object], status: int) -> Response:
    """Return a health response as JSON with `Cache-Control: no-store`.

    If `hide_details` was called for the request, the response contains only `status`.
    """
    if getattr(request.state, "hides_health_details", False):
        body = {"status": body["status"]}
    return Response(orjson.dumps(body), status, {"Cache-Control": "no-store"}, "application/json")
