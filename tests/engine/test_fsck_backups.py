"""The consistency check covers backups and recovery records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.backup_making import Harness

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


def _without_row(transaction: Transaction, tree: Tree) -> None:
    transaction.delete(tree, first(transaction, tree)[0])


@pytest.fixture
def harness() -> Harness:
    """Return a table with recovery, a change and a backup."""
    harness = Harness(**tables_of.with_index())
    harness.put("a", g={"S": "g"})
    harness.put("b")
    harness.enable_recovery()
    harness.put("a", g={"S": "new"})
    harness.back_up()
    assert fsck.check(harness.engine) == []
    return harness


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_wrong_size, "recorded size differs from the size of the item"),
        (_unreadable, "item cannot be read"),
        (_elsewhere, "key of the row differs from the key of its item"),
        (_without_row, "recorded number or total size of items is wrong"),
    ],
)
def test_a_damaged_backup_is_found(harness: Harness, damage: Damage, message: str) -> None:
    (document,) = backups.all_backups(harness.engine.store.view())
    harness.engine.store.write(lambda transaction: damage(transaction, backups.tree_of(document)))
    problems = fsck.check(harness.engine)
    assert message in {problem.message for problem in problems}
    assert {(problem.table, problem.location.partition("/")[0]) for problem in problems} == {("things", "backup")}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_wrong_size, "recorded size differs from the size of the item"),
        (_unreadable, "item cannot be read"),
        (_elsewhere, "key of the row differs from the key of its item"),
    ],
)
def test_a_damaged_history_is_found(harness: Harness, damage: Damage, message: str) -> None:
    recovery = harness.engine.database.table("things").recovery
    assert recovery is not None
    harness.engine.store.write(lambda transaction: damage(transaction, recovery.tree))
    assert [(problem.table, problem.location, problem.message) for problem in fsck.check(harness.engine)] == [
        ("things", "history", message)
    ]
