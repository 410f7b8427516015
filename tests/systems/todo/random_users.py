"""Users who write tasks at random, for tests of stream consumers."""

from __future__ import annotations

import random
from typing import Any

from keyplan.client.connection import Connection
from keyplan_systems.todo import design
from keyplan_systems.todo.domain import Policy
from keyplan_systems.todo.entities import Status
from keyplan_systems.todo.idempotency import Request
from keyplan_systems.todo.service import Service
from keyplan_systems.todo.service_users import Person


class RandomUsers:
    """Users who write tasks at random."""

    def __init__(self, connection: Connection, clock: Any, seed: int, policy: Policy | None = None) -> None:
        self.service = Service.from_connection(connection, clock, policy)
        self.generator, self.seed = random.Random(seed), seed
        self._request_count = 0

    def write(self, count: int) -> None:
        """Send this number of requests from any of five users."""
        for _ in range(count):
            name = f"u{self.seed}-{self.generator.randrange(5)}"
            self._send_request(name, self._request(name))

    def _request(self, name: str) -> Request:
        self._request_count += 1
        return Request(name, f"{self.seed}-{self._request_count}", "f")

    def _send_request(self, name: str, request: Request) -> None:
        tasks, task_ids = self.service.tasks, [task.task_id for task in self._tasks_of(name)]
        if not task_ids or self.generator.random() < 0.4:
            result = {"title": "t", "category": self.generator.choice([None, "home", "work"])}
            tasks.create(request, Person(name, f"{name}@example.org", name), result)
        elif self.generator.random() < 0.2:
            tasks.delete(request, name, self.generator.choice(task_ids), None)
        elif self.generator.random() < 0.05:
            tasks.delete_completed(request, name)
        else:
            status = self.generator.choice(list(Status))
            tasks.change(request, name, self.generator.choice(task_ids), {"status": status}, None)

    def _tasks_of(self, name: str) -> Any:
        return self.service.lists._connection.run(design.tasks_of_user(name), limit=20)
