"""Ask-a-Human on a real socket, with agents and people, and workers that tests run explicitly."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
from tests.systems.app_clients import passing_check
from tests.systems.ask_a_human.outbox_content import read_outbox
from tests.systems.served_engine import ServedEngine

from keyplan.client.connection import Connection
from keyplan.clock import Clock
from keyplan.engine.engine import Engine
from keyplan.errors import InternalServerError
from keyplan.streams import JsonLinesFolder
from keyplan_systems.ask_a_human import entities
from keyplan_systems.ask_a_human.address_limits import AddressLimits
from keyplan_systems.ask_a_human.api import application
from keyplan_systems.ask_a_human.domain.requests import fingerprint_hash
from keyplan_systems.ask_a_human.leaderboards import Ranking
from keyplan_systems.ask_a_human.notifier import Notifier
from keyplan_systems.ask_a_human.outbound import Outbound
from keyplan_systems.ask_a_human.outbox import OutboxNotifier
from keyplan_systems.ask_a_human.push_worker import PushWorker
from keyplan_systems.ask_a_human.service import Service
from keyplan_systems.ask_a_human.sweeper import Sweeper
from keyplan_systems.web.server import Running

TABLES = (entities.questions, entities.responses, entities.subscriptions, entities.user_stats)
TEXT = {"prompt": "Which label is clearer?", "type": "text"}
CHOICE = {"prompt": "Which label is clearer?", "type": "multiple_choice", "options": ["Send", "Submit", "Done"]}


@dataclass
class Stage:
    """Running system with its dependencies."""

    connection: Connection
    clock: Clock
    service: Service
    client: httpx.Client
    url: str
    outbox: Path
    notifier: Callable[[], Notifier]
    stack: ExitStack
    secrets: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    askers: dict[str, str] = field(default_factory=dict)
    registering: threading.Lock = field(default_factory=threading.Lock)

    def agent(self, agent: str = "agent") -> dict[str, str]:
        """Return the headers of an agent, registered at its first request; an invalid agent has no secret."""
        with self.registering:
            if agent not in self.secrets and " " not in agent:
                self.secrets[agent] = self.service.agents.register(agent)
        secret = self.secrets.get(agent)
        return {"X-Agent-Id": agent} | ({} if secret is None else {"Authorization": f"Bearer {secret}"})

    def person(self, person: str) -> dict[str, str]:
        """Return the headers of a person, whose device is registered and used before its first request."""
        with self.registering:
            if person not in self.tokens:
                self.tokens[person] = self.service.devices.register(fingerprint_hash(person))
                assert self.service.devices.identify(self.tokens[person]) is not None
        return {"X-Fingerprint": person, "Authorization": f"Bearer {self.tokens[person]}"}

    def ask(self, agent: str = "agent", key: str | None = None, **body: Any) -> httpx.Response:
        """Send an agent's question."""
        headers = self.agent(agent) | ({"X-Idempotency-Key": key} if key is not None else {})
        response = self.client.post("/agent/questions", json={**TEXT, **body}, headers=headers)
        if response.status_code == httpx.codes.CREATED:
            self.askers[response.json()["question_id"]] = agent
        return response

    def create_question(self, **body: Any) -> str:
        """Return the ID of an accepted question."""
        response = self.ask(**body)
        assert response.status_code == 201, response.text
        return str(response.json()["question_id"])

    def poll(self, question_id: str) -> dict[str, Any]:
        """Return a question as its agent sees it."""
        headers = self.agent(self.askers[question_id])
        response = self.client.get(f"/agent/questions/{question_id}", headers=headers)
        assert response.status_code == 200, response.text
        body: dict[str, Any] = response.json()
        return body

    def answer(self, question_id: str, person: str, zone: str | None = None, **body: Any) -> httpx.Response:
        """Send a person's answer, from a separate address; a text unless the body contains another answer."""
        content = body or {"answer": f"as {person} sees it"}
        headers = self.person(person) | ({"X-Timezone": zone} if zone is not None else {})
        headers["X-Forwarded-For"] = f"host-{person}"
        return self.client.post("/human/responses", json={"question_id": question_id, **content}, headers=headers)

    def get(self, path: str, person: str | None = None, address: str = "10.0.0.1", **query: Any) -> httpx.Response:
        """Send a GET request of a person."""
        headers = {"X-Forwarded-For": address} | (self.person(person) if person is not None else {})
        return self.client.get(f"/human{path}", params=query, headers=headers)

    def subscribe(self, token: str, person: str, address: str | None = None, **body: Any) -> httpx.Response:
        """Subscribe a person to push notifications; from a separate address by default."""
        headers = self.person(person) | {"X-Forwarded-For": address or f"host-{person}-{token}"[:60]}
        return self.client.post("/human/push/subscribe", json={"fcm_token": token, **body}, headers=headers)

    def sweep(self) -> int:
        """Run the sweep."""
        return Sweeper(self.service.base).run_once()

    def rank(self) -> int:
        """Run the worker behind the ranks."""
        ranking = Ranking(self.service.base, JsonLinesFolder(self.outbox.parent / "failed"))
        try:
            return ranking.run_once()
        finally:
            ranking.close()

    def pusher(self, notifier: Notifier | None = None) -> PushWorker:
        """Return a push worker; its messages go to the outbox unless a notifier is given."""
        outbound = Outbound(notifier or self.notifier())
        self.stack.callback(outbound.close)
        return PushWorker(self.service.base, outbound, "https://ask.example/")

    def outbox_messages(self) -> list[tuple[str, str]]:
        """Return token and question of all messages in the outbox, in order."""
        return [(record.message.token, record.message.question_id) for record in read_outbox(self.outbox).messages]


@contextmanager
def staged(
    connection: Connection,
    clock: Clock,
    folder: Path,
    checks: Any = None,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Stage]:
    """Serve the API over a connection, on a real socket, behind one trusted proxy."""
    connection.create_tables(*TABLES)
    service = Service.from_connection(connection, clock, AddressLimits.from_environment(connection, clock, settings))

    outbox = folder / "outbox.jsonl"
    with ExitStack() as stack:
        server = stack.enter_context(
            Running(application(service, checks or {"table": passing_check}, trusted_proxies=1))
        )
        limits = httpx.Limits(max_connections=64)
        client = stack.enter_context(httpx.Client(base_url=server.url, timeout=240, trust_env=False, limits=limits))
        yield Stage(
            connection, clock, service, client, server.url, outbox, lambda: OutboxNotifier(outbox, clock), stack
        )


def at_once(sends: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return the results of concurrent calls, one thread each."""
    with ThreadPoolExecutor(len(sends)) as pool:
        return [future.result() for future in [pool.submit(send) for send in sends]]


def open_questions(engine: Engine | ServedEngine, agent: str) -> int:
    """Return the counted number of an agent's open questions."""
    (quota,) = [item for item in items(engine, entities.questions) if item["question_id"] == {"S": f"AGENT#{agent}"}]
    return int(quota["open_questions"]["N"])


def items(engine: Engine | ServedEngine, table: Any) -> list[dict[str, Any]]:
    """Return all items of a table, as they are stored."""
    results: list[dict[str, Any]] = []
    start: dict[str, Any] = {}
    while True:
        try:
            page = engine.call("Scan", {"TableName": table.name, "ConsistentRead": True, **start})
        except InternalServerError:
            continue  # an engine with faults has them for tests too
        results += page["Items"]
        if "LastEvaluatedKey" not in page:
            return results
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
