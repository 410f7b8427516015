"""Pages of Query and Scan: their ends, their content, their cost."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.tables_of import put

from keyplan import limits
from keyplan.engine.engine import Engine
from keyplan.engine.items.pages import SMALL_LIMIT


@pytest.fixture
def filled(engine: Engine) -> Engine:
    """Return an engine with forty items of 100 bytes in one partition."""
    tables_of.create(engine)
    for number in range(40):
        put(engine, "a", f"{number:02}", x={"S": "x" * 94})
    return engine


def query(engine: Engine, **members: Any) -> dict[str, Any]:
    """Return one page of partition `a`."""
    request: dict[str, Any] = {
        "TableName": "things",
        "KeyConditionExpression": "p = :p",
        "ReturnConsumedCapacity": "TOTAL",
        **members,
    }
    request["ExpressionAttributeValues"] = {":p": {"S": "a"}, **members.get("ExpressionAttributeValues", {})}
    return engine.call("Query", request)


def units(response: dict[str, Any]) -> float:
    consumed: float = response["ConsumedCapacity"]["CapacityUnits"]
    return consumed


def test_a_page_is_summed_first_and_rounded_once(filled: Engine) -> None:
    response = query(filled)
    assert response["Count"] == 40
    assert units(response) == 0.5
    assert units(query(filled, ConsistentRead=True)) == 1


def test_a_read_without_results_costs_units(engine: Engine) -> None:
    tables_of.create(engine)
    assert units(query(engine)) == 0.5
    assert units(query(engine, ConsistentRead=True)) == 1


@pytest.mark.parametrize("limit", [1, 39, 40, 41, SMALL_LIMIT, SMALL_LIMIT + 1])
def test_a_reached_limit_returns_a_key_even_at_the_end(filled: Engine, limit: int) -> None:
    response = query(filled, Limit=limit)
    assert response["Count"] == min(limit, 40)
    assert ("LastEvaluatedKey" in response) == (limit <= 40)
    if limit == 40:
        following = query(filled, Limit=limit, ExclusiveStartKey=response["LastEvaluatedKey"])
        assert (following["Count"], following.get("LastEvaluatedKey")) == (0, None)


def test_a_limit_counts_before_the_filter(filled: Engine) -> None:
    response = query(
        filled, Limit=10, FilterExpression="x = :none", ExpressionAttributeValues={":none": {"S": "nothing like it"}}
    )
    assert (response["Count"], response["ScannedCount"], response["Items"]) == (0, 10, [])
    assert response["LastEvaluatedKey"] == tables_of.key("a", "09")


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", [None, 3, 100])
def test_a_page_ends_with_the_item_that_crosses_a_megabyte(engine: Engine, forward: bool, limit: int | None) -> None:
    tables_of.create(engine)
    for number in range(9):
        put(engine, "a", str(number), x={"S": "x" * 300_000})
    more = {} if limit is None else {"Limit": limit}
    first = query(engine, ScanIndexForward=forward, **more)
    expected = 3 if limit == 3 else 4
    assert [item["s"]["S"] for item in first["Items"]] == list("0123" if forward else "8765")[:expected]
    assert first["LastEvaluatedKey"] == tables_of.key("a", first["Items"][-1]["s"]["S"])
    assert units(first) == -(-300_005 * expected // 4096) / 2


@pytest.mark.parametrize("limit", [None, 2, 200])
def test_a_full_page_has_a_key_even_if_nothing_follows(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, limit: int | None
) -> None:
    monkeypatch.setattr(limits, "PAGE_BYTES", 100)
    tables_of.create(engine)
    more = {} if limit is None else {"Limit": limit}
    put(engine, "a", "1", x={"S": "x" * 94})  # 99 bytes with its names and key
    assert "LastEvaluatedKey" not in query(engine, **more)
    put(engine, "a", "1", x={"S": "x" * 95})
    first = query(engine, **more)
    assert (first["Count"], first["LastEvaluatedKey"]) == (1, tables_of.key("a", "1"))
    following = query(engine, ExclusiveStartKey=first["LastEvaluatedKey"], **more)
    assert (following["Count"], following.get("LastEvaluatedKey")) == (0, None)
    put(engine, "a", "2")
    assert query(engine, **more)["LastEvaluatedKey"] == tables_of.key("a", "1")


def test_a_count_has_no_items(filled: Engine) -> None:
    response = query(filled, Select="COUNT")
    assert (response["Count"], response["ScannedCount"]) == (40, 40)
    assert "Items" not in response


def test_a_projection_does_not_make_a_page_cheaper(filled: Engine) -> None:
    response = query(filled, ProjectionExpression="s")
    assert response["Items"][0] == {"s": {"S": "00"}}
    assert units(response) == 0.5


def test_fetching_from_a_local_index_costs_each_item(engine: Engine) -> None:
    local = {
        "IndexName": "by_l",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    definitions = [{"AttributeName": name, "AttributeType": "S"} for name in "psl"]
    tables_of.create(engine, AttributeDefinitions=definitions, LocalSecondaryIndexes=[local])
    for name in "12":
        put(engine, "a", name, l={"S": name}, x={"S": "x" * 5000})
    assert units(query(engine, IndexName="by_l")) == 0.5
    response = query(engine, IndexName="by_l", Select="ALL_ATTRIBUTES", ReturnConsumedCapacity="INDEXES")
    assert [len(item["x"]["S"]) for item in response["Items"]] == [5000, 5000]
    assert response["ConsumedCapacity"]["Table"]["CapacityUnits"] == 2
    assert response["ConsumedCapacity"]["LocalSecondaryIndexes"]["by_l"]["CapacityUnits"] == 0.5
