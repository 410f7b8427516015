"""What other code notices of a call: events, retries, answers and exceptions."""

from __future__ import annotations

import asyncio
import datetime
import re
import time
from collections.abc import Iterator
from typing import Any
from unittest import mock

import boto3
import pytest
from boto3.dynamodb.conditions import Attr, Key
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from keyplan.errors import (
    ConditionalCheckFailedError,
    IdempotentParameterMismatchError,
    InternalServerError,
    ProvisionedThroughputExceededError,
    ResourceNotFoundError,
    TransactionCanceledError,
    UnknownOperationError,
    ValidationError,
)
from keyplan.testing.boto import attach

KEY = {"id": {"S": "7"}}


@pytest.fixture
def naps() -> Iterator[list[float]]:
    """Record the waits between attempts without waiting."""
    with mock.patch.object(time, "sleep") as sleep:
        yield _Naps(sleep)


class _Naps(list[float]):
    def __init__(self, sleep: mock.Mock) -> None:
        super().__init__()
        sleep.side_effect = self.append


def test_the_engine_receives_the_request_unchanged(client: Any, scripted: Any) -> None:
    engine = scripted({"Item": KEY})
    attach(client, engine)
    client.get_item(TableName="t", Key=KEY, ConsistentRead=True)
    assert engine.calls == [("GetItem", {"TableName": "t", "Key": KEY, "ConsistentRead": True})]


def test_a_response_has_botocores_metadata(client: Any, scripted: Any) -> None:
    attach(client, scripted({"Item": KEY}))
    response = client.get_item(TableName="t", Key=KEY)
    assert response["Item"] == KEY
    metadata = response["ResponseMetadata"]
    assert re.fullmatch("[A-Z0-9]{52}", metadata["RequestId"])
    assert metadata["HTTPHeaders"]["x-amzn-requestid"] == metadata["RequestId"]
    assert (metadata["HTTPStatusCode"], metadata["RetryAttempts"]) == (200, 0)


def test_request_ids_differ(client: Any, scripted: Any) -> None:
    attach(client, scripted())
    ids = {client.list_tables()["ResponseMetadata"]["RequestId"] for _ in range(3)}
    assert len(ids) == 3


def test_the_engines_response_is_not_changed(client: Any, scripted: Any) -> None:
    response = {"Table": {"CreationDateTime": 1.5}}
    attach(client, scripted(response))
    client.describe_table(TableName="t")
    assert response == {"Table": {"CreationDateTime": 1.5}}


def test_seconds_become_datetimes(client: Any, scripted: Any) -> None:
    attach(client, scripted({"Table": {"TableName": "t", "CreationDateTime": 1_700_000_000.25}}))
    created = client.describe_table(TableName="t")["Table"]["CreationDateTime"]
    assert created == datetime.datetime(2023, 11, 14, 22, 13, 20, 250_000, datetime.UTC)
    assert created.tzinfo is not None


def test_stream_records_have_datetimes(make_client: Any, scripted: Any) -> None:
    client = make_client("dynamodbstreams")
    record = {"dynamodb": {"ApproximateCreationDateTime": 1_700_000_000, "Keys": KEY}}
    attach(client, scripted({"Records": [record]}))
    service = client.get_records(ShardIterator="i")["Records"][0]["dynamodb"]
    assert service["Keys"] == KEY
    assert service["ApproximateCreationDateTime"].timestamp() == 1_700_000_000


def test_a_service_error_is_the_modeled_exception(client: Any, scripted: Any) -> None:
    attach(client, scripted(ResourceNotFoundError("Requested resource not found")))
    with pytest.raises(client.exceptions.ResourceNotFoundException) as caught:
        client.get_item(TableName="t", Key=KEY)
    assert caught.value.response["Error"] == {
        "Code": "ResourceNotFoundException",
        "Message": "Requested resource not found",
    }
    assert caught.value.response["message"] == "Requested resource not found"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert caught.value.operation_name == "GetItem"
    assert str(caught.value) == (
        "An error occurred (ResourceNotFoundException) when calling the GetItem operation: Requested resource not found"
    )


def test_an_unmodeled_service_error_is_a_plain_client_error(client: Any, scripted: Any) -> None:
    attach(client, scripted(UnknownOperationError()))
    with pytest.raises(ClientError) as caught:
        client.list_tables()
    assert type(caught.value) is ClientError
    assert caught.value.response["Error"] == {"Code": "UnknownOperationException", "Message": ""}


