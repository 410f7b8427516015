"""TransactGetItems: items of several tables in one snapshot, in order."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from keyplan.engine.engine import Engine
from keyplan.errors import ResourceNotFoundError, ServiceError, TransactionCanceledError, ValidationError

KIB = 1024


@pytest.fixture(autouse=True)
def tables(engine: Engine) -> None:
    """Create two tables of the same shape."""
    for name in ("notes", "users"):
        engine.call(
            "CreateTable",
            {
                "TableName": name,
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )


def put(engine: Engine, table: str, name: str, size: int) -> None:
    """Store an item of exactly this many bytes."""
    text = "x" * (size - len("id") - len(name) - len("text"))
    engine.call("PutItem", {"TableName": table, "Item": {"id": {"S": name}, "text": {"S": text}}})


def get(table: str, name: str, **options: Any) -> dict[str, Any]:
    return {"Get": {"TableName": table, "Key": {"id": {"S": name}}, **options}}


def read(engine: Engine, *gets: dict[str, Any], **options: Any) -> dict[str, Any]:
    return engine.call("TransactGetItems", {"TransactItems": list(gets), **options})


def refusal(engine: Engine, *gets: dict[str, Any]) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        read(engine, *gets)
    return caught.value


def test_responses_are_in_the_order_of_the_request(engine: Engine) -> None:
    put(engine, "notes", "a", 20)
    put(engine, "users", "a", 30)
    answer = read(engine, get("users", "a"), get("notes", "gone"), get("notes", "a", ProjectionExpression="id"))
    assert list(answer) == ["Responses"]
    assert [len(str(response.get("Item", {}))) > 2 for response in answer["Responses"]] == [True, False, True]
    assert answer["Responses"][1:] == [{}, {"Item": {"id": {"S": "a"}}}]


def test_a_projection_without_matches_returns_an_empty_response(engine: Engine) -> None:
    put(engine, "notes", "a", 20)
    projected = get("notes", "a", ProjectionExpression="#n", ExpressionAttributeNames={"#n": "nothing"})
    assert read(engine, projected)["Responses"] == [{}]


def test_the_wire_form_has_the_same_content(engine: Engine) -> None:
    put(engine, "notes", "a", 20)
    request = {"TransactItems": [get("notes", "a"), get("notes", "b")]}
    assert orjson.loads(orjson.dumps(engine.call_wire("TransactGetItems", request))) == engine.call(
        "TransactGetItems", request
    )


def test_units_are_doubled_and_listed_by_table(engine: Engine) -> None:
    put(engine, "notes", "large", 8 * KIB)
    put(engine, "notes", "small", 100)
    gets = [get("notes", "large"), get("users", "gone"), get("notes", "small")]
    assert read(engine, *gets, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"] == [
        {"TableName": "notes", "CapacityUnits": 6.0, "ReadCapacityUnits": 6.0},
        {"TableName": "users", "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0},
    ]
    detailed = read(engine, gets[0], ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
    assert detailed == [
        {
            "TableName": "notes",
            "CapacityUnits": 4.0,
            "ReadCapacityUnits": 4.0,
            "Table": {"CapacityUnits": 4.0, "ReadCapacityUnits": 4.0},
        }
    ]


def test_a_duplicate_item_is_rejected(engine: Engine) -> None:
    error = refusal(engine, get("notes", "a"), get("notes", "a"))
    assert isinstance(error, ValidationError)
    assert error.message == "Transaction request cannot include multiple operations on one item"
    read(engine, get("notes", "a"), get("users", "a"))


@pytest.mark.parametrize("key", [{}, {"id": {"N": "1"}}, {"id": {"S": "a"}, "more": {"S": "b"}}])
def test_an_invalid_key_cancels_the_transaction(engine: Engine, key: dict[str, Any]) -> None:
    error = refusal(engine, get("notes", "a"), {"Get": {"TableName": "notes", "Key": key}}, get("users", "a"))
    assert isinstance(error, TransactionCanceledError)
    assert error.message == (
        "Transaction cancelled, please refer cancellation reasons for specific reasons [None, ValidationError, None]"
    )
    assert error.members["CancellationReasons"] == [
        {"Code": "None"},
        {"Code": "ValidationError", "Message": "The provided key element does not match the schema"},
        {"Code": "None"},
    ]


def test_an_empty_key_is_rejected(engine: Engine) -> None:
    error = refusal(engine, get("notes", ""))
    assert isinstance(error, ValidationError)
    assert error.message.endswith("cannot contain an empty string value. Key: id")


def test_expressions_are_checked_before_tables_and_tables_before_keys(engine: Engine) -> None:
    syntax = refusal(engine, get("nowhere", "a"), get("notes", "a", ProjectionExpression="!!!"))
    assert syntax.message == 'Invalid ProjectionExpression: Syntax error; token: "!", near: "!!"'
    missing = refusal(engine, {"Get": {"TableName": "notes", "Key": {}}}, get("nowhere", "a"))
    assert isinstance(missing, ResourceNotFoundError)
    assert missing.message == "Requested resource not found"


def test_more_than_4_mb_are_rejected(engine: Engine) -> None:
    for number in range(11):
        put(engine, "notes", f"n{number:02}", 400 * KIB)
    gets = [get("notes", f"n{number:02}") for number in range(11)]
    assert len(read(engine, *gets[:10])["Responses"]) == 10
    assert isinstance(refusal(engine, *gets), ValidationError)
