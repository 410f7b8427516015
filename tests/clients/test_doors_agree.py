"""The same requests through both doors give the same answers and the same exceptions.

The HTTP door is botocore at work in full: it validates, serializes, and parses what comes over the
wire. So it is the measure of the door in process, down to the members of every exception.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointResolutionError, ParamValidationError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jmespath.exceptions import JMESPathTypeError  # type: ignore[import-untyped]
from tests.laws import examples

from keyplan.engine.engine import Engine
from keyplan.testing.boto import attach
from keyplan.testing.endpoint import serving

KEY = {"customer": {"S": "ann"}, "placed": {"N": "1"}}
ITEM = {**KEY, "total": {"N": "5"}, "blob": {"B": b"\x00"}, "list": {"L": [{"BS": [b"a"]}]}}

REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "put": ("put_item", {"TableName": "orders", "Item": ITEM, "ReturnValues": "ALL_OLD"}),
    "put with capacity": (
        "put_item",
        {"TableName": "orders", "Item": ITEM, "ReturnConsumedCapacity": "INDEXES"},
    ),
    "get": ("get_item", {"TableName": "orders", "Key": KEY, "ConsistentRead": True}),
    "get of nothing": (
        "get_item",
        {"TableName": "orders", "Key": {**KEY, "placed": {"N": "2"}}},
    ),
    "get of part": (
        "get_item",
        {
            "TableName": "orders",
            "Key": KEY,
            "ProjectionExpression": "#l[0], blob",
            "ExpressionAttributeNames": {"#l": "list"},
        },
    ),
    "update": (
        "update_item",
        {
            "TableName": "orders",
            "Key": KEY,
            "UpdateExpression": "SET #t = #t + :n",
            "ExpressionAttributeNames": {"#t": "total"},
            "ExpressionAttributeValues": {":n": {"N": "0"}},
            "ReturnValues": "ALL_NEW",
        },
    ),
    "failed condition": (
        "delete_item",
        {
            "TableName": "orders",
            "Key": KEY,
            "ConditionExpression": "attribute_exists(nothing)",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        },
    ),
    "query": (
        "query",
        {
            "TableName": "orders",
            "KeyConditionExpression": "customer = :c",
            "ExpressionAttributeValues": {":c": {"S": "ann"}},
            "ReturnConsumedCapacity": "TOTAL",
            "Limit": 1,
        },
    ),
    "scan": ("scan", {"TableName": "orders"}),
    "batch": (
        "batch_get_item",
        {"RequestItems": {"orders": {"Keys": [KEY], "AttributesToGet": ["blob"]}}},
    ),
    "cancelled transaction": (
        "transact_write_items",
        {
            "TransactItems": [
                {"Put": {"TableName": "orders", "Item": {**ITEM, "placed": {"N": "9"}}}},
                {
                    "Delete": {
                        "TableName": "orders",
                        "Key": KEY,
                        "ConditionExpression": "attribute_exists(nothing)",
                        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                    }
                },
            ]
        },
    ),
    "describe": ("describe_table", {"TableName": "orders"}),
    "describe expiry": ("describe_time_to_live", {"TableName": "orders"}),
    "limits": ("describe_limits", {}),
    "missing table": ("get_item", {"TableName": "nowhere", "Key": KEY}),
    "missing table described": ("describe_table", {"TableName": "nowhere"}),
    "wrong key": ("get_item", {"TableName": "orders", "Key": {"customer": {"S": "ann"}}}),
    "broken expression": (
        "scan",
        {"TableName": "orders", "FilterExpression": "a = = b"},
    ),
    "broken constraint": ("scan", {"TableName": "orders", "Limit": 1, "Segment": -1}),
    "empty value": ("put_item", {"TableName": "orders", "Item": {**KEY, "empty": {}}}),
    "two types at once": (
        "put_item",
        {"TableName": "orders", "Item": {**KEY, "two": {"S": "a", "N": "1"}}},
    ),
}

# Over HTTP botocore looks for an endpoint before it validates, and stumbles in its own ways over
# invalid table names. In process no endpoint is looked up.
STUMBLES = (EndpointResolutionError, JMESPathTypeError, TypeError)


@pytest.fixture
def engine(orders: dict[str, Any]) -> Iterator[Engine]:
    """Yield an engine with the table and one item."""
    with Engine.memory() as engine:
        engine.call("CreateTable", orders)
        engine.call("PutItem", {"TableName": "orders", "Item": ITEM})
        yield engine


@pytest.fixture
def clients(engine: Engine, http_endpoint: str) -> tuple[Any, Any]:
    """One client in process and one over HTTP, of the same engine."""
    inside = boto3.client("dynamodb")
    attach(inside, engine)
    return inside, boto3.client("dynamodb", endpoint_url=http_endpoint)


def outcome(client: Any, method: str, params: dict[str, Any]) -> Any:
    """Return the answer, or the exception with all its attributes; without values that differ per request."""
    try:
        response = getattr(client, method)(**params)
    except ClientError as error:
        response = {**error.response, "class": type(error).__name__, "text": str(error)}
    except ParamValidationError:
        return "never sent"
    metadata = response.pop("ResponseMetadata")
    return {**response, "status": metadata["HTTPStatusCode"], "tries": metadata["RetryAttempts"]}


@pytest.mark.parametrize("name", REQUESTS)
def test_responses_and_exceptions_agree(name: str, clients: tuple[Any, Any]) -> None:
    inside, over_http = clients
    method, params = REQUESTS[name]
    assert outcome(inside, method, params) == outcome(over_http, method, params)


def test_an_unsupported_operation_is_rejected_alike(clients: tuple[Any, Any]) -> None:
    codes = []
    for client in clients:
        with pytest.raises(ClientError) as caught:
            client.describe_global_table(GlobalTableName="orders")
        codes.append(caught.value.response["Error"]["Code"])
    assert codes == ["UnknownOperationException"] * 2


# Requests with something wrong in them somewhere.

JUNK = st.sampled_from([None, 0, 5, -1, 1.5, True, "", "x", b"", b"x", [], ["x"], ("x",), {}]) | (
    st.sampled_from(
        [
            *({"S": "x"}, {"S": 5}, {"N": 5}, {"N": "x"}, {"Unknown": "x"}, {"L": ({"S": "x"},)}),
            *({"B": "text"}, {"B": bytearray(b"x")}, {"SS": {"x"}}, {"BOOL": 1}, {"NULL": "x"}),
            *({"M": {"a": None}}, {"BS": (b"x", "y")}, {"x": {"S": "x"}}, {5: {"S": "x"}}),
        ]
    )
)


@st.composite
def spoilt(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Draw a request with one value replaced, or one member added or removed, at any depth."""
    method, params = REQUESTS[draw(st.sampled_from(sorted(REQUESTS)))]
    return method, draw(_spoilt(params))