def test_a_failed_condition_carries_the_item(client: Any, scripted: Any) -> None:
    attach(client, scripted(ConditionalCheckFailedError("no", Item={"b": {"B": b"\x00"}})))
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as caught:
        client.put_item(TableName="t", Item=KEY)
    assert caught.value.response["Item"] == {"b": {"B": b"\x00"}}


def test_a_cancelled_transaction_carries_its_reasons(client: Any, scripted: Any) -> None:
    reasons = [{"Code": "None"}, {"Code": "ConditionalCheckFailed", "Message": "no", "Item": KEY}]
    attach(client, scripted(TransactionCanceledError("cancelled", CancellationReasons=reasons)))
    with pytest.raises(client.exceptions.TransactionCanceledException) as caught:
        client.transact_write_items(TransactItems=[{"Delete": {"TableName": "t", "Key": KEY}}])
    assert caught.value.response["CancellationReasons"] == reasons
    assert caught.value.response["Message"] == "cancelled"


def test_a_service_error_has_no_exception_context(client: Any, scripted: Any) -> None:
    attach(client, scripted(ResourceNotFoundError("no")))
    with pytest.raises(ClientError) as caught:
        client.get_item(TableName="t", Key=KEY)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_throttling_is_retried_as_configured(make_client: Any, scripted: Any, naps: list[float], mode: str) -> None:
    throttled = ProvisionedThroughputExceededError("slow down")
    engine = scripted(throttled, throttled, {"Item": KEY})
    client = make_client(retries={"mode": mode, "total_max_attempts": 3})
    attach(client, engine)
    response = client.get_item(TableName="t", Key=KEY)
    assert response["Item"] == KEY
    assert response["ResponseMetadata"]["RetryAttempts"] == 2
    assert (len(engine.calls), len(naps)) == (3, 2)


def test_the_last_attempt_raises(make_client: Any, scripted: Any, naps: list[float]) -> None:
    engine = scripted(InternalServerError("broken"))
    client = make_client(retries={"mode": "standard", "total_max_attempts": 2})
    attach(client, engine)
    with pytest.raises(client.exceptions.InternalServerError) as caught:
        client.get_item(TableName="t", Key=KEY)
    metadata = caught.value.response["ResponseMetadata"]
    assert (metadata["HTTPStatusCode"], metadata["RetryAttempts"]) == (500, 1)
    assert metadata["MaxAttemptsReached"] is True
    assert (len(engine.calls), len(naps)) == (2, 1)


def test_one_attempt_is_not_retried(make_client: Any, scripted: Any, naps: list[float]) -> None:
    engine = scripted(ProvisionedThroughputExceededError("slow down"))
    client = make_client(retries={"total_max_attempts": 1})
    attach(client, engine)
    with pytest.raises(client.exceptions.ProvisionedThroughputExceededException):
        client.get_item(TableName="t", Key=KEY)
    assert (len(engine.calls), naps) == (1, [])


def test_a_permanent_error_is_not_retried(client: Any, scripted: Any, naps: list[float]) -> None:
    engine = scripted(IdempotentParameterMismatchError("other parameters"))
    attach(client, engine)
    with pytest.raises(client.exceptions.IdempotentParameterMismatchException):
        client.execute_transaction(TransactStatements=[{"Statement": "SELECT * FROM t"}])
    assert (len(engine.calls), naps) == (1, [])


def test_a_token_is_generated_for_a_transaction(client: Any, scripted: Any) -> None:
    engine = scripted()
    attach(client, engine)
    writes = [{"Put": {"TableName": "t", "Item": KEY}}]
    client.transact_write_items(TransactItems=writes)
    client.transact_write_items(TransactItems=writes, ClientRequestToken="mine")
    assert re.fullmatch("[0-9a-f-]{36}", engine.calls[0][1]["ClientRequestToken"])
    assert engine.calls[1][1]["ClientRequestToken"] == "mine"


def test_handlers_registered_at_any_time_are_called(client: Any, scripted: Any) -> None:
    attach(client, scripted({"Item": KEY}))
    received: list[str] = []

    def listen(event_name: str, **kwargs: Any) -> None:
        received.append(event_name)

    client.get_item(TableName="t", Key=KEY)
    events = ("provide-client-params", "before-parameter-build", "before-call", "after-call")
    for event in events:
        client.meta.events.register(f"{event}.dynamodb.GetItem", listen)
    client.get_item(TableName="t", Key=KEY)
    assert received == [f"{event}.dynamodb.GetItem" for event in events]
    for event in events:
        client.meta.events.unregister(f"{event}.dynamodb.GetItem", listen)
    client.get_item(TableName="t", Key=KEY)
    assert len(received) == len(events)


