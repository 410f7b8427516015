"""Simulated day against the running system, over HTTP, with its workers: no findings. Small here, full size by command.

`python -m keyplan_systems.ask_a_human.simulation` plays 2,000 questions, 20,000 answers and 5,000 subscribers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.laws import examples
from tests.systems.served_engine import served

import keyplan
from keyplan.client.connection import Connection
from keyplan_systems.ask_a_human.domain.timestamps import HOUR_MS
from keyplan_systems.ask_a_human.simulation.__main__ import START_MS, TARGETS_MS, SimulationResult, run_simulation
from keyplan_systems.ask_a_human.simulation.actions import Answer, Ask
from keyplan_systems.ask_a_human.simulation.auditor import AcceptedReply, Auditor
from keyplan_systems.ask_a_human.simulation.clock import DayClock
from keyplan_systems.ask_a_human.simulation.final_audit import FinalAudit
from keyplan_systems.ask_a_human.simulation.generator import Size

SMALL = Size(questions=120, answers=900, subscribers=120, people=60, agents=6)
SMALLER = Size(questions=15, answers=80, subscribers=15, people=8, agents=2)


def played_well(connection: Connection, clock: DayClock, size: Size, seed: int) -> SimulationResult:
    """Play a day without a finding; p95 is judged only in the full size, without concurrent tests."""
    played = run_simulation(connection, clock, size, seed, pollers=1, push_every_ms=HOUR_MS)
    assert played.findings == []
    assert all(played.day.latencies.seconds[kind] for kind in TARGETS_MS)
    return played


@pytest.mark.parametrize("seed", range(1, 1 + examples(2)))
def test_a_small_day_matches_the_auditor(seed: int) -> None:
    clock = DayClock(START_MS, seed)
    with keyplan.connect(":memory:", clock=clock) as connection:
        played = played_well(connection, clock, SMALL, seed)
    stored = sum(len(person.history) for person in played.day.auditor.people.values())
    assert stored > 400
    assert played.day.pushes > 200
    assert {"ALREADY_ANSWERED", "QUESTION_CLOSED", "VALIDATION_ERROR"} <= set(played.day.codes)


def test_a_smaller_day_matches_the_auditor_over_an_endpoint(tmp_path: Path) -> None:
    clock = DayClock(START_MS, 3)
    with served(tmp_path) as elsewhere, elsewhere.connect(clock=clock) as connection:
        played = played_well(connection, clock, SMALLER, 3)
    assert played.day.pushes > 0


@pytest.fixture
def stale() -> Iterator[httpx.Client]:
    """Serve the same answer to all requests."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/human/stats":
            stats = {"total_points": 1, "total_answers": 1, "streak_days": 1, "badges": [], "answers_by_category": {}}
            return httpx.Response(200, json=stats)
        return httpx.Response(200, json={"entries": [], "you": {"rank": None, "points": 0}})

    with httpx.Client(transport=httpx.MockTransport(answer), base_url="http://stale") as client:
        yield client


def test_the_final_comparison_detects_records_boards_and_ranks_that_differ(stale: httpx.Client) -> None:
    auditor = _audited()
    findings = list(FinalAudit(stale, auditor, {}, START_MS + HOUR_MS).findings())
    assert len(findings) == 1 + 3 * 2
    assert findings[0].startswith("ada: expected")
    assert any("expected rank" in finding for finding in findings)


def _audited() -> Auditor:
    auditor = Auditor()
    body = {"prompt": "Is it clear?", "min_responses": 5, "timeout_seconds": 3600, "audience": ["general"]}
    auditor.record_question(Ask(START_MS, 1, "agent", body), "id")
    answer = Answer(START_MS + 1, 1, "ada", "UTC", {"answer": "yes"})
    auditor.record_answer(answer, AcceptedReply(15, ("early_bird", "first_steps"), 15))
    assert auditor.audit() == []
    return auditor
