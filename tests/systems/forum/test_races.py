"""Concurrent changes of one thread, on both databases: no update is lost, and the log is consistent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.systems.forum.stage import SCHOOL, Stage

from keyplan.clock import ManualClock
from keyplan_systems.forum.domain import BadRequestError, ForumError, LogKind, NotAllowedError, Status, Thread
from keyplan_systems.forum.relational.rows import locked_thread, store_thread
from keyplan_systems.forum.relational.session import Database
from keyplan_systems.forum.relational.threads import grant_help

THREADS = 6
TURNS = 8


@pytest.fixture
def stage(database: Database, clock: ManualClock) -> Stage:
    return Stage(database, clock, SCHOOL).put()


def together(*acts: Callable[[], object]) -> list[object]:
    """Return the results of concurrent calls, or the forum's errors that they raise."""
    start = threading.Barrier(len(acts))

    def begin(act: Callable[[], object]) -> object:
        start.wait()
        try:
            return act()
        except ForumError as error:
            return error

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(begin, acts))


def check_story(stage: Stage, participant: str) -> None:
    """Check that the entries alternate in ascending time, and that the last one matches the status."""
    rows = [row for row in stage.outbox() if row.participant_id == stage.world[participant]]
    kinds = [row.kind for row in rows]
    assert kinds == [(LogKind.THREAD_OPENED, LogKind.THREAD_CLOSED)[turn % 2] for turn in range(len(rows))]
    assert [row.at_ms for row in rows] == sorted({row.at_ms for row in rows})
    thread = stage.stored(participant)
    assert thread is not None
    assert thread.status.is_open == (len(rows) % 2 == 1)


def test_several_first_openings_create_one_thread_and_one_entry(stage: Stage) -> None:
    for participant in ("ann", "ada"):
        results = together(*[partial(stage.open, participant)] * THREADS)
        assert results == [stage.stored(participant)] * THREADS
        check_story(stage, participant)
    assert len(stage.outbox()) == 2


def test_no_increment_of_the_message_count_is_lost(stage: Stage) -> None:
    stage.open("ann")

    def add() -> None:
        for _ in range(TURNS):
            stage.update("ann", "ann", message_count_increment=1)

    assert together(*[add] * THREADS) == [None] * THREADS
    thread = stage.stored("ann")
    assert thread is not None
    assert thread.message_count == THREADS * TURNS


def test_concurrent_openings_and_closings_are_serialized(stage: Stage) -> None:
    stage.open("ann")

    def toggle(open_first: bool) -> None:
        for turn in range(TURNS):
            if (turn % 2 == 0) == open_first:
                stage.open("ann")
            else:
                stage.close("ann")

    def observe() -> None:
        for status in (Status.WAITING_FOR_PARTICIPANT, Status.WAITING_FOR_TRAINER) * (TURNS // 2):
            stage.update("tom", "ann", status=status, helper_group_id="tutors")

    acts = [lambda: toggle(True), lambda: toggle(True), lambda: toggle(False), observe, observe]
    assert together(*acts) == [None] * len(acts)
    check_story(stage, "ann")


def test_a_concurrent_close_and_count_never_count_on_a_closed_thread(stage: Stage) -> None:
    for turn in range(TURNS):
        stage.open("ann")
        count = partial(stage.update, "ann", "ann", message_count=turn + 1)
        shut, counted = together(partial(stage.close, "ann"), count)
        assert isinstance(shut, Thread)
        if isinstance(counted, Thread):
            assert (shut.message_count, shut.revision) == (turn + 1, counted.revision + 1)
        else:
            assert isinstance(counted, NotAllowedError)
            assert shut.message_count != turn + 1


def test_a_change_waits_for_the_lock_and_decides_on_the_current_state(stage: Stage) -> None:
    """Without the lock the second change would decide on the open thread it saw first."""
    stage.open("ann")
    with ThreadPoolExecutor(1) as pool:
        with stage.database.write() as session:
            thread = locked_thread(session, stage.key("ann"))
            assert thread is not None
            late = pool.submit(
                stage.update, "ann", "ann", helper_group_id="tutors", status=Status.WAITING_FOR_PARTICIPANT
            )
            count = pool.submit(stage.update, "ann", "ann", message_count=5)
            store_thread(session, closed(thread))
            assert not late.done()
        assert late.result().revision == thread.revision + 2
        assert count.result().message_count == 5


def closed(thread: Thread) -> Thread:
    at_ms = thread.latest_update_at_ms + 1
    return replace(thread, status=Status.CLOSED, closed_at_ms=at_ms, latest_update_at_ms=at_ms, revision=2)


def test_the_same_concurrent_grant_is_stored_once(stage: Stage) -> None:
    stage.put("group max user\nin max school\nholds max task grant=content")
    world = stage.world
    names = [world[name] for name in ("max", "bea", "task", "tutors")]
    assert together(*[lambda: grant_help(stage.database, *names)] * THREADS) == [None] * THREADS
    assert stage.open("bea").status is Status.WAITING_FOR_TRAINER


def test_a_rejected_change_holds_no_lock_afterwards(stage: Stage) -> None:
    stage.open("ann")
    with pytest.raises(BadRequestError):
        stage.update("ann", "ann", status=Status.CLOSED, helper_group_id="tutors")
    assert stage.close("ann").status is Status.CLOSED


def test_writers_of_a_process_queue_instead_of_overtaking_each_other(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'forum.db'}")
    started, written = threading.Semaphore(0), list[int]()

    def write(number: int) -> None:
        started.release()
        with database.write() as session:
            session.connection()
            written.append(number)

    pool: Any = database.engine.pool
    with ThreadPoolExecutor(4) as threads:
        with database.write() as session:
            session.connection()
            waiting = [threads.submit(write, number) for number in range(4)]
            for _ in waiting:
                started.acquire()
            assert pool.checkedout() == 1, "the others wait in the queue, not at the database"
        for future in waiting:
            future.result()
    database.close()
    assert sorted(written) == [0, 1, 2, 3]
