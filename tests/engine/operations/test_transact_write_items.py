"""TransactWriteItems: all or none, every reason in order, cost, immediate refusals."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.table_making import create_plain_and_indexed

from keyplan import limits
from keyplan.engine.engine import Engine
from keyplan.engine.items.keys import partition_bytes_of
from keyplan.errors import ResourceNotFoundError, ServiceError, TransactionCanceledError, ValidationError

KIB = 1024
KEY_MISMATCH = "The provided key element does not match the schema"


@pytest.fixture(autouse=True)
def tables(engine: Engine) -> None:
    """Create a plain table, and one with an index of each kind."""
    create_plain_and_indexed(
        engine, "ALL", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    )


def item(**members: str) -> dict[str, Any]:
    return {name: {"S": value} for name, value in members.items()}


def of_size(name: str, size: int) -> dict[str, Any]:
    """Return an item of exactly this many bytes."""
    return item(id=name, text="x" * (size - len("id") - len(name) - len("text")))


def put(the_item: dict[str, Any], table: str = "plain", **options: Any) -> dict[str, Any]:
    return {"Put": {"TableName": table, "Item": the_item, **options}}


def update(key: dict[str, Any], expression: str, table: str = "plain", **options: Any) -> dict[str, Any]:
    values = {f":{name}": options.pop(name) for name in ("v", "w") if name in options}
    inputs = {"ExpressionAttributeValues": values} if values else {}
    return {"Update": {"TableName": table, "Key": key, "UpdateExpression": expression, **inputs, **options}}


def delete(key: dict[str, Any], table: str = "plain", **options: Any) -> dict[str, Any]:
    return {"Delete": {"TableName": table, "Key": key, **options}}


def check(key: dict[str, Any], condition: str, table: str = "plain", **options: Any) -> dict[str, Any]:
    return {"ConditionCheck": {"TableName": table, "Key": key, "ConditionExpression": condition, **options}}


def transact(engine: Engine, *actions: dict[str, Any], **options: Any) -> dict[str, Any]:
    return engine.call("TransactWriteItems", {"TransactItems": list(actions), **options})


def refusal(engine: Engine, *actions: dict[str, Any]) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        transact(engine, *actions)
    return caught.value


def cancellation(engine: Engine, *actions: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the reasons of a transaction that must be cancelled."""
    error = refusal(engine, *actions)
    assert isinstance(error, TransactionCanceledError)
    reasons: list[dict[str, Any]] = error.members["CancellationReasons"]
    codes = ", ".join(reason["Code"] for reason in reasons)
    assert error.message == (f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]")
    assert len(reasons) == len(actions)
    return reasons


def outright(engine: Engine, *actions: dict[str, Any]) -> str:
    """Return the message of a transaction that must be refused before it begins."""
    error = refusal(engine, *actions)
    assert isinstance(error, ValidationError)
    return error.message


def stored(engine: Engine, the_key: dict[str, Any], table: str = "plain") -> dict[str, Any] | None:
    stored_item: dict[str, Any] | None = engine.call("GetItem", {"TableName": table, "Key": the_key}).get("Item")
    return stored_item


def units(engine: Engine, *actions: dict[str, Any], detail: str = "TOTAL") -> list[dict[str, Any]]:
    capacity: list[dict[str, Any]] = transact(engine, *actions, ReturnConsumedCapacity=detail)["ConsumedCapacity"]
    return capacity


# Effects.


def test_all_four_actions_are_applied_to_two_tables(engine: Engine) -> None:
    transact(engine, put(item(id="changed", n="1")), put(item(id="gone")), put(item(id="seen")))
    response = transact(
        engine,
        put(item(id="new")),
        update(item(id="changed"), "SET n = :v", v={"S": "2"}),
        delete(item(id="gone")),
        check(item(id="seen"), "attribute_exists(id)"),
        put(item(id="i", at="1"), "indexed"),
    )
    assert response == {}
    assert stored(engine, item(id="new")) == item(id="new")
    assert stored(engine, item(id="changed")) == item(id="changed", n="2")
    assert stored(engine, item(id="gone")) is None
    assert stored(engine, item(id="seen")) == item(id="seen")
    assert stored(engine, item(id="i", at="1"), "indexed") == item(id="i", at="1")


def test_an_update_of_a_missing_item_creates_it(engine: Engine) -> None:
    transact(engine, update(item(id="a"), "ADD n :v", v={"N": "1"}, ConditionExpression="attribute_not_exists(id)"))
    assert stored(engine, item(id="a")) == {"id": {"S": "a"}, "n": {"N": "1"}}


