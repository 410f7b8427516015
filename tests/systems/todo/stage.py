"""To-do system on a real socket, with users who have tokens, for tests and audits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from tests.systems.app_clients import AppClients, passing_check

from keyplan.client.connection import Connection
from keyplan.clock import Clock
from keyplan_systems.todo.api import application
from keyplan_systems.todo.domain import Policy
from keyplan_systems.todo.entities import app as table
from keyplan_systems.todo.service import Service
from keyplan_systems.web.development import development_key

AUDIENCE = "todo"
_keys = itertools.count()


def new_key() -> str:
    """Return an idempotency key that is unique in the process."""
    return f"key-{next(_keys)}"


@dataclass(kw_only=True)
class Stage(AppClients):
    """Running system with its dependencies."""

    connection: Connection
    service: Service

    def person(self, subject: str, /, *roles: str, **claims: Any) -> Caller:
        """Return a client with a valid token."""
        result = {"email": f"{subject}@example.org", "name": subject, **claims}
        return Caller(self.client(self.token(subject, *roles, **result), "/api/v1"), subject)


@dataclass
class Caller:
    """Client of one user."""

    client: httpx.Client
    name: str

    def get(self, path: str, **query: Any) -> httpx.Response:
        """Send a GET request."""
        return self.client.get(path, params=query)

    def post(self, path: str, body: Any = None, key: str | None = None) -> httpx.Response:
        """Send a POST request, with a new idempotency key unless one is given."""
        return self.client.post(path, json=body, headers={"Idempotency-Key": key or new_key()})

    def put(self, path: str, body: Any, key: str | None = None, **headers: str) -> httpx.Response:
        """Send a PUT request."""
        return self.client.put(path, json=body, headers={"Idempotency-Key": key or new_key(), **headers})

    def delete(self, path: str, key: str | None = None, **headers: str) -> httpx.Response:
        """Send a DELETE request."""
        return self.client.delete(path, headers={"Idempotency-Key": key or new_key(), **headers})

    def task(self, title: str = "task", **values: Any) -> dict[str, Any]:
        """Create a task and return it."""
        response = self.post("/tasks", {"title": title, **values})
        assert response.status_code == 201, response.text
        body: dict[str, Any] = response.json()
        return body


@contextmanager
def staged(connection: Connection, clock: Clock, folder: Path, policy: Policy | None = None) -> Iterator[Stage]:
    """Serve the API over a connection, on a real socket."""
    connection.create_tables(table)
    service = Service.from_connection(connection, clock, policy)
    stage = Stage(clock=clock, key=development_key(folder), audience=AUDIENCE, connection=connection, service=service)
    with stage.serve(application(service, stage.verifier, clock, {"table": passing_check})):
        yield stage
