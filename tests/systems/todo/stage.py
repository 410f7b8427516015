"""The to-do system on a real socket, with people who have tokens, for tests and audits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from tests.systems.elsewhere import Elsewhere

import keyplan
from keyplan.clock import Clock
from keyplan.connections.connection import Connection
from keyplan.connections.context import Retries
from keyplan.engine.engine import Engine
from keyplan_systems.todo.api import application
from keyplan_systems.todo.domain import Policy
from keyplan_systems.todo.entities import app as table
from keyplan_systems.todo.service import Service
from keyplan_systems.web.development import DevelopmentKey, development_key, issue_development_token
from keyplan_systems.web.serving import Running
from keyplan_systems.web.tokens import TokenRules, TokenVerifier, development_keys

AUDIENCE = "todo"
_keys = itertools.count()


def new_key() -> str:
    """An idempotency key that no other request of the process has."""
    return f"key-{next(_keys)}"


@dataclass
class Stage:
    """One system with everything under it."""

    connection: Connection
    clock: Clock
    service: Service
    url: str
    key: DevelopmentKey
    clients: list[httpx.Client] = field(default_factory=list)

    def person(self, subject: str, /, *roles: str, **claims: Any) -> Caller:
        """Somebody with a good token."""
        told = {"email": f"{subject}@example.org", "name": subject, **claims}
        token = issue_development_token(
            self.key, subject, audience=AUDIENCE, roles=roles, claims=told, clock=self.clock, lifetime_s=10**8
        )
        headers = {"Authorization": f"Bearer {token}"}
        client = httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=240, trust_env=False)
        self.clients.append(client)
        return Caller(client, subject)


@dataclass
class Caller:
    """Somebody who sends requests."""

    client: httpx.Client
    name: str

    def get(self, path: str, **query: Any) -> httpx.Response:
        """Read."""
        return self.client.get(path, params=query)

    def post(self, path: str, body: Any = None, key: str | None = None) -> httpx.Response:
        """Make; under a new idempotency key unless one is given."""
        return self.client.post(path, json=body, headers={"Idempotency-Key": key or new_key()})

    def put(self, path: str, body: Any, key: str | None = None, **headers: str) -> httpx.Response:
        """Change."""
        return self.client.put(path, json=body, headers={"Idempotency-Key": key or new_key(), **headers})

    def delete(self, path: str, key: str | None = None, **headers: str) -> httpx.Response:
        """Delete."""
        return self.client.delete(path, headers={"Idempotency-Key": key or new_key(), **headers})

    def task(self, title: str = "task", **values: Any) -> dict[str, Any]:
        """A task that has been made."""
        answer = self.post("/tasks", {"title": title, **values})
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made


@contextmanager
def staged(connection: Connection, clock: Clock, folder: Path, policy: Policy | None = None) -> Iterator[Stage]:
    """The API over a connection, on a real socket."""
    connection.create_tables(table)
    service = Service.over(connection, clock, policy)
    key = development_key(folder)
    verifier = TokenVerifier(TokenRules(AUDIENCE), development_keys(key), clock)

    async def well() -> object:
        return None

    with Running(application(service, verifier, clock, {"table": well})) as server:
        stage = Stage(connection, clock, service, server.url, key)
        try:
            yield stage
        finally:
            for client in stage.clients:
                client.close()


def connected(engine: Engine | Elsewhere, clock: Clock, attempts: int = 10) -> Connection:
    """A connection that waits little before it repeats: to an engine, or to where it is served."""
    retries = Retries(attempts=attempts, first_s=0.002, most_s=0.1)
    if isinstance(engine, Elsewhere):
        return engine.connect(clock=clock, retries=retries, cursor_key=b"tests")
    return keyplan.connect(engine=engine, clock=clock, retries=retries, cursor_key=b"tests")
