"""Backfill: in chunks, during writes, across a crash, by several engines, in a thread that ends."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.engine.table_making import add_index, create, definitions, describe, failure, index, put, scan, update

from keyplan.dynamodb.values.encoding import DecodeError
from keyplan.engine.background import Pace
from keyplan.engine.database import Database
from keyplan.engine.engine import Engine
from keyplan.engine.store import statements
from keyplan.engine.tables import backfill
from keyplan.errors import DatabaseFullError


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use three rows a chunk, and one chunk in the operation itself."""
    monkeypatch.setattr(backfill, "CHUNK_ROWS", 3)
    monkeypatch.setattr(backfill, "CHUNKS_AT_ONCE", 1)


@pytest.fixture
def by_hand(small_chunks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no thread: the test fills each chunk."""
    monkeypatch.setattr(backfill.Backfiller, "_pending", lambda _: [])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.db"


@pytest.fixture(params=["memory", "file"])
def anywhere(request: pytest.FixtureRequest, path: Path) -> Iterator[Engine]:
    with Engine.memory() if request.param == "memory" else Engine.open(path) as engine:
        yield engine


def filled(engine: Engine, count: int = 20) -> None:
    create(engine)
    for number in range(count):
        put(engine, f"{number:03}", tagKey={"S": f"tag {number % 4}"})


def ids(engine: Engine) -> list[str]:
    return sorted(item["id"]["S"] for item in engine.call("Scan", {"TableName": "notes"})["Items"])


def fill_chunk(engine: Engine) -> bool:
    return backfill.fill_chunks(engine.database, "notes", "tag", 1)


def remove(engine: Engine, id_: str) -> None:
    engine.call("DeleteItem", {"TableName": "notes", "Key": {"id": {"S": id_}}})


@pytest.mark.usefixtures("small_chunks")
def test_the_thread_fills_the_rest_of_the_index(anywhere: Engine) -> None:
    filled(anywhere)
    add_index(anywhere, "tag")
    anywhere.backfiller.wait()
    assert describe(anywhere)["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
    assert scan(anywhere, "tag") == ids(anywhere)


@pytest.mark.usefixtures("by_hand")
def test_an_unfinished_index_is_written_but_not_read(anywhere: Engine) -> None:
    filled(anywhere)
    add_index(anywhere, "tag")
    table = describe(anywhere)
    assert table["TableStatus"] == "ACTIVE"
    (indexes,) = table["GlobalSecondaryIndexes"]
    assert (indexes["IndexStatus"], indexes["Backfilling"], indexes["ItemCount"]) == ("CREATING", True, 3)
    put(anywhere, "new", tagKey={"S": "x"})
    assert describe(anywhere)["GlobalSecondaryIndexes"][0]["ItemCount"] == 4
    for operation, more in (
        ("Scan", {}),
        (
            "Query",
            {
                "KeyConditionExpression": "tagKey = :tag",
                "ExpressionAttributeValues": {":tag": {"S": "x"}},
            },
        ),
    ):
        assert failure(anywhere, operation, {"TableName": "notes", "IndexName": "tag", **more}) == (
            "ValidationException",
            "Cannot read from backfilling global secondary index: tag",
        )


@pytest.mark.usefixtures("by_hand")
def test_writes_on_both_sides_of_the_backfill_are_kept(anywhere: Engine) -> None:
    filled(anywhere)
    add_index(anywhere, "tag")
    for number in range(20):
        steps = fill_chunk(anywhere)
        put(anywhere, f"new {number}", tagKey={"S": "new"})
        put(anywhere, f"{number:03}", tagKey={"S": "changed"}, text={"S": "longer"})
        remove(anywhere, f"{(number * 7) % 20:03}")
        if steps:
            break
    assert scan(anywhere, "tag") == ids(anywhere)
    items = anywhere.call("Scan", {"TableName": "notes"})["Items"]
    indexed = anywhere.call("Scan", {"TableName": "notes", "IndexName": "tag"})["Items"]
    assert sorted(items, key=str) == sorted(indexed, key=str)


@pytest.mark.usefixtures("small_chunks")
def test_an_unfinished_backfill_continues_when_the_database_is_opened(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without_thread, Engine.open(path) as engine:
        without_thread.setattr(backfill.Backfiller, "_pending", lambda _: [])
        filled(engine)
        add_index(engine, "tag")
        assert not fill_chunk(engine)
    with Engine.open(path) as engine:
        engine.backfiller.wait()
        assert scan(engine, "tag") == ids(engine)
        assert engine.store.view().documents(backfill.DOCUMENT_PREFIX) == []


@pytest.mark.usefixtures("by_hand")
def test_two_engines_share_the_work(path: Path) -> None:
    with Engine.open(path) as first, Engine.open(path) as other:
        filled(first)
        add_index(first, "tag")
        chunks = 1
        while not fill_chunk((first, other)[chunks % 2]):
            put((first, other)[chunks % 2], f"new {chunks}", tagKey={"S": "x"})
            chunks += 1
        assert chunks < 12
        assert scan(first, "tag") == ids(first) == scan(other, "tag")


@pytest.mark.usefixtures("by_hand")
def test_an_unfinished_index_can_be_deleted(anywhere: Engine) -> None:
    filled(anywhere)
    add_index(anywhere, "tag")
    update(anywhere, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "tag"}}])
    assert "GlobalSecondaryIndexes" not in describe(anywhere)
    assert anywhere.store.view().documents(backfill.DOCUMENT_PREFIX) == []
    assert fill_chunk(anywhere)  # nothing is left to do
    anywhere.call("DeleteTable", {"TableName": "notes"})
    assert fill_chunk(anywhere)


@pytest.mark.usefixtures("by_hand")
def test_a_table_with_an_unfinished_index_cannot_be_deleted(anywhere: Engine) -> None:
    filled(anywhere)
    add_index(anywhere, "tag")
    assert failure(anywhere, "DeleteTable", {"TableName": "notes"})[0] == "ResourceInUseException"
    another = {
        "AttributeDefinitions": definitions(otherKey="S"),
        "GlobalSecondaryIndexUpdates": [{"Create": index("other", "otherKey")}],
    }
    assert failure(anywhere, "UpdateTable", {"TableName": "notes", **another})[0] == "LimitExceededException"


def test_closing_ends_the_thread(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill, "CHUNK_ROWS", 1)
    monkeypatch.setattr(backfill, "CHUNKS_AT_ONCE", 0)
    with Engine.open(path) as engine:
        filled(engine, 100)
        add_index(engine, "tag")
    assert not [thread for thread in threading.enumerate() if thread.name == "keyplan-backfill"]
    with Engine.open(path) as engine:
        engine.backfiller.wait()
        assert scan(engine, "tag") == ids(engine)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("why", [DatabaseFullError("no room"), DecodeError("stored data is not an item", "{", 0)])
def test_a_failure_pauses_the_backfill_until_the_next_description(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, why: Exception
) -> None:
    fill_chunks = backfill.fill_chunks

    def full(database: Database, table: str, name: str, chunks: int, pace: Pace | None = None) -> bool:
        if threading.current_thread() is threading.main_thread():
            return fill_chunks(database, table, name, chunks)
        raise why

    with Engine.open(path) as engine:
        filled(engine)
        with monkeypatch.context() as patched, caplog.at_level(logging.CRITICAL + 1, "keyplan.engine.tables.backfill"):
            patched.setattr(backfill, "fill_chunks", full)
            update(
                engine,
                AttributeDefinitions=definitions(tagKey="S"),
                GlobalSecondaryIndexUpdates=[{"Create": index("tag", "tagKey")}],
            )
            engine.backfiller.wait()
        assert describe(engine)["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
        engine.backfiller.wait()
        assert scan(engine, "tag") == ids(engine)


@pytest.mark.usefixtures("small_chunks")
def test_an_unreadable_item_pauses_the_backfill_until_the_next_description(
    anywhere: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    filled(anywhere)
    tree = anywhere.database.table("notes").tree
    key, size, body = list(anywhere.store.view().span(tree, b"", None))[-1]
    anywhere.store.write(lambda transaction: transaction.put(tree, key, size, b"damaged"))
    with caplog.at_level(logging.CRITICAL + 1, "keyplan.engine.tables.backfill"):
        add_index(anywhere, "tag")
        anywhere.backfiller.wait()
    anywhere.store.write(lambda transaction: transaction.put(tree, key, size, body))
    describe(anywhere)
    anywhere.backfiller.wait()
    assert scan(anywhere, "tag") == ids(anywhere)


@pytest.mark.usefixtures("small_chunks")
def test_threads_write_while_the_index_is_filled(path: Path) -> None:
    with Engine.open(path) as engine:
        filled(engine, 60)

        def work(worker: int) -> None:
            for number in range(worker, 60, 3):
                put(engine, f"{number:03}", tagKey={"S": f"by {worker}"})
                if number % 2:
                    remove(engine, f"{(number * 11) % 60:03}")

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(3)]
        for thread in threads:
            thread.start()
        add_index(engine, "tag")
        for thread in threads:
            thread.join()
        engine.backfiller.wait()
        items = engine.call("Scan", {"TableName": "notes"})["Items"]
        indexed = engine.call("Scan", {"TableName": "notes", "IndexName": "tag"})["Items"]
        assert sorted(items, key=str) == sorted(indexed, key=str)


@pytest.mark.usefixtures("by_hand")
def test_an_index_can_be_added_in_a_group_of_writes(path: Path) -> None:
    def work(engine: Engine) -> Any:
        put(engine, "first", tagKey={"S": "x"})
        add_index(engine, "tag")
        put(engine, "second", tagKey={"S": "x"})
        return describe(engine)["GlobalSecondaryIndexes"]

    with Engine.open(path) as engine:
        create(engine)
        with engine.group():
            work(engine)
        assert scan(engine, "tag") == ["first", "second"]


@pytest.mark.usefixtures("by_hand")
def test_a_chunk_is_read_before_its_transaction(path: Path) -> None:
    """Read the transaction's rows ahead of it, so that writers need not wait for the disk."""
    with Engine.open(path) as engine:
        filled(engine)
        add_index(engine, "tag")
        read: list[str] = []
        with engine.store.snapshot() as view:
            own = view.connection  # type: ignore[attr-defined]  # of this thread's snapshots
        own.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: read.append("before"))
        engine.store._writer.connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: read.append(event["sql"]))
        assert not fill_chunk(engine)
        table = engine.catalog.tables()[0]
        assert read.index("before") < read.index(statements.BEGIN)
        assert read.count("before") >= 1 + backfill.CHUNK_ROWS
        assert table.indexes["tag"].tree.upsert in read
