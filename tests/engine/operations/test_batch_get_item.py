"""BatchGetItem: items by key over tables, unprocessed keys, cost, refusals."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from keyplan.engine.engine import Engine
from keyplan.errors import ResourceNotFoundError, ServiceError, ValidationError

ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/notes"


@pytest.fixture(autouse=True)
def tables(engine: Engine) -> None:
    """Create two tables: notes by id, lines by page and number."""
    create(engine, "notes", id="S")
    create(engine, "lines", page="S", number="N")


def create(engine: Engine, name: str, **key: str) -> None:
    roles = zip(key, ("HASH", "RANGE"), strict=False)
    engine.call(
        "CreateTable",
        {
            "TableName": name,
            "AttributeDefinitions": [
                {"AttributeName": attribute, "AttributeType": kind} for attribute, kind in key.items()
            ],
            "KeySchema": [{"AttributeName": attribute, "KeyType": role} for attribute, role in roles],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )


def put(engine: Engine, table: str, **item: Any) -> dict[str, Any]:
    values = {name: {"N": str(value)} if isinstance(value, int) else {"S": value} for name, value in item.items()}
    engine.call("PutItem", {"TableName": table, "Item": values})
    return values


def get(engine: Engine, items: dict[str, Any], **options: Any) -> dict[str, Any]:
    return engine.call("BatchGetItem", {"RequestItems": items, **options})


def note(text: str) -> dict[str, Any]:
    return {"id": {"S": text}}


def line(page: str, number: int) -> dict[str, Any]:
    return {"page": {"S": page}, "number": {"N": str(number)}}


def sized(name: str, size: int) -> dict[str, str]:
    """Return members of a note of exactly this many bytes."""
    return {"id": name, "text": "x" * (size - len("id") - len(name) - len("text"))}


def refusal(engine: Engine, items: dict[str, Any]) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        get(engine, items)
    return caught.value


def test_existing_items_are_returned_by_table(engine: Engine) -> None:
    first, second = put(engine, "notes", id="a", text="A"), put(engine, "notes", id="b")
    third = put(engine, "lines", page="p", number=7)
    response = get(engine, {"notes": {"Keys": [note("a"), note("gone"), note("b")]}, "lines": {"Keys": [line("p", 7)]}})
    assert sorted(response["Responses"]["notes"], key=str) == sorted([first, second], key=str)
    assert response == {
        "Responses": {"notes": response["Responses"]["notes"], "lines": [third]},
        "UnprocessedKeys": {},
    }


def test_a_table_without_hits_has_an_empty_list(engine: Engine) -> None:
    assert get(engine, {"notes": {"Keys": [note("gone")]}})["Responses"] == {"notes": []}


def test_the_wire_form_embeds_stored_bytes(engine: Engine) -> None:
    put(engine, "notes", id="a", text="A")
    response = engine.call_wire("BatchGetItem", {"RequestItems": {"notes": {"Keys": [note("a")]}}})
    assert orjson.loads(orjson.dumps(response)) == get(engine, {"notes": {"Keys": [note("a")]}})


def test_a_table_may_be_named_by_arn_in_request_and_response(engine: Engine) -> None:
    put(engine, "notes", id="a")
    assert get(engine, {ARN: {"Keys": [note("a")]}})["Responses"] == {ARN: [note("a")]}


@pytest.mark.parametrize(
    "projection",
    [
        {"ProjectionExpression": "#t", "ExpressionAttributeNames": {"#t": "text"}},
        {"AttributesToGet": ["text"]},
    ],
)
def test_a_projection_applies_per_table_and_may_return_empty_items(engine: Engine, projection: dict[str, Any]) -> None:
    put(engine, "notes", id="a", text="A", other="O")
    put(engine, "notes", id="b")
    notes = get(engine, {"notes": {"Keys": [note("a"), note("b")], **projection}})["Responses"]["notes"]
    assert notes == [{"text": {"S": "A"}}, {}]


@pytest.mark.parametrize(("consistent", "units"), [(False, 2.0), (True, 4.0)])
def test_each_item_is_rounded_separately(engine: Engine, consistent: bool, units: float) -> None:
    put(engine, "notes", **sized("large", 4097))
    put(engine, "notes", **sized("small", 100))
    keys = [note("large"), note("small"), note("gone")]
    items = {"notes": {"Keys": keys, "ConsistentRead": consistent}, "lines": {"Keys": [line("p", 1)]}}
    total = get(engine, items, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    assert total == [{"TableName": "notes", "CapacityUnits": units}, {"TableName": "lines", "CapacityUnits": 0.5}]
    detailed = get(engine, items, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
    assert detailed[0] == {"TableName": "notes", "CapacityUnits": units, "Table": {"CapacityUnits": units}}


def test_keys_beyond_16_mb_are_returned_as_in_the_request(engine: Engine) -> None:
    for number in range(42):
        put(engine, "notes", **sized(f"n{number:02}", 400 * 1024))
    block = {
        "Keys": [note(f"n{number:02}") for number in range(42)],
        "ConsistentRead": True,
        "ProjectionExpression": "#i",
        "ExpressionAttributeNames": {"#i": "id"},
    }
    items = {"notes": block, "lines": {"Keys": [line("p", 1)]}}
    response = get(engine, items, ReturnConsumedCapacity="TOTAL")
    assert len(response["Responses"]["notes"]) == 40
    assert response["UnprocessedKeys"] == {
        "notes": {**block, "Keys": [note("n40"), note("n41")]},
        "lines": {"Keys": [line("p", 1)]},
    }
    assert response["ConsumedCapacity"][0]["CapacityUnits"] == 40 * 100
    again = get(engine, response["UnprocessedKeys"])
    assert again["Responses"]["notes"] == [note("n40"), note("n41")]
    assert again["UnprocessedKeys"] == {}


def test_a_duplicate_key_is_rejected_before_the_table_is_looked_up(engine: Engine) -> None:
    twice = [line("p", 1), {"number": {"N": "1.0"}, "page": {"S": "p"}}]
    for table in ("lines", "nowhere"):
        error = refusal(engine, {table: {"Keys": twice}})
        assert isinstance(error, ValidationError)
        assert error.message == "Provided list of item keys contains duplicates"


def test_a_missing_table_is_rejected(engine: Engine) -> None:
    error = refusal(engine, {"notes": {"Keys": [note("a")]}, "nowhere": {"Keys": [note("a")]}})
    assert isinstance(error, ResourceNotFoundError)
    assert error.message == "Requested resource not found"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ({}, "The provided key element does not match the schema"),
        ({"id": {"N": "1"}}, "The provided key element does not match the schema"),
        ({"id": {"S": "a"}, "more": {"S": "b"}}, "The provided key element does not match the schema"),
        (
            {"id": {"S": ""}},
            (
                "One or more parameter values are not valid. The AttributeValue for a key attribute "
                "cannot contain an empty string value. Key: id"
            ),
        ),
        (
            {"id": {"S": "x" * 2049}},
            (
                "One or more parameter values were invalid: "
                "Size of hashkey has exceeded the maximum size limit of2048 bytes"
            ),
        ),
    ],
)
def test_invalid_keys_fail_the_batch(engine: Engine, key: dict[str, Any], message: str) -> None:
    error = refusal(engine, {"notes": {"Keys": [note("a"), key]}})
    assert isinstance(error, ValidationError)
    assert error.message == message


def test_an_invalid_projection_of_one_table_fails_the_batch(engine: Engine) -> None:
    items = {
        "notes": {"Keys": [note("a")], "ProjectionExpression": "a, a"},
        "lines": {"Keys": [line("p", 1)], "ProjectionExpression": "a"},
    }
    assert refusal(engine, items).message == (
        "Invalid ProjectionExpression: Two document paths overlap with each other; "
        "must remove or rewrite one of these paths; path one: [a], path two: [a]"
    )
