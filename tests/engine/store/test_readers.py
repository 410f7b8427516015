"""Reads through the write connection: their content, their conditions, and the mapped file."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import apsw
import pytest

from keyplan.engine.store import checkpoint, files, readers
from keyplan.engine.store.rows import Transaction, Tree
from keyplan.engine.store.sqlite import Durability, SqliteStore
from keyplan.errors import EngineClosedError

T = TypeVar("T")


@pytest.fixture(params=["normal", "full"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteStore]:
    """Yield a store in a file, for each durability."""
    durability: Durability = request.param
    new_store = SqliteStore(str(tmp_path / "data.db"), durability=durability)
    yield new_store
    new_store.close()


def elsewhere(work: Callable[[], T]) -> T:
    """Return the result of the work in another thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def new_tree(store: SqliteStore) -> Tree:
    return store.write(lambda transaction: transaction.create_tree())


def put(store: SqliteStore, tree: Tree, key: bytes, body: bytes = b"x") -> None:
    store.write(lambda transaction: transaction.put(tree, key, 1, body))


def read(store: SqliteStore, tree: Tree, key: bytes) -> bytes | None:
    """Return the body under a key; assert that both ways of reading agree."""
    row = store.view().point(tree, key)
    assert [actual_row[1:] for actual_row in store.view().rows(tree, key, key + b"\x00", limit=1)] == (
        [] if row is None else [row]
    )
    return None if row is None else row[1]


@contextmanager
def through_the_writer(store: SqliteStore) -> Iterator[list[str]]:
    """Yield the statements that run on the write connection inside the block."""
    entries: list[str] = []
    connection = store._writer.connection
    connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: entries.append(event["sql"]))
    try:
        yield entries
    finally:
        connection.trace_v2(0, None)


def lent(store: SqliteStore, tree: Tree) -> int:
    """Return how many of two reads, of one row and of several, use the write connection."""
    with through_the_writer(store) as writer:
        read(store, tree, b"a")
    return len(writer)


def test_the_last_writing_thread_reads_through_the_write_connection(store: SqliteStore) -> None:
    tree = new_tree(store)
    put(store, tree, b"a")
    assert lent(store, tree) == 2
    assert elsewhere(lambda: lent(store, tree)) == 0
    elsewhere(lambda: put(store, tree, b"a", b"theirs"))
    assert lent(store, tree) == 0
    assert read(store, tree, b"a") == b"theirs"
    put(store, tree, b"a", b"mine")
    assert lent(store, tree) == 2
    assert read(store, tree, b"a") == b"mine"


def test_before_any_write_the_first_reading_thread_uses_the_write_connection(store: SqliteStore) -> None:
    tree = new_tree(store)
    put(store, tree, b"a")
    again = SqliteStore(store.path)
    try:
        assert elsewhere(lambda: lent(again, tree)) == 2
        assert lent(again, tree) == 0
    finally:
        again.close()


def test_many_rows_are_not_read_through_the_write_connection(store: SqliteStore) -> None:
    tree = new_tree(store)
    for number in range(readers.BRIEF_ROWS + 20):
        put(store, tree, b"%03d" % number)
    view = store.view()
    with through_the_writer(store) as writer:
        assert len(view.rows(tree, b"", None, limit=readers.BRIEF_ROWS + 1)) == readers.BRIEF_ROWS + 1
        assert len(view.rows(tree, b"", None)) == readers.BRIEF_ROWS + 20
        assert writer == []
        assert len(view.rows(tree, b"", None, limit=readers.BRIEF_ROWS)) == readers.BRIEF_ROWS
        assert len(list(view.span(tree, b"", None))) == readers.BRIEF_ROWS + 20
        assert len(writer) == 2


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [0, 1, 24, 25, 26, 80])
def test_a_span_of_any_length_is_read_once_and_in_order(store: SqliteStore, count: int, reverse: bool) -> None:
    assert readers.FIRST_ROWS == 25
    tree = new_tree(store)
    keys = [b"%03d" % number for number in range(count)]
    store.write(lambda transaction: transaction.put_all(tree, [(key, 1, b"x") for key in keys]))
    ordered = keys[::-1] if reverse else keys
    view = store.view()
    assert [row[0] for row in view.span(tree, b"", None, reverse=reverse)] == ordered
    assert [row[0] for row in view.span(tree, b"", b"05", reverse=reverse)] == [key for key in ordered if key < b"05"]
    for limit in (0, 1, 24, 25, 26, 50, 79, 80, 90):
        assert [row[0] for row in view.span(tree, b"", None, reverse=reverse, limit=limit)] == ordered[:limit]


