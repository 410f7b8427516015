"""New items are walked once, by the canonical form; every outcome is as if they had been checked before."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.dynamodb.shapes.requests_of import JSON, ODD, damaged, good

from keyplan.dynamodb import shapes
from keyplan.dynamodb.values.encoding import PYTHON, WIRE, Form
from keyplan.engine.commands import command
from keyplan.engine.operations import batch_write_item, delete_item, put_item, transact_write_items, update_item
from keyplan.engine.operations import batch_write_item as batch_write_item_request
from keyplan.engine.operations import delete_item as delete_item_request
from keyplan.engine.operations import put_item as put_item_request
from keyplan.engine.operations import transact_write_items as transact_write_items_request
from keyplan.engine.operations import update_item as update_item_request
from keyplan.errors import SerializationError, ServiceError

PREPARED: dict[str, Callable[[dict[str, Any], Form], Any]] = {
    "PutItem": put_item.prepare,
    "BatchWriteItem": batch_write_item.prepare,
    "TransactWriteItems": transact_write_items.prepare,
    "UpdateItem": update_item.prepare,
    "DeleteItem": delete_item.prepare,
}
SHAPES = {
    "PutItem": put_item_request.SHAPE,
    "BatchWriteItem": batch_write_item_request.SHAPE,
    "TransactWriteItems": transact_write_items_request.SHAPE,
    "UpdateItem": update_item_request.SHAPE,
    "DeleteItem": delete_item_request.SHAPE,
}
FORMS = pytest.mark.parametrize("form", [WIRE, PYTHON], ids=["wire", "python"])
OPERATIONS = pytest.mark.parametrize("operation", sorted(PREPARED))
DRAWN = {
    (name, form.wire): good(shape, form.wire) | damaged(good(shape, form.wire), form.wire)
    for name, shape in SHAPES.items()
    for form in (WIRE, PYTHON)
}
RELAXED = settings(deadline=None, suppress_health_check=list(HealthCheck))


def outcome(operation: str, request: Any, form: Form, check: shapes.Check) -> Any:
    """Return the prepared request or the service's error; any other exception is a bug."""
    given_request = copy.deepcopy(request) if form.wire else request  # conversions change it in place
    try:
        check(given_request, form.wire)
        return re.sub(" at 0x[0-9a-f]+", "", repr(PREPARED[operation](given_request, form)))
    except ServiceError as error:
        return type(error), error.message, repr(error.members)


def assert_agrees(operation: str, request: Any, form: Form) -> None:
    checked = command(operation)
    assert checked is not None
    assert outcome(operation, request, form, checked.quick_check) == outcome(operation, request, form, checked.check)


def with_item(operation: str, item: Any) -> dict[str, Any]:
    if operation == "PutItem":
        return {"TableName": "abc", "Item": item}
    if operation in ("UpdateItem", "DeleteItem"):
        return {"TableName": "abc", "Key": item}
    if operation == "TransactWriteItems":
        key = {"TableName": "abc", "Key": item}
        puts = [{"Put": {"TableName": "abc", "Item": stored_item}} for stored_item in ({"pk": {"S": "a"}}, item)]
        return {
            "TransactItems": [
                *puts,
                {"Delete": key},
                {"Update": {**key, "UpdateExpression": "SET a = b"}},
                {"ConditionCheck": {**key, "ConditionExpression": "attribute_exists(a)"}},
                {"Put": {"TableName": "abc", "Item": {"pk": {"N": "no number"}}}},
            ]
        }
    return {"RequestItems": {"abc": [{"PutRequest": {"Item": {"pk": {"S": "a"}}}}, {"PutRequest": {"Item": item}}]}}


def with_values(operation: str, values: Any, *, expression: bool) -> dict[str, Any]:
    """Return a request whose expression, if it has one, uses `:a`."""
    members: dict[str, Any] = {"TableName": "abc", "ExpressionAttributeValues": values}
    if expression:
        members["ConditionExpression"] = "a = :a"
    item = {"pk": {"S": "a"}}
    if operation == "TransactWriteItems":
        return {"TransactItems": [{"Put": {**members, "Item": item}}, {"Delete": {**members, "Key": item}}]}
    return {**members, "Item" if operation == "PutItem" else "Key": item}


@OPERATIONS
@FORMS
@RELAXED
@given(data=st.data())
def test_damaged_requests_get_the_same_error_with_late_checks(operation: str, form: Form, data: st.DataObject) -> None:
    assert_agrees(operation, data.draw(DRAWN[operation, form.wire]), form)


