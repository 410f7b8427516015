"""Checkpoints: as the log grows, without blocking writers during a long read."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import apsw
import pytest

from keyplan.engine.store import checkpoint
from keyplan.engine.store.checkpoint import PASSIVE_PAGES, RESTART_PAGES, WRITERS_WAIT_PAGES, Checkpointer
from keyplan.engine.store.sqlite import SqliteStore

PASSIVE, RESTART = apsw.SQLITE_CHECKPOINT_PASSIVE, apsw.SQLITE_CHECKPOINT_RESTART
WAIT_S = 60


class Log:
    """A fake connection of a checkpointer that records its requests."""

    def __init__(self) -> None:
        self.asked: queue.Queue[int] = queue.Queue()
        self.held = 0
        """How many pages a read keeps from being moved; a RESTART then fails."""
        self.writers_wait: Callable[[], bool] = lambda: False
        self.waited: list[bool] = []
        """For each checkpoint, whether writers waited for it."""
        self.synced: list[bool] = []
        """The same for each sync of the file."""

    def set_busy_timeout(self, _milliseconds: int) -> None:
        pass

    def wal_checkpoint(self, mode: int) -> tuple[int, int]:
        self.waited.append(self.writers_wait())
        self.asked.put(mode)
        if mode == RESTART and self.held:
            raise apsw.BusyError
        return self.held, 0

    def file_control(self, _name: str, _operation: int, _pointer: int) -> bool:
        """Return no file to sync, and record the request."""
        self.synced.append(self.writers_wait())
        return False

    def close(self) -> None:
        pass


class Stage:
    """A checkpointer, and its commits."""

    def __init__(self) -> None:
        self.log = Log()
        self.checkpointer = Checkpointer(cast("Any", self.log))
        self.log.writers_wait = lambda: self.checkpointer.writers_must_wait

    def commit(self, pages: int, *expected: int) -> None:
        """Set the length of the log, and run the checkpointer's hook."""
        self.checkpointer.on_commit(cast("Any", None), "main", pages)
        assert [self.log.asked.get(timeout=WAIT_S) for _ in expected] == list(expected)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr(checkpoint, "CHECKPOINT_WAIT_S", WAIT_S)
    stage = Stage()
    yield stage
    stage.checkpointer.stop()
    assert stage.log.asked.empty()


def test_a_checkpoint_runs_whenever_the_log_has_grown_by_the_threshold(stage: Stage) -> None:
    stage.commit(PASSIVE_PAGES - 1)
    stage.commit(PASSIVE_PAGES, PASSIVE)
    stage.commit(PASSIVE_PAGES + 1)
    stage.commit(2 * PASSIVE_PAGES - 1)
    stage.commit(2 * PASSIVE_PAGES, PASSIVE)


def test_a_restarted_log_is_measured_from_its_start(stage: Stage) -> None:
    stage.commit(3 * PASSIVE_PAGES, PASSIVE)
    stage.commit(10)
    stage.commit(PASSIVE_PAGES, PASSIVE)


def test_a_long_log_is_restarted(stage: Stage) -> None:
    stage.commit(RESTART_PAGES, PASSIVE, PASSIVE, RESTART)
    stage.commit(10)
    stage.commit(PASSIVE_PAGES, PASSIVE)


def test_writers_wait_only_for_the_restart_of_the_log(stage: Stage) -> None:
    stage.commit(RESTART_PAGES, PASSIVE, PASSIVE, RESTART)
    assert stage.log.waited == [False, False, True]


def test_the_file_is_synced_before_writers_wait(stage: Stage) -> None:
    stage.commit(RESTART_PAGES - 1, PASSIVE)
    assert stage.log.synced == []
    stage.commit(RESTART_PAGES + PASSIVE_PAGES, PASSIVE, PASSIVE, RESTART)
    assert stage.log.synced == [False, False]


