"""Health of an application: `GET /health` runs its checks, `GET /health/live` only answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

import orjson
from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

logger = logging.getLogger(__name__)

Check: TypeAlias = Callable[[], Awaitable[object]]

DEFAULT_TIMEOUT_S: Final = 2.0


def in_thread(function: Callable[..., object], *arguments: object) -> Check:
    """The check that calls, in a thread, a function which waits: one that reads a table."""
    return partial(run_in_threadpool, function, *arguments)


def health_router(checks: Mapping[str, Check] | None = None, timeout_s: float | None = None) -> APIRouter:
    """Routes that say whether the application works.

    A check is a coroutine function that raises when its part does not work; they run at the same time, each for
    at most `timeout_s` seconds, or DEFAULT_TIMEOUT_S. All well is 200; one failure is 503 and names the part, the
    reason goes to the log.
    """
    router = APIRouter(tags=["health"])
    named = dict(checks or {})
    most_s = DEFAULT_TIMEOUT_S if timeout_s is None else timeout_s

    @router.get("/health", summary="Whether every part works")
    async def health() -> Response:
        states = await asyncio.gather(*(_state(name, check, most_s) for name, check in named.items()))
        well = all(state == "ok" for state in states)
        body = {"status": "ok" if well else "failing", "checks": dict(zip(named, states, strict=True))}
        return _answer(body, 200 if well else 503)

    @router.get("/health/live", summary="Whether the process answers")
    async def live() -> Response:
        return _answer({"status": "ok"}, 200)

    return router


async def _state(name: str, check: Check, timeout_s: float) -> str:
    try:
        async with asyncio.timeout(timeout_s):
            await check()
    except Exception:
        logger.exception("health check failed", extra={"check": name})
        return "failing"
    return "ok"


def _answer(body: object, status: int) -> Response:
    return Response(orjson.dumps(body), status, {"Cache-Control": "no-store"}, "application/json")
