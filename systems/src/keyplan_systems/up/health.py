"""Determines the health of the systems in this process.

A system is `failing` if at least one of its health checks fails. It is `degraded` if all its health checks pass but at
least one of its workers fails. Otherwise, it is `ok`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from keyplan_systems.up.workers import Workers, WorkerState
from keyplan_systems.web.health import checks_of, run_checks
from keyplan_systems.web.system import BuiltSystem

Status: TypeAlias = Literal["ok", "degraded", "failing"]


@dataclass(frozen=True)
class SystemHealth:
    """The health of one system."""

    status: Status
    body: dict[str, object]
    """Body of the JSON response, with the status, the checks and the workers.

    For each worker, it contains the number of completed tasks, the number of consecutive failures, and the class of the
    last error.
    """

    @classmethod
    async def check(cls, built: BuiltSystem, workers: Workers) -> SystemHealth:
        """Run the health checks of a system, and return their results together with the states of its workers."""
        checks = await run_checks(checks_of(built.app))
        states = [state for state in workers.states if state.worker in built.workers]
        status = _status("failing" in checks.values(), states)
        return cls(
            status,
            {"status": status, "checks": checks, "workers": {state.worker.name: _worker(state) for state in states}},
        )


async def health_of_all(systems: Iterable[BuiltSystem], workers: Workers) -> list[SystemHealth]:
    """Return the health of each system, in the same order. All health checks run concurrently."""
    return await asyncio.gather(*(SystemHealth.check(built, workers) for built in systems))


def overall(systems: Sequence[SystemHealth]) -> Status:
    """Return the status of all systems together: `ok` if all of them are ok, `failing` if all of them are failing, or
    `degraded` otherwise.
    """
    statuses = {system.status for system in systems}
    return statuses.pop() if len(statuses) == 1 else "degraded"


def _status(is_api_failing: bool, workers: Iterable[WorkerState]) -> Status:
    if is_api_failing:
        return "failing"
    return "degraded" if any(state.failures for state in workers) else "ok"


def _worker(state: WorkerState) -> dict[str, object]:
    return {
        "status": "failing" if state.failures else "ok",
        "done": state.completed,
        "failures": state.failures,
        "last_error": state.last_error,
    }
