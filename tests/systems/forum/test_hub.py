"""Hub: a watch gets every number once and in order, even if the stream swaps, repeats or loses records."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest
from tests.systems.forum.hub_stage import PLACE, Stage, run_scenario
from tests.systems.forum.live import PATIENCE_S
from tests.systems.served_engine import ServedEngine, connected

from keyplan.client.errors import UnavailableError
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.forum import hub as hubs
from keyplan_systems.forum.entities import Event, Notification, Place, forum
from keyplan_systems.forum.event_log import EventLog
from keyplan_systems.forum.hub import Limits

OTHER = Place("43", "7")


@pytest.fixture
def log(engine: Engine | ServedEngine, clock: ManualClock) -> Iterator[EventLog]:
    with connected(engine, clock) as db:
        db.create_tables(forum)
        yield EventLog(db, clock)


@pytest.mark.parametrize("seed", range(8))
def test_a_reordered_and_repeated_stream_is_delivered_once_in_order(
    log: EventLog, clock: ManualClock, seed: int
) -> None:
    chance = random.Random(seed)

    async def story(stage: Stage) -> None:
        connections = [stage.connect(name) for name in "abc"]
        for connection in connections:
            stage.watch(connection)
        events = stage.write(40)
        result = [event for event in events if chance.random() < 0.8] * 2 + [events[-1]]
        chance.shuffle(result)
        while result:
            stage.hub.push_events([result.pop() for _ in range(min(len(result), chance.randint(1, 5)))])
            await asyncio.sleep(0)
        for name in "abc":
            await stage.wait_for_messages(name, 40)
            assert stage.seqs(name) == list(range(1, 41))

    run_scenario(log, clock, story)


def test_events_lost_by_a_stream_are_found_with_the_next_event_or_heartbeat(log: EventLog, clock: ManualClock) -> None:
    async def story(stage: Stage) -> None:
        connection = stage.connect("a")
        stage.watch(connection)
        *_, last = stage.write(3)
        stage.hub.push_events([last])
        await stage.wait_for_messages("a", 3)
        stage.write(2)
        await stage.hub.read_missed(connection)
        await stage.wait_for_messages("a", 5)
        assert stage.seqs("a") == [1, 2, 3, 4, 5]

    run_scenario(log, clock, story)


def test_heartbeats_of_all_connections_read_a_threads_log_once_in_thirty_seconds(
    log: EventLog, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    last_seq, read = log.last_seq, list[Place]()

    def counted(place: Place) -> int:
        read.append(place)
        return last_seq(place)

    async def story(stage: Stage) -> None:
        connections = [stage.connect(name) for name in "abc"]
        for connection in connections:
            stage.watch(connection)
            stage.watch(connection, place=OTHER)
        monkeypatch.setattr(log, "last_seq", counted)
        for _ in range(2):
            await asyncio.gather(*(stage.hub.read_missed(connection) for connection in connections * 5))
            assert read == [PLACE, OTHER]
            clock.advance(hubs.NEWEST_READ_INTERVAL_S)
            read.clear()

    run_scenario(log, clock, story)


def test_after_a_failed_heartbeat_read_the_next_one_reads(
    log: EventLog, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    last_seq, failures = log.last_seq, list[Exception]()

    def failing(place: Place) -> int:
        if failures:
            raise failures.pop()
        return last_seq(place)

    async def story(stage: Stage) -> None:
        connection = stage.connect("a")
        stage.watch(connection)
        stage.write(2)
        monkeypatch.setattr(log, "last_seq", failing)
        failures.append(UnavailableError("gone"))
        with pytest.raises(UnavailableError):
            await stage.hub.read_missed(connection)
        await stage.hub.read_missed(connection)
        await stage.wait_for_messages("a", 2)
        assert stage.seqs("a") == [1, 2]

    run_scenario(log, clock, story)


def test_events_stored_while_a_watch_starts_are_delivered(log: EventLog, clock: ManualClock) -> None:
    async def story(stage: Stage) -> None:
        connection = stage.connect("a")
        watch = stage.hub.join(connection, PLACE)
        top = log.last_seq(PLACE)
        stage.hub.push_events(stage.write(2))
        await asyncio.sleep(0)
        assert stage.received["a"] == []
        stage.hub.begin(watch, top, top)
        await stage.wait_for_messages("a", 2)
        assert stage.seqs("a") == [1, 2]

    run_scenario(log, clock, story)


def test_a_slow_reader_gets_every_event_from_the_log_and_stays_subscribed(
    log: EventLog, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "MAX_BUFFERED_EVENTS", 4)

    async def story(stage: Stage) -> None:
        slow, quick = stage.connect("slow"), stage.connect("quick")
        stage.gate.clear()
        for connection in (slow, quick):
            stage.watch(connection)
        for event in stage.write(30):
            stage.hub.push_events([event])
            await asyncio.sleep(0)
        stage.gate.set()
        for name in ("slow", "quick"):
            await stage.wait_for_messages(name, 30)
            assert stage.seqs(name) == list(range(1, 31))
        assert not slow.close_reason.done()
        assert PLACE in slow.watches

    run_scenario(log, clock, story)


def test_a_reader_with_too_many_waiting_events_is_asked_to_reconnect(log: EventLog, clock: ManualClock) -> None:
    async def story(stage: Stage) -> None:
        connection = stage.connect("a")
        stage.gate.clear()
        for number in range(hubs.MAX_QUEUED_MESSAGES + 2):
            connection.enqueue({"number": number})
        assert connection.close_reason.result().code == 1013

    run_scenario(log, clock, story)


def test_a_failing_log_is_retried_and_the_watcher_disconnected_after_a_while(
    log: EventLog, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "RETRY_PAUSE_S", 0.0)
    monkeypatch.setattr(hubs, "MAX_READ_RETRIES", 20)
    events_after, failures = log.events_after, [UnavailableError("not now")] * 5

    def failing(place: Place, seq: int, limit: int = 100) -> list[Event]:
        if failures:
            raise failures.pop()
        return events_after(place, seq, limit)

    async def story(stage: Stage) -> None:
        monkeypatch.setattr(log, "events_after", failing)
        stage.write(2)
        connection = stage.connect("a")
        stage.watch(connection)
        await stage.wait_for_messages("a", 2)
        assert stage.seqs("a") == [1, 2]
        failures.extend(UnavailableError("gone") for _ in range(100))
        stage.write(2)
        await stage.hub.read_missed(connection)
        async with asyncio.timeout(PATIENCE_S):
            assert (await asyncio.shield(connection.close_reason)).code == 1013
        assert stage.seqs("a") == [1, 2]

    run_scenario(log, clock, story)


def test_responses_do_not_wait_for_a_lagging_index(
    log: EventLog, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "RETRY_PAUSE_S", 0.0)
    monkeypatch.setattr(hubs, "MAX_READ_RETRIES", 10**9)
    events_after, requests, is_behind = log.events_after, 0, True

    def lagging(place: Place, seq: int, limit: int = 100) -> list[Event]:
        nonlocal requests
        requests += 1
        return [] if is_behind else events_after(place, seq, limit)

    async def story(stage: Stage) -> None:
        nonlocal is_behind
        monkeypatch.setattr(log, "events_after", lagging)
        stage.write(1)
        connection = stage.connect("a")
        stage.watch(connection)
        async with asyncio.timeout(PATIENCE_S):
            while not requests:
                await asyncio.sleep(0.001)
        connection.enqueue({"action": "heartbeat"})
        await stage.wait_for_messages("a", 1)
        assert stage.received["a"] == [{"action": "heartbeat"}]
        is_behind = False
        await stage.wait_for_messages("a", 2)
        assert stage.seqs("a") == [1]

    run_scenario(log, clock, story)


def test_a_reader_who_left_receives_nothing_more(log: EventLog, clock: ManualClock) -> None:
    async def story(stage: Stage) -> None:
        first, second = stage.connect("a"), stage.connect("b")
        for connection in (first, second):
            stage.watch(connection)
            stage.watch(connection, place=OTHER)
        assert stage.hub.leave(first, PLACE)
        assert not stage.hub.leave(first, PLACE)
        stage.hub.push_events(stage.write(2) + stage.write(1, OTHER))
        await stage.wait_for_messages("b", 3)
        await stage.wait_for_messages("a", 1)
        assert [message["participant_id"] for message in stage.received["a"]] == ["43"]
        stage.hub.close(second)
        assert stage.hub.connections == 1

    run_scenario(log, clock, story)


def test_a_reader_who_leaves_during_a_page_receives_no_more_of_it(log: EventLog, clock: ManualClock) -> None:
    async def story(stage: Stage) -> None:
        stage.write(5)
        stage.gate.clear()
        connection = stage.connect("a")
        stage.watch(connection)
        async with asyncio.timeout(PATIENCE_S):
            while stage.started_sends == 0:
                await asyncio.sleep(0.001)
        assert stage.hub.leave(connection, PLACE)
        connection.enqueue({"action": "forum.unsubscribed"})
        stage.gate.set()
        await stage.wait_for_messages("a", 2)
        assert [message["action"] for message in stage.received["a"]] == ["forum.message.new", "forum.unsubscribed"]

    run_scenario(log, clock, story)


def test_notifications_are_sent_to_all_connections_of_their_user(log: EventLog, clock: ManualClock) -> None:
    notification = Notification(
        user_id="13", at_ms=1, event_id="e", participant_id="1", item_id="2", author_id="3", excerpt="x", ttl=1
    )

    async def story(stage: Stage) -> None:
        for name, user_id in (("a", "13"), ("b", "13"), ("c", "14")):
            stage.connect(name, user_id)
        stage.hub.push_notifications([notification])
        for name in "ab":
            await stage.wait_for_messages(name, 1)
            assert stage.received[name][0]["action"] == "forum.notification.new"
        assert stage.received["c"] == []

    run_scenario(log, clock, story)


def test_idle_and_old_connections_end_by_the_clock_and_limits(log: EventLog, clock: ManualClock) -> None:
    async def story(stage: Stage) -> None:
        stage.hub.limits = Limits(idle_s=10, total_s=25)
        idle, busy = stage.connect("idle"), stage.connect("busy")
        clock.advance(9)
        stage.hub.touch(busy)
        assert stage.hub.sweep() == 0
        clock.advance(1)
        assert stage.hub.sweep() == 1
        assert "heartbeat" in idle.close_reason.result().reason
        clock.advance(7)
        stage.hub.touch(busy)
        clock.advance(8)
        stage.hub.sweep()
        assert "maximum age" in busy.close_reason.result().reason

    run_scenario(log, clock, story)
