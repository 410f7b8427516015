"""Attribute names of 64 KB less one byte, which the service takes, and of 64 KB, which it does not."""

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
    """Requests that name an attribute, each in another place."""
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
def test_the_longest_name_is_taken(engine: Engine, place: int) -> None:
    engine.call("PutItem", {"TableName": "made", "Item": {**KEY, LONGEST: ONE}})
    operation, request = uses(LONGEST)[place]
    answer = engine.call(operation, {"TableName": "made", **request})
    assert operation != "GetItem" or answer["Item"] == {LONGEST: ONE}


@pytest.mark.parametrize("place", range(len(uses(""))))
def test_a_longer_one_is_refused(engine: Engine, place: int) -> None:
    operation, request = uses(LONGER)[place]
    with pytest.raises(ValidationError, match="must be less than 65536 bytes"):
        engine.call(operation, {"TableName": "made", **request})
    assert engine.call("GetItem", {"TableName": "made", "Key": KEY})["Item"] == KEY
