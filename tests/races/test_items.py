"""Races on single items: counters and conditional puts, by threads and by processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.races.threads import THREADS, together

from keyplan.engine import fsck
from keyplan.engine.engine import Engine
from keyplan.errors import ConditionalCheckFailedError

TABLE = "race"
PROCESSES = 3
TURNS = 60


def create(engine: Engine) -> None:
    engine.call(
        "CreateTable",
        {
            "TableName": TABLE,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "hits", "AttributeType": "N"},
            ],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "by_hits",
                    "KeySchema": [{"AttributeName": "hits", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            ],
        },
    )


@pytest.fixture(params=["memory", "normal", "full"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """One engine of each kind, with the table."""
    new_engine = (
        Engine.memory() if request.param == "memory" else Engine.open(tmp_path / "data.db", durability=request.param)
    )
    with new_engine:
        create(new_engine)
        yield new_engine


def increment(engine: Engine, name: str) -> int:
    response = engine.call(
        "UpdateItem",
        {
            "TableName": TABLE,
            "Key": {"pk": {"S": name}},
            "UpdateExpression": "SET hits = if_not_exists(hits, :zero) + :one",
            "ExpressionAttributeValues": {":zero": {"N": "0"}, ":one": {"N": "1"}},
            "ReturnValues": "UPDATED_NEW",
        },
    )
    return int(response["Attributes"]["hits"]["N"])


def take_slot(engine: Engine, slot: int, owner: str) -> bool:
    try:
        engine.call(
            "PutItem",
            {
                "TableName": TABLE,
                "Item": {"pk": {"S": f"slot{slot}"}, "owner": {"S": owner}},
                "ConditionExpression": "attribute_not_exists(pk)",
            },
        )
    except ConditionalCheckFailedError:
        return False
    return True


def read(engine: Engine, name: str) -> dict[str, Any]:
    item: dict[str, Any] = engine.call("GetItem", {"TableName": TABLE, "Key": {"pk": {"S": name}}})["Item"]
    return item


def test_no_increment_of_a_counter_is_lost_or_seen_twice(engine: Engine) -> None:
    results = together(lambda number: [increment(engine, "counter") for _ in range(TURNS)])
    assert sorted(value for values in results for value in values) == list(range(1, THREADS * TURNS + 1))
    assert read(engine, "counter")["hits"] == {"N": str(THREADS * TURNS)}
    assert fsck.check(engine) == []


def test_a_slot_has_exactly_one_winner(engine: Engine) -> None:
    won = together(lambda number: {slot for slot in range(TURNS) if take_slot(engine, slot, str(number))})
    assert sorted(slot for slots in won for slot in slots) == list(range(TURNS))
    for number, slots in enumerate(won):
        for slot in slots:
            assert read(engine, f"slot{slot}")["owner"] == {"S": str(number)}


def test_optimistic_locking_loses_no_update(engine: Engine) -> None:
    engine.call("PutItem", {"TableName": TABLE, "Item": {"pk": {"S": "doc"}, "version": {"N": "0"}, "log": {"L": []}}})

    def work(number: int) -> int:
        done = 0
        while done < 10:
            version = read(engine, "doc")["version"]
            try:
                engine.call(
                    "UpdateItem",
                    {
                        "TableName": TABLE,
                        "Key": {"pk": {"S": "doc"}},
                        "UpdateExpression": "SET version = version + :one, #log = list_append(#log, :me)",
                        "ConditionExpression": "version = :seen",
                        "ExpressionAttributeNames": {"#log": "log"},
                        "ExpressionAttributeValues": {
                            ":one": {"N": "1"},
                            ":seen": version,
                            ":me": {"L": [{"N": str(number)}]},
                        },
                    },
                )
            except ConditionalCheckFailedError:
                continue
            done += 1
        return done

    assert sum(together(work)) == 10 * THREADS
    final = read(engine, "doc")
    assert final["version"] == {"N": str(10 * THREADS)}
    assert len(final["log"]["L"]) == 10 * THREADS


def process_work(path: str, number: int) -> tuple[list[int], list[int]]:
    with Engine.open(path) as engine:
        counted = [increment(engine, "counter") for _ in range(TURNS)]
        slots = [slot for slot in range(TURNS) if take_slot(engine, slot, str(number))]
    return counted, slots


def test_processes_share_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "data.db")
    with Engine.open(path) as engine:
        create(engine)
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
            results = list(pool.map(process_work, [path] * PROCESSES, range(PROCESSES)))
        assert sorted(value for counted, _ in results for value in counted) == list(range(1, PROCESSES * TURNS + 1))
        assert sorted(slot for _, slots in results for slot in slots) == list(range(TURNS))
        assert read(engine, "counter")["hits"] == {"N": str(PROCESSES * TURNS)}
        assert fsck.check(engine) == []


def test_a_table_created_by_one_process_is_visible_to_another(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with Engine.open(path) as first, Engine.open(path) as second:
        create(first)
        assert increment(second, "counter") == 1
        first.call(
            "UpdateTable",
            {
                "TableName": TABLE,
                "AttributeDefinitions": [{"AttributeName": "owner", "AttributeType": "S"}],
                "GlobalSecondaryIndexUpdates": [
                    {
                        "Create": {
                            "IndexName": "by_owner",
                            "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
                            "Projection": {"ProjectionType": "ALL"},
                        }
                    }
                ],
            },
        )
        assert take_slot(second, 1, "me")
        response = first.call(
            "Query",
            {
                "TableName": TABLE,
                "IndexName": "by_owner",
                "KeyConditionExpression": "#owner = :me",
                "ExpressionAttributeNames": {"#owner": "owner"},
                "ExpressionAttributeValues": {":me": {"S": "me"}},
            },
        )
        assert [item["pk"] for item in response["Items"]] == [{"S": "slot1"}]
        second.call("DeleteTable", {"TableName": TABLE})
        assert first.call("ListTables", {}) == {"TableNames": []}
        create(first)
        assert increment(second, "counter") == 1
        assert fsck.check(first) == []
