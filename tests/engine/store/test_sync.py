"""The log's file is extended ahead of the commits, without a visible effect on the database."""

from __future__ import annotations

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keyplan.engine.store.rows import Transaction
from keyplan.engine.store.sqlite import Durability, SqliteStore
from keyplan.engine.store.statements import tree
from keyplan.engine.store.sync import FRAME_BYTES, MAX_PIECE_BYTES, MIN_PIECE_BYTES
from keyplan.errors import StorageError

BODY = bytes(3000)


def filled(path: Path, puts: int, *, durability: Durability = "full") -> SqliteStore:
    """Return a store with one tree, in which each row was written by a separate commit."""
    store = SqliteStore(str(path), durability=durability)
    store.write(lambda transaction: transaction.create_tree())
    for number in range(puts):
        put(store, number)
    return store


def put(store: SqliteStore, number: int) -> None:
    """Put one row and commit."""

    def work(transaction: Transaction) -> None:
        transaction.put(tree(1), b"%06d" % number, 1, BODY)

    store.write(work)


def keys(store: SqliteStore) -> list[bytes]:
    """Return the keys of all rows."""
    return [key for key, _, _ in store.view().span(tree(1), b"", None)]


def log_of(path: Path) -> Path:
    """Return the log file of a database."""
    return path.with_name(path.name + "-wal")


def test_the_log_file_exceeds_its_content_by_a_bounded_size(tmp_path: Path) -> None:
    store = filled(tmp_path / "x.db", 1)
    first = log_of(tmp_path / "x.db").stat().st_size
    assert MIN_PIECE_BYTES < first < 4 * MIN_PIECE_BYTES
    for number in range(400):
        put(store, number)
    assert store._checkpointer is not None
    pages = store._checkpointer.pages
    length = log_of(tmp_path / "x.db").stat().st_size
    assert pages * FRAME_BYTES + MIN_PIECE_BYTES <= length <= pages * FRAME_BYTES + 2 * MAX_PIECE_BYTES
    store.close()


def test_after_a_crash_exactly_the_commits_are_found(tmp_path: Path) -> None:
    path, left = tmp_path / "x.db", tmp_path / "left.db"
    store = filled(path, 150)
    shutil.copy(path, left)  # as a killed process leaves them
    shutil.copy(log_of(path), log_of(left))
    recovered = SqliteStore(str(left))
    assert keys(recovered) == keys(store) == [b"%06d" % number for number in range(150)]
    assert recovered.integrity() == []
    recovered.close()
    store.close()


def test_stores_that_write_alternately_keep_each_others_commits(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    first = filled(path, 0)
    other = SqliteStore(str(path), durability="full")
    for number in range(300):
        put(first if number % 2 else other, number)
    assert keys(first) == keys(other) == [b"%06d" % number for number in range(300)]
    assert first.integrity() == []
    other.close()
    first.close()


def test_a_disk_without_room_to_extend_the_log_still_accepts_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> int:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "pwrite", refuses)
    store = filled(tmp_path / "x.db", 100)
    assert len(keys(store)) == 100
    store.close()


def test_a_folder_that_cannot_be_synced_fails_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_descriptor: int) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(os, "fsync", fails)
    store = SqliteStore(str(tmp_path / "x.db"), durability="full")
    with pytest.raises(StorageError, match="the disk is gone"):
        store.write(lambda transaction: transaction.create_tree())
    with pytest.raises(StorageError, match="an earlier sync failed"):
        store.write(lambda transaction: transaction.create_tree())
    store.close()


def test_an_unsynced_log_is_not_extended(tmp_path: Path) -> None:
    store = filled(tmp_path / "x.db", 3, durability="normal")
    assert log_of(tmp_path / "x.db").stat().st_size < MIN_PIECE_BYTES
    store.close()


def test_a_commit_still_unsynced_when_the_store_is_closed_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(tmp_path / "x.db", 1)
    assert store.sync is not None
    committed, closed, wait = threading.Event(), threading.Event(), store.sync.wait

    def wait_late(commit: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            committed.set()
            assert closed.wait(60)
        wait(commit)

    monkeypatch.setattr(store.sync, "wait", wait_late)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(put, store, 1)
        assert committed.wait(60)
        store.close()
        closed.set()
        writing.result()
    again = SqliteStore(str(tmp_path / "x.db"))
    assert len(keys(again)) == 2
    again.close()


def test_a_commit_that_cannot_be_synced_fails_and_closes_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(tmp_path / "x.db", 1)

    def fail(_descriptor: int) -> None:
        raise OSError("no such disk")

    monkeypatch.setattr("keyplan.engine.store.sync._sync_data", fail)
    with pytest.raises(StorageError, match="no such disk"):
        put(store, 1)
    store.close()
    assert not log_of(tmp_path / "x.db").exists()
