"""Event log: one item per event, numbers without a gap, despite races, repetitions, lag and failures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.systems.served_engine import ServedEngine, connected, raw, served

from keyplan.client.connection import Connection
from keyplan.clock import ManualClock, SystemClock
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan_systems.forum.domain import BadRequestError
from keyplan_systems.forum.entities import Event, EventType, Place, forum
from keyplan_systems.forum.event_log import AppendResult, Draft, EventLog

PLACE = Place("42", "7")
NOW_MS = 1_700_000_000_000


@pytest.fixture
def db(engine: Engine | ServedEngine, clock: ManualClock) -> Iterator[Connection]:
    with connected(engine, clock) as connection:
        connection.create_tables(forum)
        yield connection


@pytest.fixture
def log(db: Connection, clock: ManualClock) -> EventLog:
    return EventLog(db, clock)


def message(number: int, place: Place = PLACE) -> Draft:
    return Draft(place, f"message-{number}", EventType.MESSAGE, user_id="13", content=f"text {number}")


def events_in(log: EventLog, place: Place = PLACE) -> list[Event]:
    return log.events_after(place, 0)


def items(engine: Engine | ServedEngine, prefix: str) -> list[dict[str, Any]]:
    stored_items = raw(engine, "Scan", {"TableName": "forum", "ConsistentRead": True})["Items"]
    return [item for item in stored_items if item["PK"]["S"].startswith(prefix)]


def test_keys_and_attributes_match_the_document(log: EventLog, engine: Engine | ServedEngine) -> None:
    log.append(message(1))
    (item,) = items(engine, "THREADEV#")
    assert item["PK"] == {"S": "THREADEV#42#7"}
    assert item["time"] == {"S": "1700000000000#0000000001"}
    assert (item["type"], item["user_id"], item["content"]) == ({"S": "message"}, {"S": "13"}, {"S": "text 1"})
    assert "score" not in item
    schema = engine.call("DescribeTable", {"TableName": "forum"})["Table"]
    assert schema["KeySchema"] == [
        {"AttributeName": "PK", "KeyType": "HASH"},
        {"AttributeName": "time", "KeyType": "RANGE"},
    ]
    assert {"AttributeName": "time", "AttributeType": "S"} in schema["AttributeDefinitions"]


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (EventType.THREAD_OPENED, {"user_id": "13"}),
        (EventType.ATTEMPT_STARTED, {"attempt_id": "5"}),
        (EventType.SUBMISSION, {"attempt_id": "5", "answer_id": "6"}),
        (EventType.SUBMISSION, {"attempt_id": "5", "answer_id": "6", "score": 0.0, "validated": False}),
        (EventType.THREAD_CLOSED, {"user_id": "13"}),
        (EventType.MESSAGE, {"user_id": "13", "content": "text"}),
    ],
)
def test_each_type_keeps_its_attributes_and_a_missing_one_is_none(
    log: EventLog, kind: EventType, fields: dict[str, Any]
) -> None:
    log.append(Draft(PLACE, "an-event", kind, **fields))
    (event,) = events_in(log)
    optional = ("user_id", "attempt_id", "answer_id", "score", "validated", "content")
    assert {name: getattr(event, name) for name in optional if getattr(event, name) is not None} == fields


def test_two_events_of_one_millisecond_are_both_stored_in_order_of_arrival(log: EventLog) -> None:
    first, second = log.append(message(2)), log.append(message(1))
    assert first.event.at_ms == second.event.at_ms == NOW_MS
    assert [event.event_id for event in events_in(log)] == ["message-2", "message-1"]
    assert [event.event_id for event in log.history(PLACE, 20, None)] == ["message-1", "message-2"]


def test_an_event_sent_again_is_stored_once_at_any_time(log: EventLog, clock: ManualClock) -> None:
    first = log.append(message(1))
    clock.advance(3600)
    assert log.append(message(1)) == AppendResult(first.event, is_new=False)
    fact = Draft(PLACE, "attempt-5", EventType.ATTEMPT_STARTED, at_ms=NOW_MS - 5, attempt_id="5")
    other = Draft(PLACE, "attempt-5", EventType.ATTEMPT_STARTED, at_ms=NOW_MS - 9, attempt_id="5")
    assert log.append(fact).is_new
    assert log.append(other).event.at_ms == NOW_MS - 5
    assert [event.seq for event in events_in(log)] == [1, 2]


def test_back_filled_events_are_at_their_time_in_the_history_and_last_among_arrivals(log: EventLog) -> None:
    log.append(message(1))
    log.append(Draft(PLACE, "attempt-5", EventType.ATTEMPT_STARTED, at_ms=NOW_MS - 10**9, attempt_id="5"))
    log.append(message(2))
    assert [event.event_id for event in events_in(log)] == ["message-1", "attempt-5", "message-2"]
    assert [event.event_id for event in log.history(PLACE, 20, None)] == ["message-2", "message-1", "attempt-5"]
    assert [event.event_id for event in log.events_after(PLACE, 1)] == ["attempt-5", "message-2"]


def test_time_never_decreases_within_a_thread(log: EventLog, db: Connection, clock: ManualClock) -> None:
    log.append(message(1))
    behind = EventLog(db, ManualClock(clock.now() - 60))
    assert behind.append(message(2)).event.at_ms == NOW_MS
    log.append(Draft(PLACE, "attempt-8", EventType.ATTEMPT_STARTED, at_ms=NOW_MS - 60_000, attempt_id="8"))
    assert behind.append(message(3)).event.at_ms == NOW_MS, "back-filling does not turn the clock back"


def test_the_senders_clock_may_be_a_minute_ahead(log: EventLog) -> None:
    log.append(Draft(PLACE, "attempt-8", EventType.ATTEMPT_STARTED, at_ms=NOW_MS + 60_000, attempt_id="8"))
    with pytest.raises(BadRequestError):
        log.append(Draft(PLACE, "attempt-9", EventType.ATTEMPT_STARTED, at_ms=NOW_MS + 60_001, attempt_id="9"))


def test_the_last_messages_are_found_between_any_number_of_other_events(log: EventLog) -> None:
    for number in range(40):
        kind = EventType.MESSAGE if number % 10 == 0 else EventType.ATTEMPT_STARTED
        log.append(Draft(PLACE, f"e{number}", kind, user_id="13", content="x", attempt_id="1"))
    page = log.messages(PLACE, 3, None)
    assert [event.event_id for event in page] == ["e30", "e20", "e10"]
    rest = log.messages(PLACE, 3, page.cursor)
    assert [event.event_id for event in rest] == ["e0"]


def test_threads_do_not_mix(log: EventLog) -> None:
    other = Place("4", "27")
    log.append(message(1))
    log.append(message(1, other))
    assert [event.place for event in events_in(log)] == [PLACE]
    assert [event.seq for event in events_in(log, other)] == [1]


def together(operations: list[Callable[[], AppendResult]]) -> list[AppendResult]:
    start = threading.Barrier(len(operations))

    def begin(operation: Callable[[], AppendResult]) -> AppendResult:
        start.wait()
        return operation()

    with ThreadPoolExecutor(len(operations)) as pool:
        return list(pool.map(begin, operations))


FAULTY = Faults(seed=3, gsi_lag=0.05, conflicts=0.1, internal_errors=0.05, stale_reads=0.3)


@pytest.fixture(params=["well", "faulty", "served"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine | ServedEngine]:
    """Yield a database that several processes can share."""
    if request.param == "served":
        with served(tmp_path) as endpoint:
            yield endpoint
    else:
        with Engine.memory(faults=FAULTY if request.param == "faulty" else None) as engine:
            yield engine


def test_concurrent_writers_of_several_processes_leave_no_gap_and_lose_nothing(shared: Engine | ServedEngine) -> None:
    writers, count = 6, 10
    with connected(shared, SystemClock()) as first, connected(shared, SystemClock()) as second:
        first.create_tables(forum)
        logs = [EventLog(db, SystemClock()) for db in (first, second, first)]

        def write(writer: int) -> AppendResult:
            log = logs[writer % len(logs)]
            for number in range(count):
                appended = log.append(message(100 * writer + number))
                assert log.append(message(100 * writer + number)).event == appended.event
            return appended

        together([partial(write, writer) for writer in range(writers)])
        stored = {item["seq"]["N"]: item for item in items(shared, "THREADEV#")}
        assert sorted(map(int, stored)) == list(range(1, writers * count + 1))
        assert len({item["event_id"]["S"] for item in stored.values()}) == writers * count
        in_order = [stored[str(seq)]["time"]["S"] for seq in range(1, writers * count + 1)]
        assert in_order == sorted(in_order)


def test_an_event_written_concurrently_is_stored_once(
    engine: Engine | ServedEngine, db: Connection, clock: ManualClock
) -> None:
    logs = [EventLog(db, clock) for _ in range(6)]
    results = together([partial(log.append, message(1)) for log in logs])
    assert sum(outcome.is_new for outcome in results) == 1
    assert len({outcome.event.seq for outcome in results}) == 1
    assert len(items(engine, "THREADEV#")) == 1


def test_a_lagging_index_returns_fewer_events_and_never_a_gap(clock: ManualClock) -> None:
    with (
        Engine.memory(clock=clock, faults=Faults(seed=1, gsi_lag=(0.0, 10.0))) as engine,
        connected(engine, clock) as db,
    ):
        db.create_tables(forum)
        log = EventLog(db, clock)
        for number in range(20):
            log.append(message(number))
        for _ in range(11):
            seqs = [event.seq for event in log.events_after(PLACE, 0)]
            assert seqs == list(range(1, len(seqs) + 1))
            clock.advance(1)
        assert log.last_seq(PLACE) == 20
        assert len(events_in(log)) == 20


def test_the_last_sequence_number_is_read_consistently(clock: ManualClock) -> None:
    stale = Faults(stale_reads=1.0, stale_s=3600.0)
    with Engine.memory(clock=clock, faults=stale) as engine, connected(engine, clock) as db:
        db.create_tables(forum)
        clock.advance(7200)
        log = EventLog(db, clock)
        for number in (1, 2, 1):
            log.append(message(number))
        assert log.last_seq(PLACE) == 2
