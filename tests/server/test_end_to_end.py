"""The real engine behind the server: raw requests, boto3, and writes that share a commit."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.server.fuzz_door import fuzz
from tests.server.plain_http import Client, headers_for, raw

from keyplan.engine.engine import Engine
from keyplan.server.thread import ThreadedServer

TABLE = {
    "TableName": "tab",
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
}


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "data.db", durability="full") as opened:
        opened.call("CreateTable", TABLE)
        yield opened


@pytest.fixture
def door(real: Engine) -> Iterator[ThreadedServer]:
    with ThreadedServer(real) as running:
        yield running


def request(operation: str, **members: Any) -> bytes:
    return raw(headers_for(operation), orjson.dumps({"TableName": "tab", **members}))


def put(key: str, value: int) -> bytes:
    return request("PutItem", Item={"p": {"S": key}, "n": {"N": str(value)}})


def get(key: str) -> bytes:
    return request("GetItem", Key={"p": {"S": key}})


def test_an_item_is_written_and_read(door: ThreadedServer) -> None:
    item = {"p": {"S": "ä\u0000\U0001f600"}, "b": {"B": "AAEC"}, "l": {"L": [{"NULL": True}]}}
    with Client(door.port) as client:
        assert client.ask(request("PutItem", Item=item)).body == b"{}"
        assert client.ask(request("GetItem", Key={"p": item["p"]})).json() == {"Item": item}


def test_a_pipeline_reads_its_own_writes(door: ThreadedServer) -> None:
    with Client(door.port) as client:
        client.send(b"".join(put("k", number) + get("k") for number in range(50)))
        for number in range(50):
            assert client.read().json() == {}
            assert client.read().json()["Item"]["n"] == {"N": str(number)}


def test_increments_of_many_connections_add_up(door: ThreadedServer, real: Engine) -> None:
    add = request(
        "UpdateItem",
        Key={"p": {"S": "counter"}},
        UpdateExpression="ADD n :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )

    def work(_: int) -> None:
        with Client(door.port) as client:
            client.send(add * 25)
            assert [client.read().status for _ in range(25)] == [200] * 25

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
    key = {"p": {"S": "counter"}}
    response = real.call("GetItem", {"TableName": "tab", "Key": key, "ConsistentRead": True})
    assert response["Item"]["n"] == {"N": "400"}


def test_a_failed_condition_in_a_group_does_not_affect_others(door: ThreadedServer) -> None:
    item = {"p": {"S": "a"}}
    condition = request(
        "PutItem",
        Item=item,
        ConditionExpression="attribute_not_exists(p)",
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )
    with Client(door.port) as client:
        client.send(put("b", 1) + condition + condition + put("c", 1))
        replies = [client.read() for _ in range(4)]
    assert [reply.status for reply in replies] == [200, 200, 400, 200]
    assert replies[2].json() == {
        "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
        "Item": item,
        "message": "The conditional request failed",
    }


def test_deep_nesting_is_rejected_without_a_crash(door: ThreadedServer) -> None:
    with Client(door.port) as client:
        for depth in (33, 100, 500, 1000, 1020, 5000, 200_000):
            nested = b'{"M":{"a":' * depth + b'{"S":"x"}' + b"}}" * depth
            body = b'{"TableName":"tab","Item":{"p":{"S":"x"},"v":' + nested + b"}}"
            reply = client.ask(raw(headers_for("PutItem"), body))
            assert reply.status == 400, (depth, reply.body)
        assert client.ask(put("after", 1)).status == 200


def test_boto3_works_against_the_server(door: ThreadedServer) -> None:
    boto3 = pytest.importorskip("boto3")
    table = boto3.resource(
        "dynamodb",
        endpoint_url=door.url,
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    ).Table("tab")
    table.put_item(Item={"p": "a", "v": b"\x00\xff", "s": {1, 2}})
    item = table.get_item(Key={"p": "a"})["Item"]
    assert (item["v"].value, item["s"]) == (b"\x00\xff", {1, 2})
    client = table.meta.client
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.describe_table(TableName="none")


def test_mutated_requests_never_break_the_real_engine(real: Engine, caplog: pytest.LogCaptureFixture) -> None:
    counts = fuzz(real, count=300, seed=7)
    assert {200, 400} <= set(counts)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