def test_a_handler_may_replace_the_parameters(client: Any, scripted: Any) -> None:
    engine = scripted()
    attach(client, engine)
    client.meta.events.register("provide-client-params.dynamodb.ListTables", lambda params, **_: {**params, "Limit": 3})
    client.list_tables()
    assert engine.calls == [("ListTables", {"Limit": 3})]


def test_after_call_receives_the_status_and_the_parsed_response(client: Any, scripted: Any) -> None:
    attach(client, scripted(ResourceNotFoundError("no")))
    calls: list[tuple[int, str, bytes]] = []

    def listen(http_response: Any, parsed: Any, **kwargs: Any) -> None:
        calls.append((http_response.status_code, parsed["Error"]["Code"], http_response.content))

    client.meta.events.register("after-call.dynamodb", listen)
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.get_item(TableName="t", Key=KEY)
    assert calls == [(400, "ResourceNotFoundException", b"")]


def test_a_handler_may_override_the_exception_of_an_error(client: Any, scripted: Any) -> None:
    attach(client, scripted(ValidationError("no")))

    def listen(context: dict[str, Any], **kwargs: Any) -> None:
        context["error_code_override"] = "ResourceNotFoundException"

    client.meta.events.register("provide-client-params.dynamodb.ListTables", listen)
    with pytest.raises(client.exceptions.ResourceNotFoundException) as error:
        client.list_tables()
    assert error.value.response["Error"]["Code"] == "ValidationException"


def test_a_stubbed_client_keeps_its_stubs(client: Any, scripted: Any) -> None:
    engine = scripted({"TableNames": ["engine"]})
    attach(client, engine)
    with Stubber(client) as stubber:
        stubber.add_response("list_tables", {"TableNames": ["stub"]}, {"Limit": 1})
        assert client.list_tables(Limit=1)["TableNames"] == ["stub"]
        stubber.add_client_error("list_tables", "ThrottlingException")
        with pytest.raises(client.exceptions.ThrottlingException):
            client.list_tables()
    assert client.list_tables()["TableNames"] == ["engine"]
    assert len(engine.calls) == 1


def test_a_resource_accepts_python_values_and_conditions(scripted: Any) -> None:
    resource = boto3.Session(region_name="eu-west-1").resource("dynamodb")
    engine = scripted({"Items": [{"id": {"S": "7"}, "tags": {"SS": ["a", "b"]}}], "Count": 1})
    attach(resource, engine)
    response = resource.Table("t").query(KeyConditionExpression=Key("id").eq("7"), FilterExpression=Attr("n").gt(3))
    assert response["Items"] == [{"id": "7", "tags": {"a", "b"}}]
    assert engine.calls == [
        (
            "Query",
            {
                "TableName": "t",
                "KeyConditionExpression": "#n1 = :v1",
                "FilterExpression": "#n0 > :v0",
                "ExpressionAttributeNames": {"#n0": "n", "#n1": "id"},
                "ExpressionAttributeValues": {":v0": {"N": "3"}, ":v1": {"S": "7"}},
            },
        )
    ]


def test_an_unexpected_exception_is_raised_unchanged(client: Any) -> None:
    class Broken:
        def call(self, operation: str, request: dict[str, Any], /) -> dict[str, Any]:
            raise RuntimeError("closed")

    attach(client, Broken())
    with pytest.raises(RuntimeError, match="closed"):
        client.list_tables()


def test_a_valid_request_rejected_by_the_engine_stays_rejected(client: Any, scripted: Any) -> None:
    engine = scripted(ValidationError("no"))
    attach(client, engine)
    with pytest.raises(ClientError, match=r"\(ValidationException\).*: no"):
        client.get_item(TableName="t", Key=KEY)
    assert [request for _, request in engine.calls] == [{"TableName": "t", "Key": KEY}] * 2


def test_an_asynchronous_client_is_awaited(scripted: Any) -> None:
    session = pytest.importorskip("aiobotocore.session").get_session()
    throttled = ProvisionedThroughputExceededError("slow down")

    async def work() -> Any:
        async with session.create_client("dynamodb", region_name="eu-west-1") as client:
            attach(client, scripted(throttled, {"Item": KEY}))
            with mock.patch.object(asyncio, "sleep", mock.AsyncMock()) as sleep:
                response = await client.get_item(TableName="t", Key=KEY)
            assert sleep.await_count == 1
            return response

    response = asyncio.run(work())
    assert response["Item"] == KEY
    assert response["ResponseMetadata"]["RetryAttempts"] == 1
