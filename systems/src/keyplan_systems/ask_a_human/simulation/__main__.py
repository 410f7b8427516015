"""The command `python -m keyplan_systems.ask_a_human.simulation`, which simulates and audits a full-size day."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Annotated

import httpx
import typer
from rich.console import Console

import keyplan
from keyplan.client.connection import Connection
from keyplan.streams import JsonLinesFolder
from keyplan_systems.ask_a_human import entities
from keyplan_systems.ask_a_human.address_limits import AddressLimits
from keyplan_systems.ask_a_human.api import application
from keyplan_systems.ask_a_human.domain.timestamps import HOUR_MS, parse_iso
from keyplan_systems.ask_a_human.leaderboards import Ranking
from keyplan_systems.ask_a_human.outbound import Outbound
from keyplan_systems.ask_a_human.push_worker import PushWorker
from keyplan_systems.ask_a_human.service import Service
from keyplan_systems.ask_a_human.simulation.clock import DayClock
from keyplan_systems.ask_a_human.simulation.driver import Pollers, Recorder, SimulatedDay, Workers
from keyplan_systems.ask_a_human.simulation.final_audit import FinalAudit
from keyplan_systems.ask_a_human.simulation.generator import Size, simulate
from keyplan_systems.ask_a_human.sweeper import Sweeper
from keyplan_systems.web.server import Running

START_MS = parse_iso("2026-03-28T12:00:00.000Z")
"""Start of the simulated day in epoch milliseconds. This day was chosen because clocks in Berlin skip an hour in the
following night, and because it is already Sunday in some time zones, such as Auckland.
"""
TARGETS_MS = {"ask": 200.0, "answer": 200.0, "poll": 100.0}


@dataclass(frozen=True)
class SimulationResult:
    """The result of a simulated day, with the auditor's findings."""

    day: SimulatedDay
    findings: list[str]
    seconds: float


def run_simulation(
    connection: Connection, clock: DayClock, size: Size, seed: int, *, pollers: int, push_every_ms: int
) -> SimulationResult:
    """Simulate a day of activity in the connected database, audit it, and return the result. The connection must use
    the same `clock`.

    `pollers` is the number of agents that poll concurrently. The push worker runs every `push_every_ms` milliseconds of
    simulated time.
    """
    connection.create_tables(entities.questions, entities.responses, entities.subscriptions, entities.user_stats)
    service = Service.from_connection(connection, clock, AddressLimits.from_environment(connection, clock, {}))
    started_s = time.perf_counter()
    with (
        _workers(service, clock) as workers,
        Running(application(service, {}, trusted_proxies=1)) as server,
        httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client,
    ):
        day = SimulatedDay(client, clock, workers, push_every_ms=push_every_ms)
        with Pollers(client, day, pollers) as polling:
            day.run(simulate(seed, size, START_MS))
        findings = [*day.auditor.audit(), *polling.findings]
        findings += FinalAudit(client, day.auditor, day.zones, service.base.now_ms, day.devices).findings()
    return SimulationResult(day, findings, time.perf_counter() - started_s)


@contextmanager
def _workers(service: Service, clock: DayClock) -> Iterator[Workers]:
    recorder = Recorder(clock)
    with TemporaryDirectory() as folder, ExitStack() as stack:
        outbound = Outbound(recorder)
        stack.callback(outbound.close)
        ranking = Ranking(service.base, JsonLinesFolder(folder))
        stack.callback(ranking.close)
        pusher = PushWorker(service.base, outbound, "https://ask.example")
        yield Workers(Sweeper(service.base), pusher, ranking, recorder)


def main(
    *,
    questions: Annotated[int, typer.Option(help="Number of questions asked.")] = 2_000,
    answers: Annotated[int, typer.Option(help="Number of attempts to answer.")] = 20_000,
    subscribers: Annotated[int, typer.Option(help="Number of people with push subscriptions.")] = 5_000,
    seed: Annotated[int, typer.Option(help="Random seed. The same seed simulates the same day.")] = 1,
    pollers: Annotated[int, typer.Option(help="Number of agents that poll concurrently.")] = 2,
    push_hours: Annotated[int, typer.Option(help="Hours between runs of the push worker.")] = 1,
) -> None:
    """Simulate one day on a database engine in this process. Exit with 1 if the audit has findings."""
    console, clock = Console(), DayClock(START_MS, seed)
    size = Size(questions=questions, answers=answers, subscribers=subscribers)
    with keyplan.connect(":memory:", clock=clock) as connection:
        result = run_simulation(connection, clock, size, seed, pollers=pollers, push_every_ms=push_hours * HOUR_MS)
    day = result.day
    stored_answers = sum(len(person.history) for person in day.auditor.people.values())
    console.print(
        f"{result.seconds:.0f} s: {len(day.ids)} questions, {stored_answers} answers stored, {day.pushes} pushes"
    )
    console.print(f"refused: {dict(sorted(day.codes.items()))}")
    slow = False
    for kind in sorted(day.latencies.seconds):
        median_ms, p95_ms, count = (day.latencies.percentile_ms(kind, 0.5), day.latencies.percentile_ms(kind, 0.95), 0)
        count = len(day.latencies.seconds[kind])
        slow |= p95_ms > TARGETS_MS.get(kind, float("inf"))
        console.print(f"{kind}: {count} requests, median {median_ms:.1f} ms, p95 {p95_ms:.1f} ms")
    for finding in result.findings[:50]:
        console.print(finding, style="red", highlight=False)
    console.print(f"{len(result.findings)} findings")
    if result.findings or slow:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