def test_a_hundred_actions_are_accepted(engine: Engine) -> None:
    transact(engine, *(put(item(id=str(number))) for number in range(100)))
    assert engine.call("Scan", {"TableName": "plain", "Select": "COUNT"})["Count"] == 100


def test_the_stream_gets_one_record_for_each_change(engine: Engine) -> None:
    transact(engine, put(item(id="a", at="1"), "indexed"), put(item(id="a", at="2"), "indexed"))
    transact(
        engine,
        put(item(id="a", at="1"), "indexed"),
        delete(item(id="a", at="2"), "indexed"),
        delete(item(id="a", at="3"), "indexed"),
        check(item(id="a", at="4"), "attribute_not_exists(id)", "indexed"),
    )
    stream = engine.database.table("indexed").stream
    assert stream is not None
    view = engine.store.view()
    assert sum(len(view.records(stream.log, shard, 0, 100)) for shard in range(stream.shards)) == 3


# Conditions.


def test_every_failed_condition_is_reported_and_nothing_is_written(engine: Engine) -> None:
    transact(engine, put(item(id="there", n="1")))
    reasons = cancellation(
        engine,
        put(item(id="new")),
        put(item(id="there"), ConditionExpression="attribute_not_exists(id)"),
        update(item(id="there2"), "SET n = :v", v={"S": "2"}, ConditionExpression="attribute_exists(id)"),
        delete(item(id="other"), ConditionExpression="n = :v", ExpressionAttributeValues={":v": {"S": "1"}}),
        check(item(id="nowhere"), "attribute_exists(id)"),
        check(item(id="nowhere2"), "attribute_not_exists(id)"),
    )
    failed = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
    assert reasons == [{"Code": "None"}, failed, failed, failed, failed, {"Code": "None"}]
    assert stored(engine, item(id="new")) is None
    assert stored(engine, item(id="there2")) is None


def test_a_failed_condition_returns_the_item_only_to_the_action_that_requested_it(engine: Engine) -> None:
    existing = item(id="there", n="1")
    transact(engine, put(existing), put(item(id="too")))
    fails = {"ConditionExpression": "attribute_not_exists(id)"}
    reasons = cancellation(
        engine,
        put(item(id="there"), **fails, ReturnValuesOnConditionCheckFailure="ALL_OLD"),
        delete(item(id="too"), **fails, ReturnValuesOnConditionCheckFailure="NONE"),
        check(item(id="gone"), "attribute_exists(id)", ReturnValuesOnConditionCheckFailure="ALL_OLD"),
    )
    assert [reason.get("Item") for reason in reasons] == [existing, None, None]


# Cancellations and immediate refusals.


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            put({"id": {"N": "5"}}),
            "One or more parameter values were invalid: Type mismatch for key id expected: S actual: N",
        ),
        (
            put({"id": {"L": [{"S": "x"}]}}),
            "One or more parameter values were invalid: Type mismatch for key id expected: S actual: L",
        ),
        (put({"n": {"S": "5"}}), "One or more parameter values were invalid: Missing the key id in the item"),
        (update({"id": {"N": "5"}}, "SET n = :v", v={"S": "x"}), KEY_MISMATCH),
        (delete({"id": {"L": []}}), KEY_MISMATCH),
        (check({"other": {"S": "x"}}, "attribute_not_exists(id)"), KEY_MISMATCH),
        (
            update(item(id="a"), "SET id = :v", v={"S": "x"}),
            "One or more parameter values were invalid: Cannot update attribute id. This attribute is part of the key",
        ),
        (
            put({**item(id="a", at="1"), "color": {"N": "5"}, "state": {"S": "x"}}, "indexed"),
            (
                "One or more parameter values were invalid: "
                "Type mismatch for Index Key color Expected: S Actual: N IndexName: by-color"
            ),
        ),
        (
            update(
                item(id="a", at="1"), "SET #s = :v", "indexed", v={"N": "5"}, ExpressionAttributeNames={"#s": "state"}
            ),
            (
                "One or more parameter values were invalid: "
                "Type mismatch for Index Key state Expected: S Actual: N IndexName: by-state"
            ),
        ),
        (
            update(item(id="there"), "SET n = n + :v", v={"S": "x"}),
            (
                "Invalid UpdateExpression: Incorrect operand type for operator or function; "
                "operator or function: +, operand type: S"
            ),
        ),
        (
            update(item(id="there"), "SET m = n + :v", v={"N": "1"}),
            "An operand in the update expression has an incorrect data type",
        ),
        (
            update(item(id="there"), "SET m = nothing"),
            "The provided expression refers to an attribute that does not exist in the item",
        ),
        (
            update(item(id="there"), "SET n.x = :v", v={"N": "1"}),
            "The document path provided in the update expression is invalid for update",
        ),
        (
            update(item(id="longer-than-the-charge"), "SET n = :v", v={"S": "x" * (400 * KIB - 23)}),
            "Item size to update has exceeded the maximum allowed size",
        ),
    ],
)
def test_an_invalid_action_cancels_the_transaction(engine: Engine, action: dict[str, Any], message: str) -> None:
    transact(engine, put(item(id="there", n="text")))
    if message.startswith("Invalid UpdateExpression"):
        assert outright(engine, action) == message
        return
    reasons = cancellation(engine, put(item(id="good")), action, put(item(id="better")))
    assert reasons == [{"Code": "None"}, {"Code": "ValidationError", "Message": message}, {"Code": "None"}]
    assert stored(engine, item(id="good")) is None