@st.composite
def _spoilt(draw: st.DrawFn, value: Any) -> Any:
    if isinstance(value, dict):
        return draw(_spoilt_dict(value))
    if isinstance(value, list) and value and draw(st.booleans()):
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], draw(_spoilt(value[at])), *value[at + 1 :]]
    return draw(JUNK)


@st.composite
def _spoilt_dict(draw: st.DrawFn, value: dict[str, Any]) -> dict[str, Any]:
    change = draw(st.sampled_from(["inside", "inside", "inside", "add", "remove"]))
    if not value or change == "add":
        return {**value, draw(st.sampled_from(["Unknown", "Limit", "S", "Item"])): draw(JUNK)}
    name = draw(st.sampled_from(sorted(value)))
    if change == "remove":
        return {other: input_value for other, input_value in value.items() if other != name}
    return {**value, name: draw(_spoilt(value[name]))}


@given(requests=st.lists(spoilt(), min_size=1, max_size=5))
@settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_damaged_requests_fail_alike(
    orders: dict[str, Any],
    twins: tuple[Engine, Engine],
    twin_clients: tuple[Any, Any],
    requests: list[tuple[str, dict[str, Any]]],
) -> None:
    for engine in twins:
        engine.call("CreateTable", orders)
    try:
        for method, params in requests:
            _assert_equal_outcomes(*twin_clients, method, params)
        inner, outer = (engine.call("Scan", {"TableName": "orders"}) for engine in twins)
        assert inner == outer
    finally:
        for engine in twins:
            engine.call("DeleteTable", {"TableName": "orders"})


def _assert_equal_outcomes(inside: Any, over_http: Any, method: str, params: dict[str, Any]) -> None:
    try:
        expected = outcome(over_http, method, params)
    except STUMBLES:
        expected = "never sent"
    assert outcome(inside, method, params) == expected


@pytest.fixture
def twins() -> Iterator[tuple[Engine, Engine]]:
    """Two engines that go through the same, one behind each door."""
    with Engine.memory() as inner, Engine.memory() as outer:
        yield inner, outer


@pytest.fixture
def twin_clients(twins: tuple[Engine, Engine]) -> Iterator[tuple[Any, Any]]:
    """Yield a client of each engine."""
    inner, outer = twins
    inside = boto3.client("dynamodb")
    attach(inside, inner)
    with serving(outer) as url:
        yield inside, boto3.client("dynamodb", endpoint_url=url)
