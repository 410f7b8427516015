"""Collects the data for the home page, which shows the health, workers, sample users, access patterns, findings and
costs of each system.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from starlette.requests import Request

from keyplan.console.home import Overview, PersonCard, SystemCard, WorkerCard
from keyplan.cost.expected import expected
from keyplan.design.declaring.patterns import Pattern
from keyplan.export.conditions import key_condition
from keyplan.pages import root_of
from keyplan_systems.up.health import health_of_all
from keyplan_systems.up.registry import HostedSystem
from keyplan_systems.up.workers import Workers, WorkerState
from keyplan_systems.web.sessions import session_of


async def overview(
    hosted: Sequence[HostedSystem],
    workers: Workers,
    request: Request,
    *,
    has_endpoint: bool,
    has_console: bool,
    signs_in_samples: bool,
) -> Overview:
    """Return the data that the home page shows.

    `has_endpoint` is True if the server is also a DynamoDB endpoint, and `has_console` is True if it serves the web
    console. `signs_in_samples` is True if users can sign in as sample users.
    """
    health = await health_of_all([entry.built for entry in hosted], workers)
    root = root_of(request)
    session = session_of(request) if signs_in_samples else None
    return Overview(
        [
            _system(entry, state.body, root, _cards(workers, entry.built.workers))
            for entry, state in zip(hosted, health, strict=True)
        ],
        endpoint=f"{request.url.scheme}://{request.url.netloc}" if has_endpoint else "",
        csrf=session.csrf() if session is not None else "",
        console=f"{root}/console/" if has_console else "",
    )


def _system(hosted: HostedSystem, health: Mapping[str, Any], root: str, workers: Sequence[WorkerCard]) -> SystemCard:
    system, base = hosted.system, f"{root}/{hosted.system.name}"
    return SystemCard(
        name=system.name,
        title=system.title,
        summary=hosted.design.doc.partition("\n\n")[0],
        status=str(health["status"]),
        checks=health["checks"],
        start="" if system.start is None else f"{base}/{system.start}",
        api=f"{base}/{system.page}",
        tables=[table.name for table in hosted.design.tables],
        patterns=[_pattern(pattern) for pattern in hosted.design.patterns],
        findings=hosted.report.findings,
        suppressed=len(hosted.report.suppressed),
        month=f"${hosted.monthly_cost.total:,.2f}",
        workers=workers,
        people=[PersonCard(person.subject, person.name, person.description, person.roles) for person in system.people],
    )


def _cards(workers: Workers, system_workers: Iterable[object]) -> list[WorkerCard]:
    system_workers = list(system_workers)
    return [_worker(state, workers.lag_s(state)) for state in workers.states if state.worker in system_workers]


def _worker(state: WorkerState, lag_s: float | None) -> WorkerCard:
    return WorkerCard(state.worker.name, state.completed, _lag(lag_s), state.last_error)


def _lag(lag_s: float | None) -> str:
    if lag_s is None:
        return "not caught up yet"
    return f"{lag_s:,.0f} s behind" if lag_s else "up to date"


@cache
def _pattern(pattern: Pattern[..., Any]) -> Mapping[str, str]:
    plan, units = pattern.plan, expected(pattern).units
    return {
        "name": pattern.name,
        "doc": pattern.doc.partition("\n")[0],
        "operation": plan.operation,
        "where": f"{plan.schema.name}/{plan.index.name}" if plan.index else plan.schema.name,
        "key": key_condition(plan) or ", ".join(step.pattern for step in plan.steps),
        "read": f"{units.read:,.1f}" if units.read else "",
        "write": f"{units.total_write:,.1f}" if units.total_write else "",
    }
