"""Outbox: entries reach the event log at least once and in order, despite deaths, stalls and failures."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError
from tests.systems.forum.stage import SCHOOL, Stage, crowd
from tests.systems.forum.worlds import NOW_MS

from keyplan.clock import ManualClock
from keyplan_systems.forum.domain import LogEntry, LogKind
from keyplan_systems.forum.relational.models import OutboxRow
from keyplan_systems.forum.relational.outbox import (
    LEASE_MS,
    PAGE_ROWS,
    TransferResult,
    count_pending,
    delete_done_entries,
    drain,
)
from keyplan_systems.forum.relational.session import Database
from keyplan_systems.web.system import UnfinishedError

LEASE_S = LEASE_MS / 1000


class EventLog:
    """Behaviour of the event log: an entry with a known key changes nothing."""

    def __init__(self) -> None:
        self.calls: list[LogEntry] = []
        self.entries: dict[str, LogEntry] = {}

    def __call__(self, entry: LogEntry) -> None:
        self.calls.append(entry)
        assert self.entries.setdefault(entry.key, entry) == entry

    @property
    def kinds(self) -> list[LogKind]:
        return [entry.kind for entry in self.entries.values()]


@pytest.fixture
def stage(database: Database, clock: ManualClock) -> Stage:
    return Stage(database, clock, SCHOOL).put()


def test_an_entry_is_written_once_and_then_marked(stage: Stage) -> None:
    log = EventLog()
    stage.open("ann")
    stage.close("ann")
    assert count_pending(stage.database) == 2
    assert drain(stage.database, stage.clock, log) == TransferResult(2)
    assert drain(stage.database, stage.clock, log) == TransferResult(0)
    assert count_pending(stage.database) == 0
    assert [(entry.kind, entry.thread, entry.user_id, entry.at_ms) for entry in log.calls] == [
        (LogKind.THREAD_OPENED, stage.key("ann"), stage.world["ann"], NOW_MS),
        (LogKind.THREAD_CLOSED, stage.key("ann"), stage.world["ann"], NOW_MS + 1),
    ]
    assert [(row.attempts, row.done_at_ms) for row in stage.outbox()] == [(1, NOW_MS), (1, NOW_MS)]


def test_the_entry_and_the_status_are_stored_together_or_not_at_all(stage: Stage) -> None:
    task, ann = stage.world["task"], stage.world["ann"]
    row = {"kind": LogKind.THREAD_OPENED, "item_id": task, "participant_id": ann, "user_id": ann, "at_ms": 0}
    with stage.database.write() as session:
        session.execute(insert(OutboxRow).values(key=f"thread_opened-{task}-{ann}-1", **row))
    with pytest.raises(IntegrityError):
        stage.open("ann")
    assert stage.stored("ann") is None


def test_a_failed_write_blocks_its_thread_and_no_other(stage: Stage) -> None:
    log = EventLog()
    for participant in ("ann", "ada"):
        stage.open(participant)
        stage.close(participant)

    def write(entry: LogEntry) -> None:
        if entry.thread == stage.key("ann"):
            raise TimeoutError("no answer")
        log(entry)

    with pytest.raises(UnfinishedError, match="1 steps failed") as caught:
        drain(stage.database, stage.clock, write)
    assert [str(error) for error in caught.value.exceptions] == ["no answer"]
    assert caught.value.completed == 2
    assert [entry.thread for entry in log.calls] == [stage.key("ada")] * 2
    left = [row for row in stage.outbox() if row.done_at_ms is None]
    assert [(row.kind, row.attempts, row.last_error) for row in left] == [
        (LogKind.THREAD_OPENED, 1, "TimeoutError: no answer"),
        (LogKind.THREAD_CLOSED, 0, None),
    ]
    assert drain(stage.database, stage.clock, log) == TransferResult(2)
    assert log.kinds == [LogKind.THREAD_OPENED, LogKind.THREAD_CLOSED] * 2


def test_a_second_drainer_leaves_while_the_first_works(stage: Stage) -> None:
    log, others = EventLog(), []
    stage.open("ann")

    def write(entry: LogEntry) -> None:
        others.append(drain(stage.database, stage.clock, log))
        log(entry)

    assert drain(stage.database, stage.clock, write) == TransferResult(1)
    assert others == [TransferResult(0, lease_held_elsewhere=True)]
    assert len(log.calls) == 1


def test_a_drainer_that_stalls_beyond_its_lease_is_harmless(stage: Stage) -> None:
    log, others = EventLog(), []
    for participant in ("ann", "ada"):
        stage.open(participant)
        stage.close(participant)

    def stalling(entry: LogEntry) -> None:
        stage.clock.advance(LEASE_S)
        others.append(drain(stage.database, stage.clock, log))
        log(entry)

    assert drain(stage.database, stage.clock, stalling) == TransferResult(1, lease_held_elsewhere=True)
    assert others == [TransferResult(4)]
    assert [entry.key for entry in log.calls[:4]] == [row.key for row in stage.outbox()]
    assert len(log.entries) == 4
    assert count_pending(stage.database) == 0


def test_a_drainer_that_renews_its_lease_may_work_longer(stage: Stage) -> None:
    log, others = EventLog(), []
    stage.put(crowd(5))
    for number in range(5):
        stage.close(f"p{number}")

    def slow(entry: LogEntry) -> None:
        stage.clock.advance(LEASE_S - 1)
        others.append(drain(stage.database, stage.clock, log))
        log(entry)

    assert drain(stage.database, stage.clock, slow) == TransferResult(5)
    assert {other.lease_held_elsewhere for other in others} == {True}


def test_many_entries_are_written_page_by_page_in_order(stage: Stage) -> None:
    log, people = EventLog(), PAGE_ROWS + 20
    stage.put(crowd(people))
    for number in range(people):
        stage.close(f"p{number}")
    assert drain(stage.database, stage.clock, log) == TransferResult(people)
    assert [entry.key for entry in log.calls] == [row.key for row in stage.outbox()]


def test_four_concurrent_drainers_write_every_entry_once(url: str, stage: Stage) -> None:
    log, together = EventLog(), threading.Barrier(4)
    stage.put(crowd(12))
    for number in range(12):
        stage.close(f"p{number}")

    def work(_: int) -> int:
        database = Database(url)
        together.wait()
        written = 0
        while count_pending(database):
            written += drain(database, stage.clock, log).written
        database.close()
        return written

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(work, range(4))) == 12
    assert sorted(entry.key for entry in log.calls) == sorted(log.entries)


def test_done_entries_can_be_removed_and_waiting_ones_cannot(stage: Stage) -> None:
    stage.open("ann")
    drain(stage.database, stage.clock, EventLog())
    stage.open("ada")
    assert delete_done_entries(stage.database, NOW_MS) == 0
    assert delete_done_entries(stage.database, NOW_MS + 1) == 1
    assert [row.participant_id for row in stage.outbox()] == [stage.world["ada"]]


# --- killed processes ------------------------------------------------------------------------------------------------

KILLED = """
import os, sys
from pathlib import Path
from keyplan.clock import ManualClock
from keyplan_systems.forum.domain import Status, ThreadKey, ThreadUpdate
from keyplan_systems.forum.relational import outbox, threads
from keyplan_systems.forum.relational.session import Database

