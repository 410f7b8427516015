"""Stored connections and subscriptions: written together, once, and deleted together, also concurrently."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.systems.served_engine import ServedEngine, connected, served

from keyplan.client.connection import Connection
from keyplan.client.errors import TransactionFailedError
from keyplan.client.requests import Transport
from keyplan.clock import ManualClock, SystemClock
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan_systems.forum.connections import SERVER_SECONDS, Connections
from keyplan_systems.forum.domain import BadRequestError
from keyplan_systems.forum.entities import MAX_WATCHED, Event, EventType, Place, forum
from keyplan_systems.forum.followers import Followers


@pytest.fixture
def engine(place: str, tmp_path: Path) -> Iterator[Engine | ServedEngine]:
    """Yield an engine with injected faults, or an endpoint."""
    if place == "served":
        with served(tmp_path) as endpoint:
            yield endpoint
    else:
        with Engine.memory(faults=Faults(seed=2, conflicts=0.05, internal_errors=0.03)) as engine:
            yield engine


@pytest.fixture
def connections(engine: Engine | ServedEngine) -> Iterator[Connections]:
    clock = SystemClock()
    with connected(engine, clock) as db:
        db.create_tables(forum)
        yield Connections(db, clock)


def keys(engine: Engine | ServedEngine) -> list[tuple[str, str]]:
    items: list[dict[str, Any]] = engine.call("Scan", {"TableName": "forum", "ConsistentRead": True})["Items"]
    return sorted((item["PK"]["S"], item["time"]["S"]) for item in items)


def test_a_connection_is_removed_with_its_subscriptions(
    engine: Engine | ServedEngine, connections: Connections
) -> None:
    for name in ("a", "b"):
        connections.store_connection(name, "13")
        for number in range(3):
            connections.subscribe(name, "13", Place(str(number), "7"))
            connections.subscribe(name, "13", Place(str(number), "7"))
    assert len(keys(engine)) == 8
    connections.unsubscribe("a", Place("1", "7"))
    connections.unsubscribe("a", Place("1", "7"))
    assert connections.delete_connection("a") == 2
    assert connections.delete_connection("a") == 0
    assert keys(engine) == [("CONN#b", "CONN"), *((f"THREADSUB#{number}#7", "b") for number in range(3))]


@pytest.mark.parametrize("round_", range(5))
def test_a_subscription_added_while_its_connection_ends_is_not_left_over(
    engine: Engine | ServedEngine, connections: Connections, round_: int
) -> None:
    connections.store_connection("a", "13")
    start = threading.Barrier(5)

    def subscribe(number: int) -> bool:
        start.wait()
        try:
            connections.subscribe("a", "13", Place(str(number), "7"))
        except TransactionFailedError:
            return False  # the connection was deleted already
        return True

    def close() -> bool:
        start.wait()
        return connections.delete_connection("a") >= 0

    with ThreadPoolExecutor(5) as pool:
        acts = [pool.submit(subscribe, number) for number in range(4)] + [pool.submit(close)]
        assert acts[-1].result()
    assert keys(engine) == []


@dataclass
class Interrupted:
    """Transport that runs another action after its first GetItem."""

    inner: Transport
    then: list[Callable[[], None]]

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        response = self.inner.call(operation, request)
        if operation == "GetItem" and self.then:
            self.then.pop()()
        return response

    def close(self) -> None:
        self.inner.close()


def test_a_subscription_written_between_reading_and_removing_is_removed_too(engine: Engine | ServedEngine) -> None:
    clock = SystemClock()
    with connected(engine, clock) as below:
        below.create_tables(forum)
        connections = Connections(below, clock)
        connections.store_connection("a", "13")
        connections.subscribe("a", "13", Place("1", "7"))
        late = Interrupted(below.transport, [lambda: connections.subscribe("a", "13", Place("2", "7"))])
        assert Connections(Connection(late, below.context), clock).delete_connection("a") == 2
        assert keys(engine) == []


def test_a_connection_may_not_watch_more_than_the_maximum_of_threads(
    engine: Engine | ServedEngine, connections: Connections
) -> None:
    connections.store_connection("a", "13")
    for number in range(MAX_WATCHED):
        connections.subscribe("a", "13", Place(str(number), "7"))
    with pytest.raises(BadRequestError, match="50"):
        connections.subscribe("a", "13", Place("99", "7"))
    assert connections.delete_connection("a") == MAX_WATCHED
    assert keys(engine) == []


def test_watchers_of_a_killed_process_count_for_a_minute(clock: ManualClock) -> None:
    with Engine.memory(clock=clock) as engine, connected(engine, clock) as db:
        db.create_tables(forum)
        killed, other, place = Connections(db, clock), Connections(db, clock), Place("42", "7")
        for connections, name, user_id in ((killed, "a", "13"), (other, "b", "14")):
            connections.renew_registration()
            connections.store_connection(name, user_id)
            connections.subscribe(name, user_id, place)
        clock.advance(SERVER_SECONDS - 1)
        other.renew_registration()
        assert other.users(place) == {"13", "14"}
        clock.advance(2)
        assert other.users(place) == {"14"}
        killed.renew_registration()
        assert other.users(place) == {"13", "14"}, "it was only held up"


def test_watchers_and_followers_are_read_consistently(clock: ManualClock) -> None:
    """A stale read would cause an additional notification, and a follow that outlives its thread's closing."""
    stale = Faults(stale_reads=1.0, stale_s=3600.0)
    with Engine.memory(clock=clock, faults=stale) as engine, connected(engine, clock) as db:
        db.create_tables(forum)
        clock.advance(7200)
        connections, place = Connections(db, clock), Place("42", "7")
        followers = Followers(db, clock, connections)
        connections.renew_registration()
        connections.store_connection("a", "13")
        connections.subscribe("a", "13", place)
        assert connections.users(place) == {"13"}
        followers.follow(place, "13")
        assert followers.is_following(place, "13")
        closed = EventType.THREAD_CLOSED
        event = Event(participant_id="42", item_id="7", at_ms=1, seq=1, event_id="s", type=closed, user_id="13")
        followers.apply_status_change(event, [])
        clock.advance(14 * 24 * 3600)
        assert not followers.is_following(place, "13")
