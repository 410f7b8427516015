"""The consistency check finds every kind of inconsistency."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.crash.failing_store import attributes, fill
from tests.engine import table_making, tables_of

from keyplan.engine import fsck
from keyplan.engine.engine import Engine
from keyplan.engine.store.rows import StoreView, Transaction
from keyplan.engine.tables import backfill
from keyplan.engine.tables.catalog import Table

Damage = Callable[[Transaction, Table], None]


@pytest.fixture
def furnished(engine: Engine) -> Engine:
    engine.clock = engine.database.clock = tables_of.clock()
    fill(engine)
    return engine


def entry_of(table: Table, index: str, name: str) -> bytes:
    """Return the stored key of an item's entry."""
    item = {**tables_of.key(name), **attributes(name)}
    entry = table.indexes[index].key.entry_key(item, table.key.of_item(item))
    assert entry is not None
    return entry


def _drop_entry(transaction: Transaction, table: Table) -> None:
    transaction.delete(table.indexes["by_g"].tree, entry_of(table, "by_g", "a"))


def _drop_local_entry(transaction: Transaction, table: Table) -> None:
    transaction.delete(table.indexes["by_l"].tree, entry_of(table, "by_l", "a"))


def _change_entry(transaction: Transaction, table: Table) -> None:
    transaction.put(table.indexes["by_g"].tree, entry_of(table, "by_g", "a"), 1, b"{}")


def _extra_entry(transaction: Transaction, table: Table) -> None:
    transaction.put(table.indexes["by_g"].tree, entry_of(table, "by_g", "stranger"), 1, b"{}")


def _drop_item(transaction: Transaction, table: Table) -> None:
    transaction.delete(table.tree, table.key.of_key(tables_of.key("a")))


def _wrong_size(transaction: Transaction, table: Table) -> None:
    key = table.key.of_key(tables_of.key("a"))
    row = transaction.point(table.tree, key)
    assert row is not None
    transaction.put(table.tree, key, row[0] + 1, row[1])


def _wrong_place(transaction: Transaction, table: Table) -> None:
    row = transaction.point(table.tree, table.key.of_key(tables_of.key("a")))
    assert row is not None
    transaction.put(table.tree, table.key.of_key(tables_of.key("other")), *row)


def _no_key(transaction: Transaction, table: Table) -> None:
    transaction.put(table.tree, table.key.of_key(tables_of.key("a")), 2, b'{"p":{"S":"a"}}')


def _unreadable(transaction: Transaction, table: Table) -> None:
    transaction.put(table.tree, table.key.of_key(tables_of.key("a")), 2, b"{what")


def _drop_expiries(transaction: Transaction, table: Table) -> None:
    assert table.expiry is not None
    rows = transaction.rows(table.expiry.tree, b"", None)
    transaction.delete(table.expiry.tree, rows[0][0])


def _extra_expiry(transaction: Transaction, table: Table) -> None:
    assert table.expiry is not None
    transaction.put(table.expiry.tree, bytes(20), 0, b"")


def _wrong_collection(transaction: Transaction, table: Table) -> None:
    assert table.collections is not None
    key, size, body = transaction.rows(table.collections, b"", None)[0]
    transaction.put(table.collections, key, size + 1, body)


def _extra_collection(transaction: Transaction, table: Table) -> None:
    assert table.collections is not None
    transaction.put(table.collections, b"stranger", 1, b"")


@pytest.mark.parametrize(
    ("damage", "where", "message"),
    [
        (_drop_entry, "by_g", "missing"),
        (_drop_local_entry, "by_l", "missing"),
        (_change_entry, "by_g", "differs from the item"),
        (_extra_entry, "by_g", "4 entries, 3 expected"),
        (_drop_item, "by_g", "3 entries, 2 expected"),
        (_wrong_size, "", "size"),
        (_wrong_place, "", "differs from the key of its item"),
        (_no_key, "", "does not match the key schema"),
        (_unreadable, "", "cannot be read"),
        (_drop_expiries, "time to live", "missing"),
        (_extra_expiry, "time to live", "4 entries, 3 expected"),
        (_wrong_collection, "item collections", "size is wrong"),
        (_extra_collection, "item collections", "4 entries, 3 expected"),
    ],
)
def test_an_inconsistency_is_found(furnished: Engine, damage: Damage, where: str, message: str) -> None:
    assert fsck.check(furnished) == []
    table = furnished.database.table("things")
    furnished.database.write(table, lambda transaction: damage(transaction, table))
    problems = fsck.check(furnished)
    assert any(problem.location == where and message in problem.message for problem in problems), list(
        map(str, problems)
    )
    assert all(problem.table == "things" for problem in problems)


def test_a_problem_has_a_location() -> None:
    assert str(fsck.FsckProblem("orders", "by_day", "entry is missing", "00ff")) == (
        "orders/by_day: entry is missing (key 00ff)"
    )
    assert str(fsck.FsckProblem("database", "", "page 3 is never used")) == "database: page 3 is never used"


def test_progress_is_reported(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fsck, "PROGRESS_ROWS", 2)
    tables_of.create(engine)
    for name in "abcde":
        tables_of.put(engine, name)
    reports: list[tuple[str, int]] = []
    assert fsck.check(engine, lambda table, rows: reports.append((table, rows))) == []
    assert reports == [("things", 2), ("things", 4)]


def test_a_database_is_checked_as_of_one_time(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data.db") as engine, Engine.open(tmp_path / "data.db") as other:
        fill(engine)
        written: list[Any] = []

        def write(table: str, rows: int) -> None:
            written.append(tables_of.put(other, f"new{rows}", **attributes("n")))

        for number in range(1200):
            tables_of.put(engine, f"k{number}", g={"S": "g"})
        assert fsck.check(engine, write) == []
        assert written
        assert fsck.check(engine) == []


def test_an_index_completed_during_the_check_is_seen_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill, "CHUNK_ROWS", 2)
    monkeypatch.setattr(backfill, "CHUNKS_AT_ONCE", 1)
    with Engine.open(tmp_path / "data.db") as engine:
        table_making.create(engine)
        for number in range(10):
            table_making.put(engine, str(number), tagKey={"S": "x"})
        with monkeypatch.context() as patch:
            patch.setattr(backfill.Backfiller, "_pending", lambda _: [])
            table_making.add_index(engine, "tag")
        true = engine.store.snapshot

        @contextmanager
        def snapshot() -> Iterator[StoreView]:
            monkeypatch.setattr(engine.store, "snapshot", true)  # the backfill has its own
            with true() as view:
                view.sequence("catalog")  # the snapshot is as of the first read
                with ThreadPoolExecutor(1) as pool:
                    assert pool.submit(backfill.fill_chunks, engine.database, "notes", "tag", 10).result()
                yield view

        monkeypatch.setattr(engine.store, "snapshot", snapshot)
        assert fsck.check(engine) == []
        monkeypatch.undo()
        assert fsck.check(engine) == []
