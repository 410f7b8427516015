"""Trainer on a real socket, with users who have tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from tests.systems.app_clients import AppClients, passing_check
from tests.systems.thinking_trainer.builders import scenario

from keyplan.client.connection import Connection
from keyplan.clock import Clock
from keyplan.streams import Runner, TableCheckpoints
from keyplan_systems.thinking_trainer import design
from keyplan_systems.thinking_trainer.api import application
from keyplan_systems.thinking_trainer.evaluation.evaluator import Evaluator
from keyplan_systems.thinking_trainer.evaluation.rubric_evaluator import RubricEvaluator
from keyplan_systems.thinking_trainer.profile_consumer import ProfileConsumer
from keyplan_systems.thinking_trainer.service import Service
from keyplan_systems.web.development import development_key

AUDIENCE = "trainer"
FERRY = "late-ferry"
ANSWERS = {
    "q1": "It assumes that the tide is the same each day, because the delays come at 12 of 30 crossings.",
    "q2": "The crew may be late for another reason; I would compare calm days before I conclude anything.",
}


def answer_list(texts: Mapping[str, str] = ANSWERS) -> list[dict[str, str]]:
    """Return answers in the API's form."""
    return [{"questionId": question, "answer": text} for question, text in texts.items()]


@dataclass
class Caller:
    """Client of one user."""

    client: httpx.Client
    name: str

    def get(self, path: str, **query: Any) -> httpx.Response:
        """Send a GET request."""
        return self.client.get(path, params=query)

    def post(self, path: str, body: Any = None) -> httpx.Response:
        """Send a POST request."""
        return self.client.post(path, json=body)

    def put(self, path: str, body: Any) -> httpx.Response:
        """Send a PUT request."""
        return self.client.put(path, json=body)

    def submit_attempt(self, texts: Mapping[str, str] = ANSWERS) -> dict[str, Any]:
        """Return an attempt that was submitted in one request."""
        response = self.post("/attempts", {"scenarioId": FERRY, "answers": answer_list(texts)})
        assert response.status_code == 201, response.text
        return dict(response.json())

    def start_draft(self) -> str:
        """Return the ID of a new attempt in progress."""
        response = self.post("/attempts/drafts", {"scenarioId": FERRY})
        assert response.status_code == 201, response.text
        return str(response.json()["attemptId"])


@dataclass(kw_only=True)
class Stage(AppClients):
    """Running system with its dependencies."""

    connection: Connection
    service: Service
    runner: Runner

    def person(self, subject: str, /, *roles: str) -> Caller:
        """Return a client with a valid token."""
        return Caller(self.client(self.token(subject, *roles)), subject)

    def follow(self) -> int:
        """Deliver the stream's records; return their number."""
        return self.runner.run_once().delivered


def with_tables(connection: Connection) -> Connection:
    """Return the connection, with the trainer's tables and the ferry scenario."""
    connection.create_tables(design.attempts, design.profiles, design.scenarios)
    connection.run(design.add_scenario(stored_scenario()))
    return connection


def stored_scenario(scenario_id: str = FERRY, **changes: Any) -> design.StoredScenario:
    """Return the ferry scenario, or another."""
    ferry = scenario()
    values = {name: getattr(ferry, name) for name in type(ferry).model_fields}
    return design.StoredScenario(**{**values, "scenario_id": scenario_id, **changes})


def runner_on(connection: Connection, clock: Clock, name: str = "runner") -> Runner:
    """Return the runner that delivers attempts to a profiler."""
    profile_consumer = ProfileConsumer(connection, clock)
    return Runner(
        connection,
        design.attempts,
        checkpoints=TableCheckpoints(connection, create=True, clock=clock),
        destinations={"unprofiled": RejectingDestination()},
        handlers={design.follow: profile_consumer.follow},
        runner=name,
        clock=clock,
    )


class RejectingDestination:
    """Destination that must not receive records."""

    def send(self, failures: Any) -> None:
        raise AssertionError(failures)


@contextmanager
def staged(connection: Connection, clock: Clock, folder: Path, evaluator: Evaluator | None = None) -> Iterator[Stage]:
    """Serve the API over a connection, on a real socket."""
    service = Service(with_tables(connection), clock, evaluator or RubricEvaluator())
    with runner_on(connection, clock) as runner:
        stage = Stage(
            clock=clock,
            key=development_key(folder),
            audience=AUDIENCE,
            connection=connection,
            service=service,
            runner=runner,
        )
        with stage.serve(application(service, stage.verifier, clock, {"table": passing_check})):
            yield stage
