"""The operations of the to-do system, grouped by topic."""

from __future__ import annotations

from dataclasses import dataclass

from keyplan.client.connection import Connection
from keyplan.clock import Clock
from keyplan_systems.todo.domain import Policy
from keyplan_systems.todo.idempotency import IdempotencyKeys
from keyplan_systems.todo.service_deletions import Deletions
from keyplan_systems.todo.service_lists import Lists
from keyplan_systems.todo.service_tasks import Tasks
from keyplan_systems.todo.service_users import Users


@dataclass(frozen=True)
class Service:
    """All operations of the to-do system, grouped by topic. Threads can share an instance."""

    users: Users
    tasks: Tasks
    lists: Lists
    deletions: Deletions

    @classmethod
    def from_connection(cls, connection: Connection, clock: Clock, policy: Policy | None = None) -> Service:
        """Return the service for the tables of a connection."""
        idempotency = IdempotencyKeys(connection, clock)
        users = Users(connection, clock, idempotency)
        tasks = Tasks(connection, clock, idempotency, users, policy or Policy())
        return cls(users, tasks, Lists(connection, clock), Deletions(connection))
