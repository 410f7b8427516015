"""Observation of data operations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from keyplan.engine.engine import Engine
from keyplan.engine.observing import Observation
from keyplan.errors import ConditionalCheckFailedError, ValidationError

ITEM = {"PK": {"S": "ada"}, "SK": {"S": "task"}, "due": {"S": "2026-01-31"}}
KEY = {"PK": {"S": "ada"}, "SK": {"S": "task"}}


class Recorder(list[Observation]):
    """Observer that keeps what it sees."""

    def __call__(self, observation: Observation) -> None:
        assert observation.elapsed_s >= 0
        self.append(observation)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.memory() as engine:
        engine.call(
            "CreateTable",
            {
                "TableName": "app",
                "KeySchema": [
                    {"AttributeName": "PK", "KeyType": "HASH"},
                    {"AttributeName": "SK", "KeyType": "RANGE"},
                ],
                "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK", "due")],
                "GlobalSecondaryIndexes": [
                    {
                        "IndexName": "by_due",
                        "KeySchema": [{"AttributeName": "due", "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": "ALL"},
                    }
                ],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        yield engine


@pytest.fixture
def recorder(engine: Engine) -> Recorder:
    recorder = Recorder()
    engine.observe(recorder)
    return recorder


def test_an_observer_sees_the_units_of_table_and_indexes_that_the_caller_did_not_ask_for(
    engine: Engine, recorder: Recorder
) -> None:
    assert engine.call("PutItem", {"TableName": "app", "Item": ITEM}) == {}
    ((operation, request, receipts, error, _, weight),) = recorder
    assert (operation, request, error, weight) == ("PutItem", {"TableName": "app", "Item": ITEM}, None, 1)
    assert receipts["GlobalSecondaryIndexes"] == {"by_due": {"CapacityUnits": 1.0}}


def test_a_caller_that_asks_for_totals_gets_only_totals(engine: Engine, recorder: Recorder) -> None:
    request = {"TableName": "app", "Item": ITEM, "ReturnConsumedCapacity": "TOTAL"}
    assert engine.call("PutItem", request) == {"ConsumedCapacity": {"TableName": "app", "CapacityUnits": 2.0}}
    read = {"RequestItems": {"app": {"Keys": [KEY]}}, "ReturnConsumedCapacity": "TOTAL"}
    assert engine.call("BatchGetItem", read)["ConsumedCapacity"] == [{"TableName": "app", "CapacityUnits": 0.5}]
    assert "Table" in recorder[1].receipts[0]


def test_an_observer_sees_errors_and_the_caller_gets_them(engine: Engine, recorder: Recorder) -> None:
    with pytest.raises(ConditionalCheckFailedError):
        engine.call("PutItem", {"TableName": "app", "Item": ITEM, "ConditionExpression": "attribute_exists(PK)"})
    assert isinstance(recorder[0].error, ConditionalCheckFailedError)
    with pytest.raises(ValidationError, match=r"returnConsumedCapacity"):
        engine.call("PutItem", {"TableName": "app", "Item": ITEM, "ReturnConsumedCapacity": "SOME"})


def test_a_repeated_transaction_stays_the_same_when_observation_starts_between(engine: Engine) -> None:
    request = {"TransactItems": [{"Put": {"TableName": "app", "Item": ITEM}}], "ClientRequestToken": "one"}
    engine.call("TransactWriteItems", request)
    recorder = Recorder()
    engine.observe(recorder)
    assert engine.call("TransactWriteItems", request) == {}
    assert recorder[0].receipts[0]["ReadCapacityUnits"] > 0, "a repeated transaction only reads"


def test_requests_that_a_program_compiled_are_observed(engine: Engine) -> None:
    get, recorder = engine.prepared("GetItem"), Recorder()
    engine.observe(recorder)
    get("GetItem", {"TableName": "app", "Key": KEY})
    assert [observation.operation for observation in recorder] == ["GetItem"]


def test_tables_and_their_descriptions_are_not_observed(engine: Engine, recorder: Recorder) -> None:
    engine.call("DescribeTable", {"TableName": "app"})
    assert recorder == []


def test_a_sample_represents_many_operations(engine: Engine) -> None:
    recorder = Recorder()
    engine.observe(recorder, most_per_s=1e-9)
    for _ in range(5):
        engine.call("GetItem", {"TableName": "app", "Key": KEY})
    assert [observation.weight for observation in recorder] == [1]
    engine.observe(recorder, most_per_s=1e9)
    engine.call("GetItem", {"TableName": "app", "Key": KEY})
    assert len(recorder) == 2


def test_observation_ends(engine: Engine, recorder: Recorder) -> None:
    engine.observe(None)
    engine.call("GetItem", {"TableName": "app", "Key": KEY})
    assert recorder == []
