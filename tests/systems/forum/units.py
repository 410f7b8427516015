"""Measured cost of the operations: requests and units of each, in a thread of fifty events with three followers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.systems.metered import Metered, metered
from tests.systems.served_engine import connected

from keyplan import Inserted
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.forum import sample
from keyplan_systems.forum.entities import EventType, Place, forum
from keyplan_systems.forum.event_log import Draft
from keyplan_systems.forum.migrations import upgrade
from keyplan_systems.forum.relational.session import Database
from keyplan_systems.forum.service import Service

PLACE = Place(sample.ANN, sample.LOOPS)


@dataclass
class MeasuredService:
    """Service whose requests are counted, with data in its table."""

    service: Service
    counting: Metered
    rows: list[tuple[str, int, float]] = field(default_factory=list)

    def measure(self, name: str, operation: Callable[[], Any]) -> Any:
        """Record the cost of a function call."""
        self.counting.reset()
        result = operation()
        self.rows.append((name, len(self.counting.operations), self.counting.units))
        return result


@contextmanager
def measured_service() -> Iterator[MeasuredService]:
    """Yield a thread of fifty events, every second one a message, with three followers and two watchers."""
    clock = ManualClock()
    with tempfile.TemporaryDirectory() as folder, Engine.memory(clock=clock, ttl_sweep_s=None) as engine:
        url = f"sqlite:///{Path(folder) / 'forum.db'}"
        upgrade(url)
        database = Database(url)
        sample.load_school(database)
        with connected(engine, clock) as unmetered:
            unmetered.create_tables(forum)
            connection, counting = metered(unmetered)
            service = Service.from_connections(connection, database, clock, Ed25519PrivateKey.generate())
            for number in range(50):
                service.log.append(_draft(number))
            for user_id in (sample.ANN, sample.BEN, sample.TUTOR):
                service.followers.follow(PLACE, user_id)
            service.connections.renew_registration()
            for name in ("a", "b"):
                service.connections.store_connection(name, sample.ANN)
                service.connections.subscribe(name, sample.ANN, PLACE)
            yield MeasuredService(service, counting)
        database.close()


def _draft(number: int) -> Draft:
    if number % 2:
        return Draft(PLACE, f"attempt-{number}", EventType.ATTEMPT_STARTED, attempt_id=str(number))
    text = "A question of about a hundred characters, as people ask it when they are stuck with a task."
    return Draft(PLACE, f"message-{number}", EventType.MESSAGE, user_id=sample.BEN, content=text)


def rows() -> list[tuple[str, int, float]]:
    """Return each operation with its requests and units."""
    with measured_service() as measured:
        service, log = measured.service, measured.service.log
        stored = measured.measure("store a message", lambda: log.append(_draft(50)))
        measured.measure("store the same message again", lambda: log.append(_draft(50)))
        measured.measure("read the last 10 messages", lambda: log.messages(PLACE, 10, None))
        measured.measure("read the last 20 events", lambda: log.history(PLACE, 20, None))
        measured.measure("read the number of the newest event", lambda: log.last_seq(PLACE))
        measured.measure("read 5 new events", lambda: log.events_after(PLACE, 46))
        measured.measure("connect", lambda: service.connections.store_connection("c", sample.TEACHER))
        measured.measure("subscribe", lambda: service.connections.subscribe("c", sample.TEACHER, PLACE))
        change = Inserted(new=stored.event, sequence_number="1", event_id="1", at_s=0.0)
        measured.measure("notify 1 of 3 followers (2 are watching)", lambda: service.notify(change))
        measured.measure("disconnect", lambda: service.connections.delete_connection("c"))
        measured.measure(
            "read the last 20 notifications", lambda: service.followers.notifications(sample.TUTOR, 20, None)
        )
        return measured.rows


def table() -> str:
    """Return the table of the README."""
    lines = ["| Operation | Requests | Units |", "| --- | --- | --- |"]
    lines += [f"| {name} | {count} | {units:g} |" for name, count, units in rows()]
    return "\n".join(lines) + "\n"