def test_only_the_first_invalid_key_is_reported_and_no_condition(engine: Engine) -> None:
    reasons = cancellation(
        engine,
        put({"id": {"N": "7"}}),
        put({"id": {"N": "8"}}),
        put(item(id="a"), ConditionExpression="attribute_exists(id)"),
    )
    assert [reason["Code"] for reason in reasons] == ["ValidationError", "None", "None"]


def test_failures_of_stored_items_are_reported_next_to_conditions(engine: Engine) -> None:
    reasons = cancellation(
        engine,
        check(item(id="a"), "attribute_exists(id)"),
        update(item(id="b"), "SET m = nothing"),
    )
    assert [reason["Code"] for reason in reasons] == ["ConditionalCheckFailed", "ValidationError"]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            put(item(id="")),
            (
                "One or more parameter values are not valid. The AttributeValue for a key attribute "
                "cannot contain an empty string value. Key: id"
            ),
        ),
        (
            check(item(id=""), "attribute_not_exists(id)"),
            (
                "One or more parameter values are not valid. The AttributeValue for a key attribute "
                "cannot contain an empty string value. Key: id"
            ),
        ),
        (
            put(item(id="a", at="1", state=""), "indexed"),
            (
                "One or more parameter values are not valid. A value specified for a secondary index key is not "
                "supported. The AttributeValue for a key attribute cannot contain an empty string value. "
                "IndexName: by-state, IndexKey: state"
            ),
        ),
        (
            update(item(id="a", at="1"), "SET color = :v", "indexed", v={"S": ""}),
            (
                "One or more parameter values are not valid. The update expression attempted to update a secondary "
                "index key to a value that is not supported. The AttributeValue for a key attribute cannot contain an "
                "empty string value."
            ),
        ),
        (put(of_size("large", 400 * KIB + 1)), "Item size has exceeded the maximum allowed size"),
        (put({"id": {"S": "a"}, "n": {"N": "abc"}}), "The parameter cannot be converted to a numeric value: abc"),
        (
            put(item(id="a"), ConditionExpression="attribute_exists(id)", ExpressionAttributeValues={":v": {"S": "x"}}),
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}",
        ),
        (
            put(item(id="a"), ConditionExpression="attribute_not_exists("),
            'Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "("',
        ),
        (delete(item(id="good")), "Transaction request cannot include multiple operations on one item"),
        (
            check(item(id="good"), "attribute_not_exists(id)"),
            "Transaction request cannot include multiple operations on one item",
        ),
    ],
)
def test_an_invalid_request_is_rejected_before_any_action(engine: Engine, action: dict[str, Any], message: str) -> None:
    assert outright(engine, put(item(id="good")), action) == message
    assert stored(engine, item(id="good")) is None


def test_actions_are_checked_in_order_and_before_any_table(engine: Engine) -> None:
    bad_syntax = check(item(id="a"), "attribute_not_exists(")
    too_large = put(of_size("large", 400 * KIB + 1))
    missing = put(item(id="a"), "nowhere")
    assert outright(engine, missing, bad_syntax).startswith("Invalid ConditionExpression")
    assert outright(engine, bad_syntax, too_large).startswith("Invalid ConditionExpression")
    assert outright(engine, too_large, bad_syntax).startswith("Item size")


def test_a_missing_table_is_rejected(engine: Engine) -> None:
    error = refusal(engine, put({"id": {"N": "5"}}), put(item(id="a"), "nowhere"))
    assert isinstance(error, ResourceNotFoundError)
    assert error.message == "Requested resource not found"


def test_a_request_of_more_than_4_mb_is_rejected(engine: Engine) -> None:
    fits = [put(of_size(f"n{number}", 400 * KIB)) for number in range(10)]
    assert "size cannot exceed" in outright(engine, *fits, put(of_size("n10", 100 * KIB)))
    transact(engine, *fits)


