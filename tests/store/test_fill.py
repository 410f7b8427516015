"""A tree filled with a copy of another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from keyplan.store import statements
from keyplan.store.rows import Transaction, Tree
from keyplan.store.sqlite import MEMORY, SqliteStore

ROWS = [(bytes([number // 256, number % 256]), number, b"x" * number) for number in range(1, 600)]


@pytest.mark.parametrize("in_memory", [False, True])
@pytest.mark.parametrize("rows", [ROWS, []])
def test_a_copy_has_the_same_rows_and_goes_its_own_way(
    tmp_path: Path, in_memory: bool, rows: list[tuple[bytes, int, bytes]]
) -> None:
    store = SqliteStore(MEMORY if in_memory else str(tmp_path / "data.db"))

    def copied(transaction: Transaction) -> tuple[Tree, Tree]:
        source, tree = transaction.create_tree(), transaction.create_tree()
        transaction.put_all(source, list(reversed(rows)))
        transaction.fill_tree(tree, source)
        assert list(transaction.span(tree, b"", None)) == rows
        transaction.put(tree, b"new", 1, b"1")
        transaction.put(source, b"other", 1, b"1")
        return source, tree

    source, tree = store.write(copied)
    assert list(store.view().span(tree, b"", None)) == [*rows, (b"new", 1, b"1")]
    assert list(store.view().span(source, b"", None)) == [*rows, (b"other", 1, b"1")]
    assert store.integrity() == []
    store.close()


def test_sqlite_copies_records_without_decoding_them() -> None:
    store = SqliteStore(MEMORY)
    store.write(lambda transaction: (transaction.create_tree(), transaction.create_tree()))
    plan = store.view().connection.execute("EXPLAIN " + statements.fill_tree(1, 2)).fetchall()
    assert "RowData" in {operation for _, operation, *_ in plan}
    store.close()