@OPERATIONS
@FORMS
@RELAXED
@given(data=st.data())
def test_items_of_any_content_get_the_same_error(operation: str, form: Form, data: st.DataObject) -> None:
    anything = JSON if form.wire else JSON | ODD
    kinds = st.sampled_from(["S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "L", "M", "X"])
    values = st.dictionaries(kinds, anything, min_size=1, max_size=2) | anything
    nested = (
        values | st.builds(lambda inner: {"M": {"a": inner}}, values) | st.builds(lambda inner: {"L": [inner]}, values)
    )
    item = data.draw(st.dictionaries(st.text(max_size=2), nested, max_size=3) | anything)
    assert_agrees(operation, with_item(operation, item), form)


@OPERATIONS
@pytest.mark.parametrize(
    "value",
    [
        {"S": 5},
        {"S": b"a"},
        {"S": ["a"]},
        {"N": 5},
        {"N": b"5"},
        {"SS": "ab"},
        {"SS": [b"a"]},
        {"SS": {"a": 1}},
        {"NS": ("1", 2)},
        {"BS": "ab"},
        {"B": 5},
        {"B": range(3)},
        {"BOOL": 1},
        {"BOOL": "yes"},
        {"NULL": "yes"},
        {"L": {"S": "a"}},
        {"L": "S"},
        {"L": [None]},
        {"M": [("a", {"S": "a"})]},
        {"M": {"a": None}},
        {"M": {5: {"S": "a"}}},
        {"S": "a", "X": 5},
        {"S": "a", "N": None},
        "S",
        ["S"],
        None,
        5,
    ],
)
def test_content_of_another_type_gets_the_same_error(operation: str, value: Any) -> None:
    for form in (WIRE, PYTHON):
        assert_agrees(operation, with_item(operation, {"pk": {"S": "a"}, "a": value}), form)
        assert_agrees(operation, with_item(operation, {"a": {"L": [value]}}), form)


@pytest.mark.parametrize("operation", sorted(PREPARED.keys() - {"BatchWriteItem"}))
@pytest.mark.parametrize(
    "values",
    [
        {},
        None,
        5,
        [],
        {":a": {"S": 5}},
        {":a": {"S": "a"}, ":b": {"S": 5}},
        {":a": {"N": "no number"}},
        {":a": {"S": "a", "N": None}},
        {":a": {"S": "a", "X": 5}},
        {":a": {"BOOL": "yes"}},
        {":a": {"L": [None]}},
        {":a": None},
        {":a": {}},
        {"a": {"S": 5}},
        {5: {"S": "a"}},
        {"": {"S": "a"}},
    ],
)
def test_placeholder_values_get_the_same_error(operation: str, values: Any) -> None:
    for expression in (True, False):
        for form in (WIRE, PYTHON):
            assert_agrees(operation, with_values(operation, values, expression=expression), form)


@OPERATIONS
@pytest.mark.parametrize("value", [{"S": "\ud800"}, {"SS": ["\ud800"]}, {"M": {"\ud800": {"S": "a"}}}])
def test_text_without_utf8_encoding_gets_the_same_error(operation: str, value: Any) -> None:
    assert_agrees(operation, with_item(operation, {"pk": value}), PYTHON)
    assert_agrees(operation, with_item(operation, {"\ud800": value}), PYTHON)
    if operation != "BatchWriteItem":
        assert_agrees(operation, with_values(operation, {":a": value}, expression=True), PYTHON)
        assert_agrees(operation, with_values(operation, {":\ud800": value}, expression=True), PYTHON)


@pytest.mark.parametrize("text", ["YQ=", "YR==", "Y?==", "é"])
def test_base64_is_checked_strictly(text: str) -> None:
    for value in ({"B": text}, {"BS": [text]}):
        assert_agrees("PutItem", with_item("PutItem", {"pk": value}), WIRE)


def test_words_for_true_are_converted_before_the_write() -> None:
    request = with_item("PutItem", {"pk": {"S": "a"}, "a": {"BOOL": "yes"}, "b": {"L": [{"NULL": "TRUE"}]}})
    put = put_item.prepare(request, WIRE)
    assert put.new.body == b'{"pk":{"S":"a"},"a":{"BOOL":true},"b":{"L":[{"NULL":true}]}}'


def test_types_are_checked_before_rules() -> None:
    request = with_item("PutItem", {"pk": {"S": 5}}) | {"ConditionExpression": "a", "Expected": {}}
    with pytest.raises(SerializationError):
        put_item.prepare(request, PYTHON)