def test_deleted_items_do_not_count_toward_the_4_mb(engine: Engine) -> None:
    for number in range(12):
        transact(engine, put(of_size(f"n{number}", 400 * KIB)))
    transact(engine, *(delete(item(id=f"n{number}")) for number in range(12)))
    assert stored(engine, item(id="n0")) is None


def test_an_update_counts_its_written_values_before_anything_is_read(engine: Engine) -> None:
    """Charge 22 bytes for its one action; the resulting item is checked later, and cancels."""
    at_most = {"S": "x" * (400 * KIB - 23)}
    transact(engine, update(item(id="a"), "SET n = :v", v=at_most))
    assert stored(engine, item(id="a")) is not None
    unmet = {"ConditionExpression": "attribute_exists(n)"}
    too_much = update(item(id="b"), "SET n = :v", v={"S": at_most["S"] + "x"}, **unmet)
    assert (
        outright(engine, put(item(id="good")), too_much) == "Item size to update has exceeded the maximum allowed size"
    )


def test_a_full_item_collection_cancels_the_transaction(engine: Engine) -> None:
    table = engine.database.table("indexed")
    assert table.collections is not None
    tree, partition = table.collections, partition_bytes_of(table.key.of_key(item(id="full", at="1")))
    engine.store.write(lambda transaction: transaction.put(tree, partition, limits.ITEM_COLLECTION_BYTES, b""))
    reasons = cancellation(engine, put(item(id="good")), put(item(id="full", at="1"), "indexed"))
    assert reasons == [
        {"Code": "None"},
        {"Code": "ItemCollectionSizeLimitExceeded", "Message": "Collection size exceeded."},
    ]
    assert stored(engine, item(id="good")) is None


# Cost.


def test_a_write_of_3_kb_costs_six_units(engine: Engine) -> None:
    assert units(engine, put(of_size("a", 3 * KIB)), detail="INDEXES") == [
        {
            "TableName": "plain",
            "CapacityUnits": 6.0,
            "WriteCapacityUnits": 6.0,
            "Table": {"CapacityUnits": 6.0, "WriteCapacityUnits": 6.0},
        }
    ]


def test_units_count_the_larger_version(engine: Engine) -> None:
    transact(engine, put(of_size("a", 3 * KIB)), put(of_size("b", 3 * KIB)), put(of_size("c", 2 * KIB)))
    actions = [
        put(item(id="a")),
        update(item(id="b"), "REMOVE #t", ExpressionAttributeNames={"#t": "text"}),
        delete(item(id="c")),
        delete(item(id="never")),
    ]
    assert units(engine, *actions) == [{"TableName": "plain", "CapacityUnits": 18.0, "WriteCapacityUnits": 18.0}]


def test_indexes_cost_single_units(engine: Engine) -> None:
    (spent,) = units(engine, put(item(id="a", at="1", state="s", color="c"), "indexed"), detail="INDEXES")
    unit = {"CapacityUnits": 1.0, "WriteCapacityUnits": 1.0}
    assert spent == {
        "TableName": "indexed",
        "CapacityUnits": 4.0,
        "WriteCapacityUnits": 4.0,
        "Table": {"CapacityUnits": 2.0, "WriteCapacityUnits": 2.0},
        "LocalSecondaryIndexes": {"by-color": unit},
        "GlobalSecondaryIndexes": {"by-state": unit},
    }


def test_a_check_costs_as_much_as_a_write_of_its_item(engine: Engine) -> None:
    transact(engine, put(of_size("a", 3 * KIB)))
    spent = units(
        engine,
        put(item(id="i", at="1"), "indexed"),
        check(item(id="a"), "attribute_exists(id)"),
        check(item(id="gone"), "attribute_not_exists(id)"),
    )
    assert spent == [
        {"TableName": "indexed", "CapacityUnits": 2.0, "WriteCapacityUnits": 2.0},
        {"TableName": "plain", "CapacityUnits": 8.0, "WriteCapacityUnits": 8.0},
    ]


def test_a_true_condition_costs_nothing(engine: Engine) -> None:
    assert units(engine, put(item(id="a"), ConditionExpression="attribute_not_exists(id)")) == [
        {"TableName": "plain", "CapacityUnits": 2.0, "WriteCapacityUnits": 2.0}
    ]


def test_metrics_name_each_written_collection(engine: Engine) -> None:
    response = transact(
        engine,
        put(item(id="a", at="1"), "indexed"),
        delete(item(id="a", at="2"), "indexed"),
        check(item(id="b", at="1"), "attribute_not_exists(id)", "indexed"),
        put(item(id="p")),
        ReturnItemCollectionMetrics="SIZE",
    )
    assert response == {
        "ItemCollectionMetrics": {"indexed": [{"ItemCollectionKey": item(id="a"), "SizeEstimateRangeGB": [0.0, 1.0]}]}
    }
