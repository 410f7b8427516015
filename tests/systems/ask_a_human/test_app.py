"""Assembled system: settings, workers, sample, health, example."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from tests.systems.ask_a_human.outbox_content import read_outbox
from tests.systems.ask_a_human.stage import TABLES, Stage, at_once
from tests.systems.served_engine import ServedEngine, connected

import keyplan
from keyplan.client.connection import Connection
from keyplan.clock import ManualClock, SystemClock
from keyplan.engine.engine import Engine
from keyplan_systems.ask_a_human.app import CREDENTIALS, LINKS, OUTBOX, PROXIES, SYSTEM
from keyplan_systems.ask_a_human.example import OPTIONS, converse
from keyplan_systems.ask_a_human.seed import QUESTIONS
from keyplan_systems.web.development import development_key
from keyplan_systems.web.server import Running
from keyplan_systems.web.system import BuiltSystem, Resources
from keyplan_systems.web.tokens import TokenRules, TokenVerifier, development_keys

OPEN = len(QUESTIONS) - 1
"""Number of the sample's questions that need answers: one is closed."""


@contextmanager
def built(connection: Connection, folder: Path) -> Iterator[BuiltSystem]:
    connection.create_tables(*TABLES)
    clock = SystemClock()
    verifier = TokenVerifier(TokenRules("any"), development_keys(development_key(folder / "keys")), clock)
    system = SYSTEM.build(Resources(connection, folder, clock, verifier))
    try:
        yield system
    finally:
        system.close()


@pytest.fixture
def system(engine: Engine | ServedEngine, tmp_path: Path) -> Iterator[BuiltSystem]:
    with connected(engine, SystemClock()) as connection, built(connection, tmp_path) as system:
        yield system


def registered(url: str, agent: str) -> dict[str, str]:
    """Return the headers of an agent that registers itself."""
    issued = httpx.post(f"{url}/agent/register", json={"agent_id": agent}).raise_for_status().json()
    return {"X-Agent-Id": issued["agent_id"], "Authorization": f"Bearer {issued['secret']}"}


def test_the_example_runs_against_a_mounted_server(system: BuiltSystem) -> None:
    with Running(Starlette(routes=[Mount("/ask_a_human", app=system.app)])) as server:
        question = converse(f"{server.url}/ask_a_human", "test").question
        command = [sys.executable, "-m", "keyplan_systems.ask_a_human.example", f"{server.url}/ask_a_human"]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert question.status == "CLOSED"
    assert question.summary == {OPTIONS[0]: 0, OPTIONS[1]: 0, OPTIONS[2]: 2}
    assert [answer.confidence for answer in question.responses] in ([5, None], [None, 5])
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "2  Place order" in ran.stdout


def test_a_mounted_system_returns_the_full_path_to_poll(system: BuiltSystem) -> None:
    with Running(Starlette(routes=[Mount("/ask_a_human", app=system.app)])) as server:
        body = {"prompt": "Is it there?", "type": "text"}
        headers = registered(f"{server.url}/ask_a_human", "a")
        new_body = httpx.post(f"{server.url}/ask_a_human/agent/questions", json=body, headers=headers).json()
        item = httpx.get(f"{server.url}{new_body['poll_url']}", headers=headers)
    assert item.json()["question_id"] == new_body["question_id"]


def test_a_partly_rejected_sample_does_not_prevent_startup(
    system: BuiltSystem, caplog: pytest.LogCaptureFixture
) -> None:
    with Running(system.app) as server:
        headers = registered(server.url, "sample-agent") | {"X-Idempotency-Key": "sample-1"}
        body = {"prompt": "What did another release ask?", "type": "text"}
        assert httpx.post(f"{server.url}/agent/questions", json=body, headers=headers).status_code == 201
        system.load_sample()
        assert (
            "the sample data is incomplete: this idempotency key was already used for a different question"
            in caplog.text
        )
        assert len(httpx.get(f"{server.url}/human/questions").json()["questions"]) == 2


def test_the_sample_is_stored_once_and_the_workers_process_it(system: BuiltSystem, tmp_path: Path) -> None:
    system.load_sample()
    system.load_sample()
    counts = {worker.name: worker.run_once() for worker in system.workers}
    assert counts["ask-a-human sweep"] == 0
    assert counts["ask-a-human push"] == OPEN
    assert counts["ask-a-human ranks"] > 0
    assert [record.message.token for record in read_outbox(tmp_path / OUTBOX).messages] == ["sample-token"]
    with Running(system.app) as server:
        feed = httpx.get(f"{server.url}/human/questions").json()["questions"]
        board = httpx.get(f"{server.url}/human/leaderboard").json()["entries"]
        assert httpx.get(f"{server.url}/health").json() == {"status": "ok", "checks": {"table": "ok"}}
    assert len(feed) == OPEN
    assert [entry["rank"] for entry in board] == [1, 2, 3, 4, 5]


def test_invalid_settings_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with keyplan.connect(":memory:") as connection:
        for name in (PROXIES, LINKS, CREDENTIALS):
            monkeypatch.setenv(name, "")  # an unset variable
        with built(connection, tmp_path):
            pass
        monkeypatch.delenv(CREDENTIALS)
        monkeypatch.delenv(LINKS)
        monkeypatch.setenv(PROXIES, "one")
        with pytest.raises(ValueError, match="number of proxies"), built(connection, tmp_path):
            pass
        monkeypatch.setenv(PROXIES, "0")
        monkeypatch.setenv(LINKS, "http://ask.example")
        with pytest.raises(ValueError, match="https URL"), built(connection, tmp_path):
            pass
        monkeypatch.delenv(LINKS)
        monkeypatch.setenv(CREDENTIALS, str(tmp_path / "none.json"))
        with pytest.raises(OSError, match="none"), built(connection, tmp_path):
            pass


def test_a_question_is_asked_notified_answered_and_counted(stage: Stage, clock: ManualClock) -> None:
    for number in range(3):
        assert stage.subscribe(f"token-{number}", f"person-{number}").status_code == 201
    question = stage.create_question(key="k", min_responses=3)
    assert stage.ask(key="k", min_responses=3).json()["question_id"] == question
    assert stage.pusher().run_once() == 1
    assert len(stage.outbox_messages()) == 3
    responses = at_once([partial(stage.answer, question, f"person-{number}") for number in range(6)])
    assert sorted(response.status_code for response in responses) == [201] * 3 + [410] * 3
    assert stage.poll(question)["status"] == "CLOSED"
    stage.rank()
    accepted = next(number for number, response in enumerate(responses) if response.status_code == 201)
    assert stage.get("/stats", f"person-{accepted}").json()["rank"] in {1, 2, 3}
    assert len(stage.get("/leaderboard", period="weekly").json()["entries"]) == 3
    left = stage.create_question(timeout_seconds=60)
    assert [question_shown["question_id"] for question_shown in stage.get("/questions").json()["questions"]] == [left]
    clock.advance(60)
    assert stage.sweep() == 1