url, act, item, participant, helper, file = sys.argv[1:]
database, clock = Database(url), ManualClock()

def write(entry):
    Path(file).write_text(entry.key)
    os._exit(9)

if act == "after the commit":
    wish = ThreadUpdate(Status.WAITING_FOR_TRAINER, helper)
    threads.update_thread(database, clock, participant, ThreadKey(item, participant), wish)
    os._exit(9)
if act == "before the commit":
    with database.write() as session:
        from sqlalchemy import text
        session.execute(text("UPDATE threads SET status = 'closed', closed_at_ms = 1"))
        os._exit(9)
if act == "before the mark":
    outbox.drain(database, clock, write)
"""


@pytest.fixture
def killed(url: str, stage: Stage, tmp_path: Path) -> Callable[[str], str]:
    """Return a function that runs a process until it dies at the named point, and returns its last entry's key."""

    def run(step: str) -> str:
        file = tmp_path / "written"
        file.write_text("")
        names = [stage.world[name] for name in ("task", "ann", "tutors")]
        process = subprocess.run(
            [sys.executable, "-c", KILLED, url, step, *names, str(file)], check=False, capture_output=True, text=True
        )
        assert process.returncode == 9, process.stderr
        return file.read_text()

    return run


def test_a_crash_between_commit_and_drain_is_repaired_by_the_next_drain(
    stage: Stage, killed: Callable[[str], str]
) -> None:
    log = EventLog()
    killed("after the commit")
    thread = stage.stored("ann")
    assert thread is not None
    assert thread.status.is_open
    assert drain(stage.database, stage.clock, log) == TransferResult(1)
    assert log.kinds == [LogKind.THREAD_OPENED]


def test_a_crash_between_write_and_mark_writes_the_same_key_again_after_the_lease(
    stage: Stage, killed: Callable[[str], str]
) -> None:
    log = EventLog()
    stage.open("ann")
    key = killed("before the mark")
    assert drain(stage.database, stage.clock, log) == TransferResult(0, lease_held_elsewhere=True)
    stage.clock.advance(LEASE_S)
    assert drain(stage.database, stage.clock, log) == TransferResult(1)
    assert [entry.key for entry in log.calls] == [key]


def test_a_crash_inside_the_transaction_leaves_the_thread_unchanged(stage: Stage, killed: Callable[[str], str]) -> None:
    before = stage.open("ann")
    killed("before the commit")
    assert stage.stored("ann") == before
    assert stage.close("ann").revision == before.revision + 1
