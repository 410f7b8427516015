"""Client request tokens: a transaction repeated within ten minutes is answered, not applied."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.engine.items import transactions
from keyplan.engine.store import statements
from keyplan.errors import IdempotentParameterMismatchError, TransactionCanceledError

KIB = 1024


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def engine(clock: ManualClock) -> Iterator[Engine]:
    with Engine.memory(clock=clock) as opened:
        create(opened)
        yield opened


def create(engine: Engine) -> None:
    engine.call(
        "CreateTable",
        {
            "TableName": "counters",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )


def count(engine: Engine, token: str | None, *, by: str = "1", **options: Any) -> dict[str, Any]:
    update = {
        "TableName": "counters",
        "Key": {"id": {"S": "a"}},
        "UpdateExpression": "ADD n :n",
        "ExpressionAttributeValues": {":n": {"N": by}},
    }
    values = {} if token is None else {"ClientRequestToken": token}
    return engine.call("TransactWriteItems", {"TransactItems": [{"Update": update}], **values, **options})


def value(engine: Engine) -> str:
    item: str = engine.call("GetItem", {"TableName": "counters", "Key": {"id": {"S": "a"}}})["Item"]["n"]["N"]
    return item


def tokens(engine: Engine) -> int:
    """Return the number of rows in the tree of tokens: two for each token."""
    document = engine.store.view().document(transactions.DOCUMENT)
    assert document is not None
    return engine.store.view().totals(statements.tree(int(document)))[0]


def test_every_call_without_a_token_is_applied(engine: Engine) -> None:
    count(engine, None)
    count(engine, None)
    assert value(engine) == "2"


def test_calls_with_the_same_token_are_applied_once(engine: Engine) -> None:
    assert count(engine, "t") == {}
    assert count(engine, "t") == {}
    count(engine, "u")
    assert value(engine) == "2"


def test_a_token_is_valid_for_ten_minutes(engine: Engine, clock: ManualClock) -> None:
    count(engine, "t")
    clock.advance(599)
    count(engine, "t")
    assert value(engine) == "1"
    clock.advance(1)
    count(engine, "t")
    assert value(engine) == "2"
    clock.advance(599)
    count(engine, "t")
    assert value(engine) == "2"


def test_other_parameters_are_rejected_until_the_token_expires(engine: Engine, clock: ManualClock) -> None:
    count(engine, "t")
    with pytest.raises(IdempotentParameterMismatchError):
        count(engine, "t", by="2")
    with pytest.raises(IdempotentParameterMismatchError):
        count(engine, "t", ReturnConsumedCapacity="TOTAL")
    assert value(engine) == "1"
    clock.advance(600)
    count(engine, "t", by="2")
    assert value(engine) == "3"


def test_the_order_of_members_does_not_change_the_parameters() -> None:
    first = {"ClientRequestToken": "t", "TransactItems": [{"Put": {"TableName": "a", "Item": {"x": {"B": b"\x00"}}}}]}
    other = {"TransactItems": [{"Put": {"Item": {"x": {"B": "AA=="}}, "TableName": "a"}}], "ClientRequestToken": "t"}
    assert transactions.token_of(first) == transactions.token_of(other)
    assert transactions.token_of({"TransactItems": []}) is None


def test_binary_types_do_not_change_the_parameters() -> None:
    tokens = {
        transactions.token_of({"ClientRequestToken": "t", "TransactItems": [{"B": content}]})
        for content in (b"abc", bytearray(b"abc"), memoryview(b"a-b-c")[::2])
    }
    assert len(tokens) == 1


def test_a_cancelled_transaction_leaves_its_token_unused(engine: Engine) -> None:
    check = {"TableName": "counters", "Key": {"id": {"S": "a"}}, "ConditionExpression": "attribute_exists(id)"}
    request = {"ClientRequestToken": "t", "TransactItems": [{"ConditionCheck": check}]}
    with pytest.raises(TransactionCanceledError):
        engine.call("TransactWriteItems", request)
    count(engine, None)
    assert engine.call("TransactWriteItems", request) == {}


def test_a_repeated_call_succeeds_even_if_its_condition_would_fail(engine: Engine) -> None:
    create = {"TableName": "counters", "Item": {"id": {"S": "b"}}, "ConditionExpression": "attribute_not_exists(id)"}
    request = {"ClientRequestToken": "t", "TransactItems": [{"Put": create}]}
    assert engine.call("TransactWriteItems", request) == engine.call("TransactWriteItems", request) == {}


def test_a_repeated_call_costs_a_transactional_read(engine: Engine) -> None:
    item = {"id": {"S": "b"}, "text": {"S": "x" * 1536}}
    request = {
        "ClientRequestToken": "t",
        "TransactItems": [{"Put": {"TableName": "counters", "Item": item}}],
        "ReturnConsumedCapacity": "INDEXES",
    }
    (first,) = engine.call("TransactWriteItems", request)["ConsumedCapacity"]
    (again,) = engine.call("TransactWriteItems", request)["ConsumedCapacity"]
    assert (first["WriteCapacityUnits"], "ReadCapacityUnits" in first) == (4.0, False)
    assert again == {
        "TableName": "counters",
        "CapacityUnits": 2.0,
        "ReadCapacityUnits": 2.0,
        "Table": {"CapacityUnits": 2.0, "ReadCapacityUnits": 2.0},
    }


SMALL, LARGE = ({"id": {"S": "b"}, "text": {"S": "x" * length}} for length in (1, 9000))
KEY = {"TableName": "counters", "Key": {"id": {"S": "b"}}}


@pytest.mark.parametrize(
    ("before", "action"),
    [
        (LARGE, {"Put": {"TableName": "counters", "Item": SMALL}}),
        (SMALL, {"Put": {"TableName": "counters", "Item": LARGE}}),
        (LARGE, {"Delete": KEY}),
        (LARGE, {"ConditionCheck": {**KEY, "ConditionExpression": "attribute_exists(id)"}}),
    ],
    ids=["shrinks", "grows", "goes", "stays"],
)
def test_a_repeated_call_reads_the_size_of_the_first_call(
    engine: Engine, before: dict[str, Any], action: dict[str, Any]
) -> None:
    """Charge the first call's size whatever has happened to the item since; figures recorded on the service."""
    engine.call("PutItem", {"TableName": "counters", "Item": before})
    request = {"ClientRequestToken": "t", "TransactItems": [action], "ReturnConsumedCapacity": "TOTAL"}
    (first,) = engine.call("TransactWriteItems", request)["ConsumedCapacity"]
    engine.call("PutItem", {"TableName": "counters", "Item": SMALL})
    (again,) = engine.call("TransactWriteItems", request)["ConsumedCapacity"]
    assert (first["WriteCapacityUnits"], again["ReadCapacityUnits"]) == (18.0, 6.0)


def test_expired_tokens_are_removed(engine: Engine, clock: ManualClock) -> None:
    for number in range(40):
        count(engine, f"old{number}")
    assert tokens(engine) == 80
    clock.advance(601)
    for number in range(20):
        count(engine, f"new{number}")
    assert tokens(engine) == 40


def test_a_token_reused_after_expiry_outlives_its_first_use(engine: Engine, clock: ManualClock) -> None:
    for number in range(9):
        count(engine, f"t{number}")
    clock.advance(601)
    count(engine, "t8")  # the removal of expired tokens has not reached it yet
    for number in range(5):
        count(engine, f"u{number}")
    before = value(engine)
    count(engine, "t8")
    assert value(engine) == before
    assert tokens(engine) == 12


def test_tokens_survive_a_restart_and_apply_to_every_engine(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with Engine.open(path) as first:
        create(first)
        count(first, "t")
        with Engine.open(path) as second:
            count(second, "t")
    with Engine.open(path) as third:
        count(third, "t")
        assert value(third) == "1"
        with pytest.raises(IdempotentParameterMismatchError):
            count(third, "t", by="2")