def test_writers_do_not_wait_for_a_long_read_with_any_log_size(stage: Stage) -> None:
    stage.log.held = PASSIVE_PAGES
    for pages in range(RESTART_PAGES, 2 * WRITERS_WAIT_PAGES, PASSIVE_PAGES):
        stage.commit(pages, PASSIVE)
        assert stage.checkpointer.wait_for_checkpoint()
    assert not any(stage.log.waited)


def test_a_log_is_restarted_after_the_blocking_read_has_ended(stage: Stage) -> None:
    stage.log.held = PASSIVE_PAGES
    stage.commit(RESTART_PAGES, PASSIVE)
    assert stage.checkpointer.wait_for_checkpoint()
    stage.log.held = 0
    stage.commit(RESTART_PAGES + PASSIVE_PAGES, PASSIVE, PASSIVE, RESTART)


def test_writers_wait_if_they_are_faster_than_the_disk(stage: Stage) -> None:
    stage.commit(WRITERS_WAIT_PAGES, PASSIVE, PASSIVE, RESTART)
    assert all(stage.log.waited)


def test_background_work_waits_until_a_checkpoint_of_a_long_log_has_ended(stage: Stage) -> None:
    under_way, end = threading.Event(), threading.Event()

    def checkpoint_now() -> bool:
        under_way.set()
        assert end.wait(WAIT_S)
        return False

    stage.log.held = PASSIVE_PAGES  # by a read, so that no RESTART follows
    stage.log.writers_wait = checkpoint_now
    stage.checkpointer.on_commit(cast("Any", None), "main", RESTART_PAGES)
    assert under_way.wait(WAIT_S)
    calm: list[bool] = []
    waiting = threading.Thread(target=lambda: calm.append(stage.checkpointer.wait_for_checkpoint()))
    waiting.start()
    end.set()
    waiting.join(WAIT_S)
    assert calm == [True]
    assert stage.log.asked.get(timeout=WAIT_S) == PASSIVE


def test_background_work_does_not_wait_for_a_checkpoint_of_a_short_log(stage: Stage) -> None:
    end = threading.Event()
    stage.log.writers_wait = lambda: not end.wait(WAIT_S)
    stage.checkpointer.on_commit(cast("Any", None), "main", PASSIVE_PAGES)
    assert stage.checkpointer.wait_for_checkpoint()
    end.set()
    assert stage.log.asked.get(timeout=WAIT_S) == PASSIVE


def test_background_work_does_not_wait_forever(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "CHECKPOINT_WAIT_S", 0.01)
    end = threading.Event()
    stage.log.held = PASSIVE_PAGES
    stage.log.writers_wait = lambda: not end.wait(WAIT_S)
    stage.checkpointer.on_commit(cast("Any", None), "main", RESTART_PAGES)
    assert not stage.checkpointer.wait_for_checkpoint()
    end.set()
    assert stage.log.asked.get(timeout=WAIT_S) == PASSIVE


def test_writers_do_not_wait_for_a_checkpoint_if_no_thread_can_start(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        stage.commit(WRITERS_WAIT_PAGES)
        assert not stage.checkpointer.writers_must_wait
    stage.commit(WRITERS_WAIT_PAGES + PASSIVE_PAGES, PASSIVE, PASSIVE, RESTART)


def test_without_a_thread_commits_succeed_and_the_log_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(checkpoint, "PASSIVE_PAGES", 2)
    path = tmp_path / "data.db"
    store = SqliteStore(str(path))

    def put(body: bytes) -> None:
        store.write(lambda transaction: transaction.put_document("n", body))

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "keyplan.engine.store"):
        patch.setattr(threading.Thread, "start", start)
        for number in range(5):
            put(b"%d" % number)
            assert store.view().document("n") == b"%d" % number
    assert 1 <= len(caplog.records) < 5, "it is not logged for every commit"
    store.close()
    assert not path.with_name("data.db-wal").exists()