def test_a_read_during_its_own_threads_transaction_sees_committed_data(store: SqliteStore) -> None:
    tree = new_tree(store)
    put(store, tree, b"a", b"old")

    def work(transaction: Transaction) -> bytes | None:
        transaction.put(tree, b"a", 1, b"new")
        return read(store, tree, b"a")

    assert store.write(work) == b"old"
    with store.group():
        assert read(store, tree, b"a") == b"new"
        put(store, tree, b"a", b"newer")
        assert read(store, tree, b"a") == b"new"
    assert read(store, tree, b"a") == b"newer"


def test_a_read_never_waits_for_a_writer(store: SqliteStore) -> None:
    tree = new_tree(store)
    put(store, tree, b"a", b"old")
    started, done = threading.Event(), threading.Event()

    def work(transaction: Transaction) -> None:
        transaction.put(tree, b"a", 1, b"new")
        started.set()
        assert done.wait(60)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(store.write, work)
        assert started.wait(60)
        assert read(store, tree, b"a") == b"old"
        done.set()
        writing.result()
    assert read(store, tree, b"a") == b"new"


def test_a_snapshot_is_not_affected_by_the_threads_other_reads(store: SqliteStore) -> None:
    tree = new_tree(store)
    put(store, tree, b"a", b"old")
    with store.snapshot() as view:
        assert view.point(tree, b"a") == (1, b"old")
        put(store, tree, b"a", b"new")
        assert view.point(tree, b"a") == (1, b"old")
        assert read(store, tree, b"a") == b"new"


