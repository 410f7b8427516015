"""The SQLite store: trees, logs, transactions, groups, copies."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from keyplan.engine.store import checkpoint, files, readers, sqlite
from keyplan.engine.store.rows import Transaction, Tree
from keyplan.engine.store.sqlite import MEMORY, SqliteStore
from keyplan.errors import DatabaseFullError, EngineClosedError, StorageError


@pytest.fixture(params=["memory", "normal", "full"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteStore]:
    """Yield one store of each kind."""
    if request.param == "memory":
        new_store = SqliteStore(MEMORY)
    else:
        new_store = SqliteStore(str(tmp_path / "data.db"), durability=request.param)
    yield new_store
    new_store.close()


def new_tree(store: SqliteStore) -> Tree:
    return store.write(lambda transaction: transaction.create_tree())


def fill(store: SqliteStore, tree: Tree, count: int) -> list[bytes]:
    keys = [b"%06d" % number for number in range(count)]

    def work(transaction: Transaction) -> None:
        for key in keys:
            transaction.put(tree, key, 7, b"body " + key)

    store.write(work)
    return keys


@pytest.mark.parametrize("word", ["Full", "sync", "", None])
def test_an_unknown_durability_is_rejected_before_a_file_is_created(word: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r'^durability must be "normal" or "full", not '):
        SqliteStore(str(tmp_path / "data.db"), durability=word)
    assert list(tmp_path.iterdir()) == []


def test_rows_are_returned_in_key_order_in_both_directions(store: SqliteStore) -> None:
    tree = new_tree(store)
    keys = fill(store, tree, 1000)
    view = store.view()
    assert view.point(tree, keys[5]) == (7, b"body 000005")
    assert view.point(tree, b"none") is None
    assert [key for key, _, _ in view.span(tree, b"", None)] == keys
    assert [key for key, _, _ in view.span(tree, b"", None, reverse=True)] == keys[::-1]
    assert [key for key, _, _ in view.span(tree, keys[10], keys[600])] == keys[10:600]
    assert [key for key, _, _ in view.span(tree, keys[10], keys[900], reverse=True, limit=300)] == keys[600:900][::-1]
    assert [key for key, _, _ in view.rows(tree, keys[10], keys[900], limit=3)] == keys[10:13]
    assert view.totals(tree) == (1000, 7000)
    assert view.totals(tree, keys[10], keys[20]) == (10, 70)


@pytest.mark.parametrize("count", [0, 1, 6, 7, 8, 14, 15])
def test_rows_are_counted_in_parts(store: SqliteStore, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(readers, "COUNTED_ROWS", 7)
    tree = new_tree(store)
    fill(store, tree, count)
    assert store.view().totals(tree) == (count, 7 * count)
    with store.snapshot() as view:
        assert view.totals(tree) == (count, 7 * count)


def test_a_put_replaces_and_a_delete_removes(store: SqliteStore) -> None:
    tree = new_tree(store)
    fill(store, tree, 3)
    store.write(lambda transaction: transaction.put(tree, b"000001", 9, b"new"))
    store.write(lambda transaction: transaction.delete(tree, b"000002"))
    store.write(lambda transaction: transaction.delete(tree, b"nobody"))
    assert [row[1:] for row in store.view().span(tree, b"", None)] == [(7, b"body 000000"), (9, b"new")]


def test_several_rows_are_put_like_single_rows(store: SqliteStore) -> None:
    tree = new_tree(store)
    fill(store, tree, 2)
    store.write(
        lambda transaction: transaction.put_all(tree, [(b"000001", 9, b"new"), (b"a", 1, b""), (b"0", 2, b"b")])
    )
    store.write(lambda transaction: transaction.put_all(tree, []))
    assert list(store.view().span(tree, b"", None)) == [
        (b"0", 2, b"b"),
        (b"000000", 7, b"body 000000"),
        (b"000001", 9, b"new"),
        (b"a", 1, b""),
    ]


def test_an_exception_undoes_the_whole_transaction(store: SqliteStore) -> None:
    tree = new_tree(store)
    fill(store, tree, 3)

    def work(transaction: Transaction) -> None:
        transaction.delete(tree, b"000000")
        transaction.put(tree, b"new", 1, b"x")
        raise KeyError("no")

    with pytest.raises(KeyError):
        store.write(work)
    assert store.view().totals(tree) == (3, 21)
    store.write(lambda transaction: transaction.put(tree, b"new", 1, b"x"))
    assert store.view().totals(tree) == (4, 22)


def test_a_group_commits_at_its_end_and_isolates_failures(store: SqliteStore) -> None:
    tree = new_tree(store)

    def failing(transaction: Transaction) -> None:
        transaction.put(tree, b"half", 1, b"x")
        raise KeyError("no")

    with store.group():
        store.write(lambda transaction: transaction.put(tree, b"a", 1, b"x"))
        with pytest.raises(KeyError):
            store.write(failing)
        store.write(lambda transaction: transaction.put(tree, b"b", 1, b"x"))
        if not store.in_memory:
            assert store.view().totals(tree) == (0, 0)
    assert [row[0] for row in store.view().span(tree, b"", None)] == [b"a", b"b"]


def test_a_group_during_which_the_store_is_closed_is_not_written(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "data.db"))

    def close_in_a_group() -> None:
        with store.group():
            store.write(lambda transaction: transaction.put_document("n", b"1"))
            store.close()

    with pytest.raises(EngineClosedError):
        close_in_a_group()
    again = SqliteStore(str(tmp_path / "data.db"))
    assert again.view().document("n") is None
    again.close()


def test_a_group_that_raises_writes_nothing(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "data.db"))
    tree = new_tree(store)

    def fail_in_a_group() -> None:
        with store.group():
            store.write(lambda transaction: transaction.put(tree, b"a", 1, b"x"))
            raise KeyError("no")

    with pytest.raises(KeyError):
        fail_in_a_group()
    assert store.view().totals(tree) == (0, 0)
    store.write(lambda transaction: transaction.put(tree, b"b", 1, b"x"))
    assert store.view().totals(tree) == (1, 1)
    store.close()


def test_threads_share_commits_and_each_gets_its_own_result(store: SqliteStore) -> None:
    tree = new_tree(store)
    barrier = threading.Barrier(8)
    results: dict[int, list[int]] = {}

    def worker(number: int) -> None:
        barrier.wait()
        mine: list[int] = []
        for turn in range(40):

            def work(transaction: Transaction, turn: int = turn) -> int:
                row = transaction.point(tree, b"counter")
                value = (row[0] if row else 0) + 1
                if turn % 10 == 3:
                    raise KeyError(number)
                transaction.put(tree, b"counter", value, b"")
                return value

            try:
                mine.append(store.write(work))
            except KeyError as error:
                mine.append(error.args[0] == number)
        results[number] = mine

    threads = [threading.Thread(target=worker, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    values = [result for mine in results.values() for result in mine if result is not True]
    assert sorted(values) == list(range(1, 8 * 36 + 1))
    assert store.view().point(tree, b"counter") == (288, b"")


def test_a_snapshot_does_not_change(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "data.db"))
    tree = new_tree(store)
    fill(store, tree, 3)
    with store.snapshot() as view:
        assert view.totals(tree)[0] == 3
        writer = threading.Thread(target=lambda: store.write(lambda tx: tx.put(tree, b"x", 1, b"")))
        writer.start()
        writer.join()
        assert view.totals(tree)[0] == 3
    assert store.view().totals(tree)[0] == 4
    store.close()


def test_logs_keep_order_and_never_reuse_a_sequence(store: SqliteStore) -> None:
    log = store.write(lambda transaction: transaction.create_log())

    def append(number: int) -> None:
        store.write(lambda tx: tx.append(log, 100.0 + number, number % 2, b"%d" % number))

    for number in range(5):
        append(number)
    view = store.view()
    assert [(row[0], row[2]) for row in view.records(log, 0, 0, 10)] == [(1, b"0"), (3, b"2"), (5, b"4")]
    assert [row[2] for row in view.records(log, 1, 3, 1)] == [b"3"]
    assert view.bounds(log, 1) == (2, 4)
    assert store.write(lambda tx: tx.last_to_trim(log, 0, 102.0, 9)) == 1
    assert store.write(lambda tx: tx.last_to_trim(log, 0, 100.0, 9)) == 0
    assert store.write(lambda tx: tx.last_to_trim(log, 0, 200.0, 9)) == 5
    assert store.write(lambda tx: tx.last_to_trim(log, 0, 200.0, 2)) == 3
    assert store.write(lambda tx: tx.trim(log, 0, 5)) == 3
    assert store.write(lambda tx: tx.trim(log, 1, 5)) == 2
    assert view.bounds(log, 0) == (None, None)
    assert store.write(lambda tx: tx.append(log, 300.0, 0, b"next")) == 6


def test_documents_and_sequences_are_stored(store: SqliteStore) -> None:
    store.write(lambda tx: tx.put_document("table:b", b"2"))
    store.write(lambda tx: tx.put_document("table:a", b"1"))
    store.write(lambda tx: tx.put_document("other", b"3"))
    store.write(lambda tx: tx.put_document("table:a", b"4"))
    view = store.view()
    assert view.documents("table:") == [("table:a", b"4"), ("table:b", b"2")]
    assert view.document("other") == b"3"
    store.write(lambda tx: tx.delete_document("table:a"))
    assert view.document("table:a") is None
    assert [store.write(lambda tx: tx.next_sequence("s")) for _ in range(3)] == [1, 2, 3]
    assert view.sequence("s") == 3
    assert view.sequence("never") == 0


def test_written_rows_exist_after_reopening(tmp_path: Path) -> None:
    path = str(tmp_path / "data.db")
    store = SqliteStore(path)
    tree = new_tree(store)
    fill(store, tree, 10)
    store.close()
    store.close()
    with pytest.raises(EngineClosedError):
        store.write(lambda tx: tx.delete(tree, b""))
    again = SqliteStore(path)
    assert again.view().totals(tree) == (10, 70)
    assert new_tree(again).number == tree.number + 1
    again.close()


def noticed(transaction: Transaction) -> bool:
    """Return True if other connections have committed since the last check."""
    foreign, transaction.has_foreign_commit = transaction.has_foreign_commit, False
    return foreign


def test_commits_of_another_connection_are_noticed(tmp_path: Path) -> None:
    path = str(tmp_path / "data.db")
    first, second = SqliteStore(path), SqliteStore(path)
    first.write(noticed)
    assert first.write(noticed) is False
    second.write(lambda tx: tx.next_sequence("x"))
    first.write(lambda tx: tx.next_sequence("x"))
    assert first.write(noticed) is True, "also after a transaction that did not ask"
    assert first.write(noticed) is False
    first.close()
    second.close()


def test_one_statement_writes_a_row_while_a_sequence_is_unchanged(store: SqliteStore) -> None:
    tree = new_tree(store)
    value = store.write(lambda tx: tx.next_sequence("x"))
    assert store.put_if_sequence(tree, (b"a", 1, b"first"), "x", value)
    assert store.put_if_sequence(tree, (b"a", 2, b"second"), "x", value)
    assert not store.put_if_sequence(tree, (b"a", 3, b"third"), "x", value + 1)
    assert not store.put_if_sequence(tree, (b"a", 3, b"third"), "none", 0)
    assert store.view().point(tree, b"a") == (2, b"second")


def test_after_one_statement_only_commits_of_others_are_foreign(tmp_path: Path) -> None:
    path = str(tmp_path / "data.db")
    first, second = SqliteStore(path), SqliteStore(path)
    tree = new_tree(first)
    value = first.write(lambda tx: tx.next_sequence("x"))
    assert first.put_if_sequence(tree, (b"a", 1, b""), "x", value)
    assert first.write(noticed) is False
    assert second.put_if_sequence(tree, (b"b", 1, b""), "x", value)
    assert first.write(noticed) is True
    second.write(lambda tx: tx.next_sequence("x"))
    assert not first.put_if_sequence(tree, (b"a", 2, b""), "x", value)
    assert first.write(noticed) is True
    first.close()
    second.close()


def test_one_statement_raises_the_error_that_prevents_the_write(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "data.db"))
    tree = new_tree(store)
    connection = store._writer.connection
    connection.pragma("query_only", 1)
    with pytest.raises(apsw.ReadOnlyError):
        store.put_if_sequence(tree, (b"a", 1, b""), "tree", tree.number)
    connection.pragma("query_only", 0)
    assert store.put_if_sequence(tree, (b"a", 1, b""), "tree", tree.number)
    store.write(lambda tx: tx.drop_tree(tree))
    with pytest.raises(apsw.SQLError, match="no such table"):
        store.put_if_sequence(tree, (b"a", 1, b""), "tree", tree.number)
    store.close()


@pytest.fixture
def short_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduce the marks of the log to a quarter of the usual commits."""
    for mark in ("PASSIVE_PAGES", "RESTART_PAGES", "WRITERS_WAIT_PAGES"):
        monkeypatch.setattr(checkpoint, mark, getattr(checkpoint, mark) // 4)


@pytest.mark.usefixtures("short_log")
def test_the_log_is_moved_into_the_file_and_does_not_grow_without_bound(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    store = SqliteStore(str(path))
    tree = new_tree(store)
    body = b"x" * 4000

    def put(number: int) -> None:
        store.write(lambda tx: tx.put(tree, b"%d" % (number % 100), number, body))

    for number in range(30_000):
        put(number)
    assert Path(f"{path}-wal").stat().st_size < 64 * 1024 * 1024
    store.close()


def test_a_copy_is_consistent_and_does_not_overwrite(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "data.db"))
    tree = new_tree(store)
    fill(store, tree, 100)
    target = tmp_path / "copy.db"
    store.copy_to(str(target))
    with pytest.raises(FileExistsError):
        store.copy_to(str(target))
    fill(store, tree, 200)
    copy = SqliteStore(str(target))
    assert copy.view().totals(tree) == (100, 700)
    in_memory = copy.copy()
    assert in_memory.view().totals(tree) == (100, 700)
    for opened in (store, copy, in_memory):
        opened.close()


def test_a_failed_copy_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(str(tmp_path / "data.db"))
    target = tmp_path / "copies" / "copy.db"
    target.parent.mkdir()

    def fail(_source: apsw.Connection, copy: apsw.Connection) -> None:
        copy.execute("CREATE TABLE half(done)")
        raise apsw.FullError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "copy", fail)
        with pytest.raises(DatabaseFullError, match=re.escape(f"{target}, a copy of {store.path}, could not grow")):
            store.copy_to(str(target))
    assert list(target.parent.iterdir()) == []
    store.copy_to(str(target))
    assert list(target.parent.iterdir()) == [target]
    store.close()


