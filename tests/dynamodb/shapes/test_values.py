"""Attribute values in requests: the two forms of binary, text without UTF-8 form, nesting to any depth."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from keyplan.dynamodb import shapes
from keyplan.dynamodb.values.attribute import normalise_item
from keyplan.engine.operations import get_item, put_item, query
from keyplan.errors import SerializationError, ValidationError

put = shapes.compile(put_item.SHAPE)


def request(value: Any) -> dict[str, Any]:
    return {"TableName": "abc", "Item": {"pk": value}}


def nested(depth: int, leaf: Any) -> Any:
    for _ in range(depth):
        leaf = {"M": {"n": {"L": [leaf]}}}
    return leaf


@pytest.mark.parametrize("content", [b"x", bytearray(b"x"), memoryview(b"x"), "text", "tëxt"])
def test_binary_in_python(content: Any) -> None:
    put(request({"B": content}), False)
    put(request({"BS": [content]}), False)
    put(request({"M": {"a": {"B": content}}}), False)


@pytest.mark.parametrize("content", [1, None, [b"x"], Decimal(1), {"a": 1}])
def test_other_types_are_rejected_as_binary_in_python(content: Any) -> None:
    with pytest.raises((SerializationError, ValidationError)):
        put(request({"BS": [content]}), False)


def test_strings_are_not_decoded_as_base64_in_python() -> None:
    put(request({"B": "=+/="}), False)


@pytest.mark.parametrize("content", [Decimal(1), 1, 1.5, b"1"])
def test_numbers_must_be_strings(content: Any) -> None:
    with pytest.raises(SerializationError, match="cannot be converted to String"):
        put(request({"N": content}), False)


@pytest.mark.parametrize(
    "damaged",
    [
        {"TableName": "abc", "Item": {"\ud800": {"S": "a"}}},
        {"TableName": "abc", "Item": {"pk": {"S": "\ud800"}}},
        {"TableName": "abc", "Item": {"pk": {"M": {"\ud800": {"S": "a"}}}}},
        {"TableName": "abc", "Item": {"pk": {"SS": ["\ud800"]}}},
        {"TableName": "abc", "Item": {"pk": {"B": "\ud800"}}},
        {"TableName": "abc", "Item": {}, "ConditionExpression": "\ud800"},
        {"TableName": "abc", "Item": {}, "ExpressionAttributeNames": {"#a": "\ud800"}},
    ],
)
def test_text_without_utf8_encoding_is_rejected(damaged: dict[str, Any]) -> None:
    with pytest.raises(SerializationError, match="not valid Unicode"):
        put(damaged, False)


def test_unknown_parameters_are_rejected_in_python() -> None:
    with pytest.raises(ValidationError, match='Unknown parameter in input: "Itm"'):
        put({"TableName": "abc", "Item": {}, "Itm": {}}, False)


def test_unknown_parameters_are_ignored_in_json() -> None:
    put({"TableName": "abc", "Item": {}, "Itm": {}}, True)


def test_none_counts_as_missing() -> None:
    put({"TableName": "abc", "Item": {}, "ReturnValues": None, "ExpressionAttributeNames": None}, False)


@pytest.mark.parametrize("depth", [10, 32, 100, 20_000])
@pytest.mark.parametrize("wire", [True, False])
def test_types_are_checked_to_any_depth(depth: int, wire: bool) -> None:
    put(request(nested(depth, {"S": "leaf"})), wire)
    with pytest.raises(SerializationError, match="NUMBER_VALUE cannot be converted to String"):
        put(request(nested(depth, {"S": 1})), wire)


@pytest.mark.parametrize("depth", [100, 20_000])
def test_messages_truncate_deep_values(depth: int) -> None:
    get = shapes.compile(get_item.SHAPE)
    with pytest.raises(ValidationError, match="tableName"):
        get({"Key": {"pk": nested(depth, {"S": "leaf"})}}, True)


def test_words_for_booleans_are_converted_in_json() -> None:
    built_request = request({"BOOL": "Yes"})
    put(built_request, True)
    assert built_request["Item"] == {"pk": {"BOOL": True}}
    assert normalise_item(built_request["Item"], wire=True)[0] == {"pk": {"BOOL": True}}


def test_fractions_are_truncated_in_json_and_rejected_in_python() -> None:
    check = shapes.compile(query.SHAPE)
    members = {"TableName": "abc", "Limit": 2.9}
    with pytest.raises(SerializationError, match="DECIMAL_VALUE cannot be converted to Integer"):
        check(members, False)
    check(members, True)
    assert members["Limit"] == 2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "Supplied AttributeValue is empty"),
        ({"L": [None]}, "Supplied AttributeValue is empty"),
        ({"M": {"a": None}}, "Supplied AttributeValue is empty"),
        ({"SS": [None]}, "An string set may not have a null string as a member"),
    ],
)
@pytest.mark.parametrize("wire", [True, False])
def test_null_values_are_rejected(value: Any, message: str, wire: bool) -> None:
    with pytest.raises(ValidationError, match=message):
        put(request(value), wire)
