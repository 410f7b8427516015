"""The catalog: writers see changes at once, late readers reload once, indexes settle by the clock."""

from __future__ import annotations

import threading
from pathlib import Path

import apsw
import pytest
from tests.engine.table_making import add_index, create, describe, put, scan, update

from keyplan.clock import ManualClock
from keyplan.engine import fsck
from keyplan.engine.engine import Engine
from keyplan.engine.items.versions import Version
from keyplan.engine.store.rows import StoreView, Transaction
from keyplan.engine.tables.catalog import Catalog, CatalogChanged, Table
from keyplan.errors import ServiceError


def test_a_changed_table_is_noticed_inside_the_write(engine: Engine) -> None:
    create(engine)
    old = engine.database.table("notes")
    add_index(engine, "tag")
    with pytest.raises(CatalogChanged):
        engine.database.write(old, lambda transaction: None)
    engine.database.write(engine.database.table("notes"), lambda transaction: None)


def test_a_change_by_another_engine_is_noticed_inside_the_write(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data.db") as first, Engine.open(tmp_path / "data.db") as other:
        create(first)
        old = other.database.table("notes")
        add_index(first, "tag")
        with pytest.raises(CatalogChanged):
            other.database.write(old, lambda transaction: None)
        put(other, "a", tagKey={"S": "x"})
        assert scan(first, "tag") == ["a"]


@pytest.mark.parametrize("by_statements", [False, True])
def test_a_change_between_two_lookups_of_one_transaction_is_noticed(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, by_statements: bool
) -> None:
    create(engine)
    find, looks = engine.database.table, 0

    def find_and_change(name: str) -> Table:
        nonlocal looks
        looks += 1
        table = find(name)
        if looks == 1:
            add_index(engine, "tag")
        return table

    monkeypatch.setattr(engine.database, "table", find_and_change)
    if by_statements:
        statements = [{"Statement": f"INSERT INTO notes VALUE {{'id': '{id_}', 'tagKey': 'x'}}"} for id_ in "ab"]
        engine.call("ExecuteTransaction", {"TransactStatements": statements})
    else:
        items = [{"id": {"S": id_}, "tagKey": {"S": "x"}} for id_ in "ab"]
        puts = [{"Put": {"TableName": "notes", "Item": item}} for item in items]
        engine.call("TransactWriteItems", {"TransactItems": puts})
    assert scan(engine, "tag") == ["a", "b"]
    assert fsck.check(engine) == []


@pytest.mark.parametrize("kind", [apsw.SQLError, apsw.SchemaChangeError])
def test_a_read_of_a_dropped_tree_starts_over(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, kind: type[apsw.Error]
) -> None:
    create(engine)
    put(engine, "a")
    look, failures = engine.database.view, [kind("no such table: tree_1")]

    def view() -> StoreView:
        if failures:
            raise failures.pop()
        return look()

    monkeypatch.setattr(engine.database, "view", view)
    assert engine.call("Scan", {"TableName": "notes"})["Count"] == 1
    assert not failures


def test_an_index_created_by_another_engine_is_read(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data.db") as first, Engine.open(tmp_path / "data.db") as other:
        create(first)
        put(other, "a", tagKey={"S": "x"})
        add_index(first, "tag")
        assert scan(other, "tag") == ["a"]
        add_index(first, "late")
        query = {
            "TableName": "notes",
            "IndexName": "late",
            "KeyConditionExpression": "lateKey = :v",
            "ExpressionAttributeValues": {":v": {"S": "x"}},
        }
        assert other.call("Query", query)["Items"] == []


def test_a_missing_index_is_rejected(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data.db") as first, Engine.open(tmp_path / "data.db") as other:
        create(first)
        put(other, "a")
        add_index(first, "tag")
        with pytest.raises(ServiceError, match="The table does not have the specified index: none"):
            other.call("Scan", {"TableName": "notes", "IndexName": "none"})


def test_a_rejected_change_is_not_cached(engine: Engine) -> None:
    create(engine)
    before = engine.database.table("notes")

    def failing(transaction: Transaction) -> None:
        engine.catalog.save(transaction, {**before.document, "tags": {"a": "b"}})
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        engine.database.alter(failing)
    assert engine.database.table("notes") is before
    update(engine, DeletionProtectionEnabled=True)
    assert engine.database.table("notes").document["tags"] == {}


def test_a_late_reader_does_not_restore_the_old_catalog(engine: Engine) -> None:
    create(engine)
    stale = _FrozenView(engine)
    add_index(engine, "tag")
    now = engine.database.table("notes")
    engine.catalog.reload(stale)  # type: ignore[arg-type]  # only what reload asks of a view
    assert engine.database.table("notes") is now


class _FrozenView:
    """A view of a reader from before the last change."""

    def __init__(self, engine: Engine) -> None:
        view = engine.store.view()
        self._sequence = view.sequence("catalog")
        self._documents = view.documents("table:")

    def sequence(self, name: str) -> int:
        return self._sequence

    def documents(self, prefix: str) -> list[tuple[str, bytes]]:
        return self._documents


def test_an_unchanged_table_stays_the_same_object(engine: Engine) -> None:
    create(engine, "one")
    before = engine.database.table("one")
    create(engine, "two")
    assert engine.database.table("one") is before


def test_an_index_settles_once(tmp_path: Path) -> None:
    clock = ManualClock()
    with Engine.memory(clock=clock, state_delay_s=1.0) as engine:
        create(engine)
        clock.advance(1.0)
        add_index(engine, "tag")
        clock.advance(2.0)
        settled = engine.database.table("notes")
        assert not settled.indexes["tag"].backfilling
        assert engine.database.table("notes") is settled
        describe(engine)
        assert engine.database.table("notes") is settled


def test_a_catalog_of_an_empty_store_is_empty(engine: Engine) -> None:
    assert Catalog(engine.store.view()).tables() == []


def test_tables_are_created_and_deleted_during_writes(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data.db") as engine:
        create(engine)
        odd: list[BaseException] = []

        def write() -> None:
            for number in range(60):
                try:
                    put(engine, str(number), tagKey={"S": "x"})
                except ServiceError as error:
                    if error.code != "ResourceNotFoundException":
                        odd.append(error)
                except Exception as error:  # noqa: BLE001 - the test reports any error
                    odd.append(error)

        threads = [threading.Thread(target=write) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(6):
            add_index(engine, "tag")
            update(engine, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "tag"}}])
            engine.call("DeleteTable", {"TableName": "notes"})
            create(engine)
        for thread in threads:
            thread.join()
        assert odd == []
        put(engine, "last", tagKey={"S": "x"})
        add_index(engine, "tag")
        engine.backfiller.wait()
        items = engine.call("Scan", {"TableName": "notes"})["Items"]
        assert scan(engine, "tag") == sorted(item["id"]["S"] for item in items)


def test_a_plain_put_notices_an_index_created_by_another_engine(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data.db") as first, Engine.open(tmp_path / "data.db") as other:
        create(first)
        put(other, "a", tagKey={"S": "x"})
        old = other.database.table("notes")
        add_index(first, "tag")
        with pytest.raises(CatalogChanged):
            other.database.put(old, b"key", Version({}, 0, b"{}"))
        put(other, "b", tagKey={"S": "x"})
        assert sorted(scan(first, "tag")) == ["a", "b"]


def test_a_plain_put_notices_a_change_by_its_own_engine(engine: Engine) -> None:
    create(engine)
    old = engine.database.table("notes")
    add_index(engine, "tag")
    with pytest.raises(CatalogChanged):
        engine.database.put(old, b"key", Version({}, 0, b"{}"))
    assert scan(engine, "tag") == []
