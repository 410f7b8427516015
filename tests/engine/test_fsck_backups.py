"""The consistency check covers backups and recovery records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.backup_making import Kept

from keyplan.engine import fsck
from keyplan.engine.backups import backups
from keyplan.engine.store.rows import Transaction, Tree

Damage = Callable[[Transaction, Tree], None]


def first(transaction: Transaction, tree: Tree) -> Any:
    """Return the first row of a tree."""
    return transaction.rows(tree, b"", None, limit=1)[0]


def _wrong_size(transaction: Transaction, tree: Tree) -> None:
    key, size, body = first(transaction, tree)
    transaction.put(tree, key, size + 1, body)


def _unreadable(transaction: Transaction, tree: Tree) -> None:
    key, size, _ = first(transaction, tree)
    transaction.put(tree, key, size, b"{")


def _elsewhere(transaction: Transaction, tree: Tree) -> None:
    key, size, body = first(transaction, tree)
    transaction.move(tree, key, b"\xff" + key, size, body)


def _gone(transaction: Transaction, tree: Tree) -> None:
    transaction.delete(tree, first(transaction, tree)[0])


@pytest.fixture
def kept() -> Kept:
    """Return a table with recovery, a change and a backup."""
    kept = Kept(**tables_of.with_index())
    kept.put("a", g={"S": "g"})
    kept.put("b")
    kept.keep()
    kept.put("a", g={"S": "new"})
    kept.back_up()
    assert fsck.check(kept.engine) == []
    return kept


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (_wrong_size, "recorded size is not the item's"),
        (_unreadable, "item cannot be read"),
        (_elsewhere, "row lies under another key than its item's"),
        (_gone, "recorded number or size of items is wrong"),
    ],
)
def test_a_damaged_backup_is_found(kept: Kept, damage: Damage, what: str) -> None:
    (document,) = backups.stored(kept.engine.store.view())
    kept.engine.store.write(lambda transaction: damage(transaction, backups.tree_of(document)))
    problems = fsck.check(kept.engine)
    assert what in {problem.what for problem in problems}
    assert {(problem.table, problem.where.partition("/")[0]) for problem in problems} == {("things", "backup")}


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (_wrong_size, "recorded size is not the item's"),
        (_unreadable, "item cannot be read"),
        (_elsewhere, "row lies under another key than its item's"),
    ],
)
def test_a_damaged_history_is_found(kept: Kept, damage: Damage, what: str) -> None:
    recovery = kept.engine.database.table("things").recovery
    assert recovery is not None
    kept.engine.store.write(lambda transaction: damage(transaction, recovery.tree))
    assert [(each.table, each.where, each.what) for each in fsck.check(kept.engine)] == [("things", "history", what)]
