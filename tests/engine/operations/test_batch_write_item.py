"""BatchWriteItem: puts and deletes over tables in one commit, their cost, refusals."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.table_making import create_plain_and_indexed

from keyplan.engine.engine import Engine
from keyplan.errors import ResourceNotFoundError, ServiceError, ValidationError

KEY_MISMATCH = "The provided key element does not match the schema"
KIB = 1024


@pytest.fixture(autouse=True)
def tables(engine: Engine) -> None:
    """Create a plain table, and one with an index of each kind."""
    create_plain_and_indexed(engine, "KEYS_ONLY")


def item(**members: str) -> dict[str, Any]:
    return {name: {"S": value} for name, value in members.items()}


def put(**members: str) -> dict[str, Any]:
    return {"PutRequest": {"Item": item(**members)}}


def delete(**members: str) -> dict[str, Any]:
    return {"DeleteRequest": {"Key": item(**members)}}


def write(engine: Engine, items: dict[str, Any], **options: Any) -> dict[str, Any]:
    return engine.call("BatchWriteItem", {"RequestItems": items, **options})


def refusal(engine: Engine, items: dict[str, Any]) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        write(engine, items)
    return caught.value


def stored(engine: Engine, table: str, **key: str) -> dict[str, Any] | None:
    stored_item: dict[str, Any] | None = engine.call("GetItem", {"TableName": table, "Key": item(**key)}).get("Item")
    return stored_item


def of_size(name: str, size: int) -> dict[str, Any]:
    """Return a put of an item of exactly this many bytes."""
    return put(id=name, text="x" * (size - len("id") - len(name) - len("text")))


def test_puts_and_deletes_of_several_tables(engine: Engine) -> None:
    write(engine, {"plain": [put(id="old")]})
    response = write(
        engine,
        {"plain": [put(id="new", text="N"), delete(id="old"), delete(id="never")], "indexed": [put(id="i", at="1")]},
    )
    assert response == {"UnprocessedItems": {}}
    assert stored(engine, "plain", id="new") == item(id="new", text="N")
    assert stored(engine, "plain", id="old") is None
    assert stored(engine, "indexed", id="i", at="1") == item(id="i", at="1")


def test_index_entries_are_updated(engine: Engine) -> None:
    write(engine, {"indexed": [put(id="a", at="1", state="open"), put(id="b", at="1", state="open")]})
    write(engine, {"indexed": [put(id="a", at="1", state="done"), delete(id="b", at="1")]})
    for state, expected in (("open", 0), ("done", 1)):
        response = engine.call(
            "Query",
            {
                "TableName": "indexed",
                "IndexName": "by-state",
                "KeyConditionExpression": "#s = :s",
                "ExpressionAttributeNames": {"#s": "state"},
                "ExpressionAttributeValues": {":s": {"S": state}},
            },
        )
        assert response["Count"] == expected


def test_a_put_replaces_the_whole_item(engine: Engine) -> None:
    write(engine, {"plain": [put(id="a", x="1")]})
    write(engine, {"plain": [put(id="a", y="2")]})
    assert stored(engine, "plain", id="a") == item(id="a", y="2")


def test_units_count_the_larger_version_of_each_item(engine: Engine) -> None:
    write(engine, {"plain": [of_size("shrinks", 3 * KIB), of_size("goes", 2 * KIB + 1)]})
    batch = {"plain": [put(id="shrinks"), delete(id="goes"), delete(id="never"), of_size("comes", KIB)]}
    response = write(
        engine, {**batch, "indexed": [put(id="a", at="1", state="s", color="c")]}, ReturnConsumedCapacity="INDEXES"
    )
    assert response["ConsumedCapacity"] == [
        {"TableName": "plain", "CapacityUnits": 8.0, "Table": {"CapacityUnits": 8.0}},
        {
            "TableName": "indexed",
            "CapacityUnits": 3.0,
            "Table": {"CapacityUnits": 1.0},
            "LocalSecondaryIndexes": {"by-color": {"CapacityUnits": 1.0}},
            "GlobalSecondaryIndexes": {"by-state": {"CapacityUnits": 1.0}},
        },
    ]


def test_metrics_name_each_collection_once(engine: Engine) -> None:
    batch = {"indexed": [put(id="a", at="1"), put(id="a", at="2"), delete(id="b", at="1")], "plain": [put(id="p")]}
    response = write(engine, batch, ReturnItemCollectionMetrics="SIZE")
    assert response["ItemCollectionMetrics"] == {
        "indexed": [
            {"ItemCollectionKey": item(id="a"), "SizeEstimateRangeGB": [0.0, 1.0]},
            {"ItemCollectionKey": item(id="b"), "SizeEstimateRangeGB": [0.0, 1.0]},
        ]
    }


def test_a_stream_gets_a_record_for_each_real_change(engine: Engine) -> None:
    engine.call(
        "CreateTable",
        {
            "TableName": "streamed",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    write(engine, {"streamed": [put(id="a"), put(id="b")]})
    write(engine, {"streamed": [put(id="a"), delete(id="b"), delete(id="never")]})
    table = engine.database.table("streamed")
    assert table.stream is not None
    records = [
        record
        for shard in range(table.stream.shards)
        for record in engine.store.view().records(table.stream.log, shard, 0, 100)
    ]
    assert len(records) == 3


@pytest.mark.parametrize("repeated", [delete(id="a"), put(id="a", more="x")])
def test_two_writes_of_one_item_are_rejected(engine: Engine, repeated: dict[str, Any]) -> None:
    error = refusal(engine, {"plain": [put(id="a"), repeated]})
    assert isinstance(error, ValidationError)
    assert error.message == "Provided list of item keys contains duplicates"
    assert stored(engine, "plain", id="a") is None


def test_two_names_of_one_table_do_not_hide_a_duplicate(engine: Engine) -> None:
    arn = "arn:aws:dynamodb:us-east-1:123456789012:table/plain"
    assert "duplicates" in refusal(engine, {"plain": [put(id="a")], arn: [delete(id="a")]}).message


@pytest.mark.parametrize(
    ("request_item", "message"),
    [
        ({"PutRequest": {"Item": {"id": {"N": "5"}}}}, KEY_MISMATCH),
        ({"PutRequest": {"Item": {"id": {"L": [{"S": "x"}]}}}}, KEY_MISMATCH),
        ({"PutRequest": {"Item": {"other": {"S": "x"}}}}, KEY_MISMATCH),
        ({"PutRequest": {"Item": {}}}, KEY_MISMATCH),
        ({"DeleteRequest": {"Key": {"other": {"S": "x"}}}}, KEY_MISMATCH),
        ({"DeleteRequest": {"Key": {"id": {"S": "x"}, "other": {"S": "x"}}}}, KEY_MISMATCH),
        (
            {"PutRequest": {"Item": {"id": {"S": ""}}}},
            (
                "One or more parameter values are not valid. The AttributeValue for a key attribute "
                "cannot contain an empty string value. Key: id"
            ),
        ),
        (
            {"PutRequest": {"Item": {"id": {"S": "x" * 2049}}}},
            (
                "One or more parameter values were invalid: "
                "Size of hashkey has exceeded the maximum size limit of2048 bytes"
            ),
        ),
        (
            {"PutRequest": {"Item": {"id": {"S": "a"}, "n": {"N": "abc"}}}},
            "The parameter cannot be converted to a numeric value: abc",
        ),
        (of_size("large", 400 * KIB + 1), "Item size has exceeded the maximum allowed size"),
    ],
)
def test_one_invalid_write_fails_the_batch(engine: Engine, request_item: dict[str, Any], message: str) -> None:
    error = refusal(engine, {"plain": [put(id="good"), request_item]})
    assert isinstance(error, ValidationError)
    assert error.message == message
    assert stored(engine, "plain", id="good") is None


def test_the_largest_item_is_accepted(engine: Engine) -> None:
    write(engine, {"plain": [of_size("large", 400 * KIB)]})
    assert stored(engine, "plain", id="large") is not None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            {"N": "5"},
            (
                "One or more parameter values were invalid: "
                "Type mismatch for Index Key state Expected: S Actual: N IndexName: by-state"
            ),
        ),
        (
            {"S": ""},
            (
                "One or more parameter values are not valid. A value specified for a secondary index key is not "
                "supported. The AttributeValue for a key attribute cannot contain an empty string value. "
                "IndexName: by-state, IndexKey: state"
            ),
        ),
    ],
)
def test_index_keys_are_checked(engine: Engine, value: dict[str, Any], message: str) -> None:
    bad = {"PutRequest": {"Item": {**item(id="a", at="1"), "state": value}}}
    assert refusal(engine, {"indexed": [bad]}).message == message


def test_sizes_are_checked_before_tables_and_tables_before_keys(engine: Engine) -> None:
    too_large = refusal(engine, {"nowhere": [of_size("a", 400 * KIB + 1)]})
    assert too_large.message == "Item size has exceeded the maximum allowed size"
    missing = refusal(engine, {"plain": [put(other="x")], "nowhere": [put(id="a")]})
    assert isinstance(missing, ResourceNotFoundError)
    assert missing.message == "Requested resource not found"