def test_a_copy_does_not_replace_a_file_created_in_the_meantime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, target = SqliteStore(str(tmp_path / "data.db")), tmp_path / "copies" / "other.db"
    target.parent.mkdir()
    stores: list[SqliteStore] = []

    def copy_slowly(source: apsw.Connection, to: apsw.Connection) -> None:
        files.copy(source, to)
        stores.append(SqliteStore(str(target)))
        stores[0].write(lambda transaction: transaction.put_document("n", b"1"))

    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "copy", copy_slowly)
        with pytest.raises(FileExistsError):
            store.copy_to(str(target))
    stores[0].close()
    assert list(target.parent.iterdir()) == [target]
    again = SqliteStore(str(target))
    assert again.view().document("n") == b"1"
    again.close()
    store.close()


def test_threads_may_copy_to_one_path_concurrently(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "data.db"))
    tree = new_tree(store)
    fill(store, tree, 100)
    target = tmp_path / "copies" / "copy.db"
    target.parent.mkdir()
    ready = threading.Barrier(4)

    def copy(_number: int) -> None:
        ready.wait(60)
        with suppress(FileExistsError):
            store.copy_to(str(target))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(copy, range(4)))
    assert list(target.parent.iterdir()) == [target]
    new_store = SqliteStore(str(target))
    assert new_store.view().totals(tree) == (100, 700)
    for opened in (store, new_store):
        opened.close()


def test_a_database_requires_a_path() -> None:
    with pytest.raises(StorageError, match="path of the database is empty"):
        SqliteStore("")


@pytest.mark.usefixtures("short_log")
def test_a_long_read_lets_the_log_grow_instead_of_stopping_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "WRITERS_WAIT_PAGES", checkpoint.RESTART_PAGES)
    monkeypatch.setattr(checkpoint, "BUSY_MS", 10)
    path = tmp_path / "data.db"
    store = SqliteStore(str(path))
    tree = new_tree(store)
    body = b"x" * 4000
    reading, release = threading.Event(), threading.Event()

    def read_long() -> None:
        with store.snapshot() as view:
            assert view.totals(tree) == (0, 0)
            reading.set()
            release.wait(240)

    def put(number: int) -> None:
        store.write(lambda tx: tx.put(tree, b"%d" % (number % 100), number, body))

    reader = threading.Thread(target=read_long)
    reader.start()
    assert reading.wait(240)
    for number in range(3 * checkpoint.RESTART_PAGES):
        put(number)
    grown = Path(f"{path}-wal").stat().st_size
    release.set()
    reader.join()
    assert grown > 2 * checkpoint.RESTART_PAGES * 4096
    assert store.view().totals(tree)[0] == 100
    store.close()
