"""Rows that get another key: moved in one statement, with the result of a removal and a write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from keyplan.engine.store.rows import Transaction, Tree
from keyplan.engine.store.sqlite import MEMORY, SqliteStore


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(MEMORY if request.param == "memory" else str(tmp_path / "data.db"))
    yield opened
    opened.close()


@pytest.fixture
def tree(store: SqliteStore) -> Tree:
    def fill(transaction: Transaction) -> Tree:
        new_tree = transaction.create_tree()
        for key in (b"a", b"b", b"c"):
            transaction.put(new_tree, key, 1, b"body of " + key)
        return new_tree

    return store.write(fill)


@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [(b"b", b"z", [b"a", b"c", b"z"]), (b"nowhere", b"z", [b"a", b"b", b"c", b"z"]), (b"b", b"c", [b"a", b"c"])],
    ids=["a row", "one that is not there", "over another"],
)
def test_a_moved_row_is_only_under_its_new_key(
    store: SqliteStore, tree: Tree, old: bytes, new: bytes, keys: list[bytes]
) -> None:
    store.write(lambda tx: tx.move(tree, old, new, 7, b"new body"))
    assert [row[0] for row in store.view().rows(tree, b"", None)] == keys
    assert store.view().point(tree, new) == (7, b"new body")
    assert store.integrity() == []


def test_a_move_is_undone_with_its_transaction(store: SqliteStore, tree: Tree) -> None:
    def fail(transaction: Transaction) -> None:
        transaction.move(tree, b"a", b"z", 7, b"new body")
        raise KeyError

    with pytest.raises(KeyError):
        store.write(fail)
    assert [row[0] for row in store.view().rows(tree, b"", None)] == [b"a", b"b", b"c"]
