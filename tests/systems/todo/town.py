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


class Town:
    """Users who write tasks at random."""

    def __init__(self, connection: Connection, clock: Any, seed: int, policy: Policy | None = None) -> None:
        self.service = Service.from_connection(connection, clock, policy)
        self.chance, self.seed = random.Random(seed), seed
        self._sent = 0

    def write(self, count: int) -> None:
        """Send this number of requests from any of five users."""
        for _ in range(count):
            name = f"u{self.seed}-{self.chance.randrange(5)}"
            self._one(name, self._request(name))

    def _request(self, name: str) -> Request:
        self._sent += 1
        return Request(name, f"{self.seed}-{self._sent}", "f")

    def _one(self, name: str, request: Request) -> None:
        tasks, task_ids = self.service.tasks, [task.task_id for task in self._known(name)]
        if not task_ids or self.chance.random() < 0.4:
            result = {"title": "t", "category": self.chance.choice([None, "home", "work"])}
            tasks.create(request, Person(name, f"{name}@example.org", name), result)
        elif self.chance.random() < 0.2:
            tasks.delete(request, name, self.chance.choice(task_ids), None)
        elif self.chance.random() < 0.05:
            tasks.delete_completed(request, name)
        else:
            status = self.chance.choice(list(Status))
            tasks.change(request, name, self.chance.choice(task_ids), {"status": status}, None)

    def _known(self, name: str) -> Any:
        return self.service.lists._connection.run(design.tasks_of_user(name), limit=20)
