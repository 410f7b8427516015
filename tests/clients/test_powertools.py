"""Powertools for AWS Lambda: functions run once for each event by conditional puts, parameters read from a table."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("aws_lambda_powertools")

from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyValidationError,
)
from aws_lambda_powertools.utilities.parameters import DynamoDBProvider
from boto3.dynamodb.types import TypeDeserializer

TABLE = "idempotency"


@pytest.fixture
def payments(client: Any) -> Any:
    """Return a function that is idempotent per payment, and the payments for which it ran."""
    client.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    config = IdempotencyConfig(event_key_jmespath="id", payload_validation_jmespath="amount")
    config.register_lambda_context(SimpleNamespace(get_remaining_time_in_millis=lambda: 60_000))  # type: ignore[arg-type]
    layer = DynamoDBPersistenceLayer(table_name=TABLE, boto3_client=client)
    ran: list[Any] = []

    @idempotent_function(  # type: ignore[untyped-decorator]  # the library gives it no types
        data_keyword_argument="payment", persistence_store=layer, config=config
    )
    def pay(payment: dict[str, Any]) -> dict[str, Any]:
        ran.append(payment["id"])
        if payment.get("again"):
            pay(payment=payment)
        if payment.get("fails"):
            raise ZeroDivisionError
        return {"paid": payment["amount"]}

    return SimpleNamespace(pay=pay, ran=ran)


def test_a_repeated_event_is_answered_from_the_table(payments: Any, client: Any) -> None:
    first = payments.pay(payment={"id": 1, "amount": 5})
    assert payments.pay(payment={"id": 1, "amount": 5}) == first == {"paid": 5}
    assert payments.ran == [1]
    (item,) = client.scan(TableName=TABLE)["Items"]
    assert TypeDeserializer().deserialize(item["status"]) == "COMPLETED"


def test_another_payload_under_the_same_key_is_rejected(payments: Any) -> None:
    payments.pay(payment={"id": 1, "amount": 5})
    with pytest.raises(IdempotencyValidationError):
        payments.pay(payment={"id": 1, "amount": 6})


def test_an_event_in_progress_is_not_run_concurrently(payments: Any) -> None:
    with pytest.raises(IdempotencyAlreadyInProgressError):
        payments.pay(payment={"id": 1, "amount": 5, "again": True})


def test_a_failed_event_is_run_again(payments: Any, client: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        payments.pay(payment={"id": 1, "amount": 5, "fails": True})
    assert client.scan(TableName=TABLE)["Items"] == []
    assert payments.pay(payment={"id": 1, "amount": 5}) == {"paid": 5}


def test_parameters_are_read_by_key_and_by_collection(client: Any, endpoint: str | None) -> None:
    client.create_table(
        TableName="parameters",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "id", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    for name, value in {"one": "1", "two": '{"deep": [2]}'}.items():
        client.put_item(TableName="parameters", Item={"id": {"S": "app"}, "sk": {"S": name}, "value": {"S": value}})
    provider = DynamoDBProvider(table_name="parameters", endpoint_url=endpoint)
    assert provider.get_multiple("app") == {"one": "1", "two": '{"deep": [2]}'}
    assert provider.get_multiple("app", transform="json", force_fetch=True) == {"one": 1, "two": {"deep": [2]}}
    provider.table.meta.client.close()
