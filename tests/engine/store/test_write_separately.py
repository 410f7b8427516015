"""write_separately: a separate transaction, also inside a group."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from keyplan.engine.store.rows import Transaction
from keyplan.engine.store.sqlite import SqliteStore


@pytest.fixture(params=["normal", "full"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SqliteStore:
    durability: Literal["normal", "full"] = request.param
    return SqliteStore(str(tmp_path / "data.db"), durability=durability)


def test_a_separate_write_commits_earlier_writes_of_the_group(store: SqliteStore) -> None:
    def failing() -> None:
        with store.group():
            store.write(lambda transaction: transaction.put_document("before", b"1"))
            store.write_separately(lambda transaction: transaction.put_document("apart", b"2"))
            store.write(lambda transaction: transaction.put_document("after", b"3"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert [name for name, _ in store.view().documents("")] == ["apart", "before"]
    store.close()


def test_the_group_continues_after_a_separate_write(store: SqliteStore) -> None:
    with store.group():
        store.write(lambda transaction: transaction.put_document("before", b"1"))
        store.write_separately(lambda transaction: transaction.put_document("apart", b"2"))
        store.write(lambda transaction: transaction.put_document("after", b"3"))
    assert [name for name, _ in store.view().documents("")] == ["after", "apart", "before"]
    store.close()


def test_a_failed_separate_write_undoes_only_its_own_work(store: SqliteStore) -> None:
    def failing(transaction: Transaction) -> None:
        transaction.put_document("apart", b"2")
        raise ZeroDivisionError

    with store.group():
        store.write(lambda transaction: transaction.put_document("before", b"1"))
        with pytest.raises(ZeroDivisionError):
            store.write_separately(failing)
    assert [name for name, _ in store.view().documents("")] == ["before"]
    store.close()


def test_the_next_transaction_counts_as_foreign(store: SqliteStore) -> None:
    def noticed(transaction: Transaction) -> bool:
        foreign, transaction.has_foreign_commit = transaction.has_foreign_commit, False
        return foreign

    assert not store.write(noticed)
    store.write_separately(lambda transaction: transaction.put_document("apart", b"2"))
    assert store.write(noticed)
    assert not store.write(noticed)
    store.close()
