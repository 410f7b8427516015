"""Attribute names of 64 KB less one byte, which the service accepts; of 64 KB and empty ones, which it refuses.

"Empty attribute name" is the service's sentence in answers to PutItem and TransactWriteItems, and in the messages of
the downloadable version, where every parameter that names attributes has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keyplan.engine.engine import Engine
from keyplan.errors import ValidationError

TABLE: dict[str, Any] = {
    "TableName": "made",
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
KEY = {"p": {"S": "k"}}
LONGEST, LONGER = "n" * 65535, "n" * 65536
ONE = {"N": "1"}


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.memory() as opened:
        opened.call("CreateTable", TABLE)
        opened.call("PutItem", {"TableName": "made", "Item": KEY})
        yield opened


def uses(name: str) -> list[tuple[str, dict[str, Any]]]:
    """Return requests that name an attribute, each in a different place."""
    update = {"Key": KEY, "ExpressionAttributeNames": {"#n": name}, "ExpressionAttributeValues": {":v": ONE}}
    return [
        ("PutItem", {"Item": {**KEY, name: ONE}}),
        ("PutItem", {"Item": {**KEY, "m": {"M": {name: ONE}}}}),
        ("GetItem", {"Key": KEY, "ProjectionExpression": "#n", "ExpressionAttributeNames": {"#n": name}}),
        ("GetItem", {"Key": KEY, "AttributesToGet": [name]}),
        ("UpdateItem", {"Key": KEY, "AttributeUpdates": {name: {"Value": ONE, "Action": "PUT"}}}),
        ("UpdateItem", {**update, "UpdateExpression": "SET #n = :v"}),
        ("UpdateItem", {**update, "UpdateExpression": "SET a = :v", "ConditionExpression": "#n = :v"}),
    ]


@pytest.mark.parametrize("place", range(len(uses(""))))
def test_the_longest_name_is_accepted(engine: Engine, place: int) -> None:
    engine.call("PutItem", {"TableName": "made", "Item": {**KEY, LONGEST: ONE}})
    operation, request = uses(LONGEST)[place]
    response = engine.call(operation, {"TableName": "made", **request})
    assert operation != "GetItem" or response["Item"] == {LONGEST: ONE}


@pytest.mark.parametrize("place", range(len(uses(""))))
def test_a_longer_name_is_rejected(engine: Engine, place: int) -> None:
    operation, request = uses(LONGER)[place]
    with pytest.raises(ValidationError, match="must be less than 65536 bytes"):
        engine.call(operation, {"TableName": "made", **request})
    assert engine.call("GetItem", {"TableName": "made", "Key": KEY})["Item"] == KEY


EQUAL = {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "k"}]}
MISSING = {"ComparisonOperator": "NULL"}
EMPTY_IN_OLDER_PARAMETERS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "AttributeUpdates": ("UpdateItem", {"Key": KEY, "AttributeUpdates": {"": {"Value": ONE}}}, True),
    "AttributeUpdates DELETE": ("UpdateItem", {"Key": KEY, "AttributeUpdates": {"": {"Action": "DELETE"}}}, True),
    "AttributeUpdates, one of two": (
        "UpdateItem",
        {"Key": KEY, "AttributeUpdates": {"a": {"Value": ONE}, "": {"Value": ONE}}},
        True,
    ),
    "Expected of UpdateItem": ("UpdateItem", {"Key": KEY, "Expected": {"": {"Exists": False}}}, True),
    "Expected of PutItem": ("PutItem", {"Item": KEY, "Expected": {"": {"Value": ONE}}}, True),
    "Expected of DeleteItem": ("DeleteItem", {"Key": KEY, "Expected": {"": MISSING}}, True),
    "AttributesToGet of GetItem": ("GetItem", {"Key": KEY, "AttributesToGet": [""]}, False),
    "AttributesToGet of Query": ("Query", {"KeyConditions": {"p": EQUAL}, "AttributesToGet": ["p", ""]}, False),
    "AttributesToGet of Scan": ("Scan", {"AttributesToGet": ["", ""]}, False),
    "QueryFilter": ("Query", {"KeyConditions": {"p": EQUAL}, "QueryFilter": {"": MISSING}}, False),
    "ScanFilter": ("Scan", {"ScanFilter": {"": MISSING}}, False),
    "KeyConditions": ("Query", {"KeyConditions": {"": EQUAL}}, False),
    "KeyConditions, one of two": ("Query", {"KeyConditions": {"p": EQUAL, "": EQUAL}}, False),
}


@pytest.mark.parametrize("parameter", EMPTY_IN_OLDER_PARAMETERS)
def test_an_empty_name_in_a_legacy_parameter_is_rejected(engine: Engine, parameter: str) -> None:
    operation, request, enveloped = EMPTY_IN_OLDER_PARAMETERS[parameter]
    with pytest.raises(ValidationError) as refused:
        engine.call(operation, {"TableName": "made", **request})
    assert refused.value.message == ("1 validation error detected: " if enveloped else "") + "Empty attribute name"
    assert engine.call("GetItem", {"TableName": "made", "Key": KEY})["Item"] == KEY


def test_an_empty_name_in_a_batch_of_reads_is_rejected(engine: Engine) -> None:
    block = {"Keys": [KEY], "AttributesToGet": ["p", ""]}
    with pytest.raises(ValidationError, match=r"\AEmpty attribute name\Z"):
        engine.call("BatchGetItem", {"RequestItems": {"made": block}})
