"""boto3's resource layer: Python values, conditions, batch writers, waiters, collections."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import boto3
import pytest
from boto3.dynamodb.conditions import Attr, Key
from boto3.dynamodb.types import Binary


@pytest.fixture
def resource(endpoint: str | None) -> Any:
    return boto3.resource("dynamodb", endpoint_url=endpoint)


@pytest.fixture
def orders_table(resource: Any, table: str) -> Any:
    return resource.Table(table)


def test_a_table_is_created_and_waited_for(resource: Any, orders: dict[str, Any]) -> None:
    described = resource.create_table(**orders)
    described.wait_until_exists()
    described.reload()
    assert described.table_status == "ACTIVE"
    assert [table.name for table in resource.tables.all()] == ["orders"]
    described.delete()
    described.wait_until_not_exists()
    assert list(resource.tables.all()) == []


def test_python_values_are_read_back(orders_table: Any) -> None:
    item = {
        "customer": "ann",
        "placed": Decimal("1.5"),
        "tags": {"a", "b"},
        "sizes": {Decimal(1), Decimal("2.5")},
        "blob": Binary(b"\x00\xff"),
        "blobs": {Binary(b"\x00")},
        "nothing": None,
        "yes": True,
        "list": ["a", Decimal(3), {"deep": Binary(b"x")}],
        "map": {},
    }
    orders_table.put_item(Item=item)
    stored_item = orders_table.get_item(Key={"customer": "ann", "placed": Decimal("1.5")})["Item"]
    assert stored_item == item
    assert isinstance(stored_item["blob"], Binary)


def test_the_callers_item_is_not_changed(orders_table: Any) -> None:
    item = {"customer": "ann", "placed": 1}
    orders_table.put_item(Item=item)
    assert item == {"customer": "ann", "placed": 1}


def test_conditions_are_sent_as_expressions(orders_table: Any) -> None:
    with orders_table.batch_writer() as batch:
        for n in range(30):
            batch.put_item(Item={"customer": "ann", "placed": n, "total": n % 3, "state": "new"})
    response = orders_table.query(
        KeyConditionExpression=Key("customer").eq("ann") & Key("placed").between(10, 19),
        FilterExpression=Attr("total").is_in([1, 2]) & ~Attr("missing").exists(),
        ProjectionExpression="placed",
    )
    assert [item["placed"] for item in response["Items"]] == [10, 11, 13, 14, 16, 17, 19]
    by_state = orders_table.query(
        IndexName="by-state",
        KeyConditionExpression=Key("state").eq("new") & Key("placed").lt(2),
    )
    assert by_state["Count"] == 2


def test_a_batch_writer_keeps_the_last_item_of_a_key(orders_table: Any) -> None:
    with orders_table.batch_writer(overwrite_by_pkeys=["customer", "placed"]) as batch:
        for total in range(60):
            batch.put_item(Item={"customer": "ann", "placed": total % 7, "total": total})
        batch.delete_item(Key={"customer": "ann", "placed": 0})
    items = orders_table.scan()["Items"]
    assert sorted(int(item["total"]) for item in items) == [53, 54, 55, 57, 58, 59]


def test_a_failed_condition_has_the_item_as_python_values(
    orders_table: Any,
) -> None:
    orders_table.put_item(Item={"customer": "ann", "placed": 1})
    error = orders_table.meta.client.exceptions.ConditionalCheckFailedException
    with pytest.raises(error) as caught:
        orders_table.put_item(
            Item={"customer": "ann", "placed": 1},
            ConditionExpression=Attr("customer").not_exists(),
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert caught.value.response["Item"] == {"customer": {"S": "ann"}, "placed": {"N": "1"}}


def test_an_update_returns_python_values(orders_table: Any) -> None:
    response = orders_table.update_item(
        Key={"customer": "ann", "placed": 1},
        UpdateExpression="SET tags = :t ADD hits :one",
        ConditionExpression=Attr("customer").not_exists(),
        ExpressionAttributeValues={":t": {"a"}, ":one": 1},
        ReturnValues="ALL_NEW",
    )
    assert response["Attributes"] == {"customer": "ann", "placed": 1, "tags": {"a"}, "hits": 1}


def test_batches_across_tables(resource: Any, orders_table: Any) -> None:
    resource.batch_write_item(
        RequestItems={orders_table.name: [{"PutRequest": {"Item": {"customer": "ann", "placed": n}}} for n in range(3)]}
    )
    response = resource.batch_get_item(RequestItems={orders_table.name: {"Keys": [{"customer": "ann", "placed": 2}]}})
    assert response["Responses"][orders_table.name] == [{"customer": "ann", "placed": 2}]
