"""Behaviour at the HTTP door that an independent suite expects of the service itself: bodies, compression, threads."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.conformance.runner import SIGNED

from keyplan.engine.engine import Engine
from keyplan.errors import ResourceInUseError, ResourceNotFoundError, ServiceError
from keyplan.server.thread import ThreadedServer

TABLE: dict[str, Any] = {
    "TableName": "made",
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
PUT = json.dumps({"TableName": "made", "Item": {"p": {"S": "k"}, "v": {"S": "x" * 500}}}).encode()


class Door:
    """Posts bodies as they are."""

    def __init__(self, url: str, engine: Engine) -> None:
        self._address = urlsplit(url).netloc
        self.engine = engine

    def post(self, operation: str, body: bytes, **headers: str) -> tuple[int, bytes]:
        """Send a request and return the status and body of the answer."""
        sent = {
            **SIGNED,
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        with closing(HTTPConnection(self._address, timeout=240)) as connection:
            connection.request("POST", "/", body, sent)
            response = connection.getresponse()
            return response.status, response.read()

    def stored(self) -> bool:
        """Whether the item of `PUT` is there."""
        return "Item" in self.engine.call("GetItem", {"TableName": "made", "Key": {"p": {"S": "k"}}})


@pytest.fixture
def door() -> Iterator[Door]:
    with Engine.memory() as engine, ThreadedServer(engine) as server:
        engine.call("CreateTable", TABLE)
        yield Door(server.url, engine)


def test_a_put_returns_an_object(door: Door) -> None:
    assert door.post("PutItem", PUT) == (HTTPStatus.OK, b"{}")


def test_tagging_returns_an_empty_body(door: Door) -> None:
    arn = door.engine.call("DescribeTable", {"TableName": "made"})["Table"]["TableArn"]
    tag = json.dumps({"ResourceArn": arn, "Tags": [{"Key": "k", "Value": "v"}]}).encode()
    assert door.post("TagResource", tag) == (HTTPStatus.OK, b"")
    untag = json.dumps({"ResourceArn": arn, "TagKeys": ["k"]}).encode()
    assert door.post("UntagResource", untag) == (HTTPStatus.OK, b"")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(gzip.compress(PUT), id="one piece"),
        pytest.param(gzip.compress(PUT[:10]) + gzip.compress(PUT[10:]), id="two pieces"),
    ],
)
def test_a_compressed_request_is_accepted(door: Door, body: bytes) -> None:
    assert door.post("PutItem", body, Content_Encoding="gzip") == (HTTPStatus.OK, b"{}")
    assert door.stored()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        pytest.param("garbage", PUT, id="unknown encoding"),
        pytest.param("gzip", PUT, id="not compressed"),
        pytest.param("gzip", gzip.compress(PUT)[:-1], id="cut off"),
        pytest.param("gzip", b"", id="empty"),
    ],
)
def test_a_body_that_cannot_be_decompressed_is_an_internal_error(door: Door, encoding: str, body: bytes) -> None:
    status, _ = door.post("PutItem", body, Content_Encoding=encoding)
    assert status == HTTPStatus.INTERNAL_SERVER_ERROR
    assert not door.stored()


WRONG = ["}}}", "}{", "haba", "7", "12g", "><", "????", '"""', '{"""}', '{""}', "{7}", "{3:}}", '{"2":{}']
WRONG += [",", "{,}", "{{}}", '"a":"b"', "{{{"]


@pytest.mark.parametrize("body", [*WRONG, "{" * 10000 + "}" * 9999, '{"":' * 200_000 + "{}" + "}" * 200_000])
def test_invalid_json_is_rejected(door: Door, body: str) -> None:
    status, response = door.post("PutItem", body.encode())
    assert status == HTTPStatus.BAD_REQUEST
    assert b"SerializationException" in response or b"ValidationException" in response


def test_every_truncated_request_is_rejected(door: Door) -> None:
    body = b'{"TableName": "made", "Item": {"p": {"S": "k"}}}'
    for length in range(len(body)):
        status, response = door.post("PutItem", body[:length])
        assert status == HTTPStatus.BAD_REQUEST
        assert b"SerializationException" in response
    assert not door.stored()


def test_a_deeply_nested_value_is_rejected_without_harm(door: Door) -> None:
    deep = b'{"":' * 200_000 + b"{}" + b"}" * 200_000
    status, _ = door.post("PutItem", b'{"TableName": "made", "Item": {"p": {"S": "k"}, "deep": %b}}' % deep)
    assert status == HTTPStatus.BAD_REQUEST
    assert not door.stored()


def test_a_request_of_more_than_16_mb_is_rejected(door: Door) -> None:
    body = b'{"TableName": "made", "Item": {"p": {"S": "k"}, "v": {"S": "%b"}}}' % (b"x" * (16 * 1024 * 1024 + 7))
    status, _ = door.post("PutItem", body)
    assert status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert not door.stored()


INDEXED = {
    **TABLE,
    "AttributeDefinitions": [*TABLE["AttributeDefinitions"], {"AttributeName": "c", "AttributeType": "S"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-c",
            "KeySchema": [{"AttributeName": "c", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


@pytest.mark.parametrize(
    "table", [TABLE, INDEXED, {**TABLE, "Tags": [{"Key": "a", "Value": "b"}]}], ids=["plain", "index", "tags"]
)
def test_a_table_created_and_deleted_concurrently_is_complete_or_missing(table: dict[str, Any]) -> None:
    unexpected: list[Exception] = []

    def repeat(operation: str, request: dict[str, Any], allowed: type[ServiceError]) -> None:
        for _ in range(20):
            try:
                engine.call(operation, request)
            except allowed:
                continue
            except Exception as error:  # noqa: BLE001 - reported by the assertion below
                unexpected.append(error)

    with Engine.memory() as engine:
        threads = [
            threading.Thread(target=repeat, args=("CreateTable", table, ResourceInUseError)),
            threading.Thread(target=repeat, args=("DeleteTable", {"TableName": "made"}, ResourceNotFoundError)),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not unexpected
        tables = engine.call("ListTables", {})["TableNames"]
        for name in tables:
            engine.call("DeleteTable", {"TableName": name})