def test_threads_that_read_and_write_find_their_writes(store: SqliteStore) -> None:
    tree = new_tree(store)

    def work(name: int) -> None:
        for number in range(200):
            key = b"%d.%d" % (name, number % 7)
            put(store, tree, key, b"%d" % number)
            assert read(store, tree, key) == b"%d" % number
            theirs = store.view().point(tree, b"%d.%d" % ((name + 1) % 4, number % 7))
            assert theirs is None or theirs[1].isdigit()

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(work, name) for name in range(4)]:
            future.result()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every read check the mapping, and map small files too."""
    monkeypatch.setattr(readers, "READS_PER_MAPPING_UPDATE", 1)
    monkeypatch.setattr(readers, "MIN_GROWTH_BYTES", 0)


def mapped_bytes(store: SqliteStore) -> int:
    """Return how much of the file may be mapped into memory."""
    limit: int = store._writer.connection.pragma("mmap_size")
    return limit


@pytest.mark.usefixtures("looks")
def test_the_mapping_is_kept_through_own_commits_and_log_restarts(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "PASSIVE_PAGES", 10)
    monkeypatch.setattr(checkpoint, "RESTART_PAGES", 20)
    tree = new_tree(store)
    for number in range(400):
        put(store, tree, b"%d" % (number % 10), b"%d" % number)
        assert read(store, tree, b"%d" % (number % 10)) == b"%d" % number
    assert mapped_bytes(store)


@pytest.mark.usefixtures("looks")
def test_the_mapping_is_dropped_if_others_commit_constantly(store: SqliteStore) -> None:
    tree = new_tree(store)
    put(store, tree, b"a")
    assert read(store, tree, b"a") == b"x"
    assert mapped_bytes(store)
    other = SqliteStore(store.path)
    try:
        for number in range(2 * readers.MAX_WEIGHT // readers.FOREIGN_WEIGHT):
            put(other, tree, b"a", b"%d" % number)
            assert read(store, tree, b"a") == b"%d" % number
    finally:
        other.close()
    assert not mapped_bytes(store)
    put(store, tree, b"a", b"mine" + bytes(50_000))
    store._writer.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    for _ in range(2 * readers.MAX_WEIGHT):
        assert read(store, tree, b"a") == b"mine" + bytes(50_000)
    assert not mapped_bytes(store)


@pytest.mark.usefixtures("looks")
def test_the_mapping_is_kept_if_others_commit_occasionally(store: SqliteStore) -> None:
    tree = new_tree(store)
    put(store, tree, b"a")
    other = SqliteStore(store.path)
    try:
        for number in range(2 * readers.MAX_WEIGHT // readers.FOREIGN_WEIGHT):
            put(other, tree, b"a", b"%d" % number)
            for _ in range(readers.FOREIGN_WEIGHT):
                assert read(store, tree, b"a") == b"%d" % number
    finally:
        other.close()
    assert mapped_bytes(store)


@pytest.mark.usefixtures("looks")
def test_a_grown_file_is_mapped_again(store: SqliteStore) -> None:
    tree = new_tree(store)
    put(store, tree, b"000", bytes(5000))
    assert read(store, tree, b"000") == bytes(5000)
    before = mapped_bytes(store)
    for number in range(100):
        put(store, tree, b"%03d" % number, bytes(5000))
    store._writer.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    assert read(store, tree, b"000") == bytes(5000)
    assert before < mapped_bytes(store) == Path(store.path).stat().st_size


@pytest.mark.usefixtures("looks")
def test_a_file_that_becomes_large_is_no_longer_mapped(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = new_tree(store)
    put(store, tree, b"000", bytes(5000))
    assert read(store, tree, b"000") == bytes(5000)
    assert mapped_bytes(store)
    monkeypatch.setattr(readers, "MIN_UNMAPPED_BYTES", 200_000)
    for number in range(100):
        put(store, tree, b"%03d" % number, b"%d" % number + bytes(5000))
    store._writer.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    assert [read(store, tree, b"%03d" % number) for number in range(100)] == [
        b"%d" % number + bytes(5000) for number in range(100)
    ]
    assert mapped_bytes(store) == 0


def test_a_large_file_is_not_mapped_when_it_is_opened(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = new_tree(store)
    put(store, tree, b"a")
    monkeypatch.setattr(readers, "MIN_UNMAPPED_BYTES", 1)
    again = SqliteStore(store.path)
    try:
        assert read(again, tree, b"a") == b"x"
        assert mapped_bytes(again) == 0
    finally:
        again.close()


@pytest.mark.usefixtures("looks")
@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be removed")
def test_a_file_removed_while_open_can_still_be_read(store: SqliteStore) -> None:
    tree = new_tree(store)
    put(store, tree, b"a")
    Path(store.path).unlink()
    assert read(store, tree, b"a") == b"x"


@pytest.mark.usefixtures("looks")
def test_a_file_grown_by_two_writers_is_read_correctly(store: SqliteStore) -> None:
    """Read rows written after the mapping, in the log and moved into the file."""
    tree = new_tree(store)
    other = SqliteStore(store.path)
    try:
        for number in range(300):
            writer = store if number % 2 else other
            put(writer, tree, b"%03d" % number, bytes(3000) + b"%d" % number)
            if number % 50 == 0:
                writer._writer.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            for key in {0, number // 2, number}:
                assert read(store, tree, b"%03d" % key) == bytes(3000) + b"%d" % key
    finally:
        other.close()


def test_many_threads_use_little_more_memory_than_a_few(store: SqliteStore) -> None:
    threads = 32
    opened = threading.Barrier(threads)

    def harness(_number: int) -> int:
        size = store.view().connection.pragma("cache_size")
        opened.wait(60)
        return -int(size)

    with ThreadPoolExecutor(threads) as pool:
        sizes = sorted(pool.map(harness, range(threads)), reverse=True)
    assert sizes[0] == files.CACHE_KIB
    assert sizes[-1] == readers.MIN_CACHE_KIB
    assert sum(sizes) < 6 * files.CACHE_KIB


ENDLESS = "WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted) SELECT count(*) FROM counted"


def test_closing_ends_the_reads_of_other_threads(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "data.db"))
    started = threading.Event()

    def read_for_ever() -> None:
        execute = store.view().connection.execute
        started.set()
        with pytest.raises((apsw.InterruptError, apsw.ConnectionClosedError, apsw.CursorClosedError)):
            execute(ENDLESS).fetchall()

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read_for_ever)
        assert started.wait(60)
        time.sleep(0.05)  # it is inside SQLite by now, or is refused
        store.close()
        reading.result(60)
    with pytest.raises(EngineClosedError):
        elsewhere(store.view)
    assert not (tmp_path / "data.db-wal").exists(), "the last connection removes the log"
