"""The compiled checks and readers agree with botocore's own walk of its model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.model import ServiceModel
from botocore.session import get_session
from botocore.validate import ParamValidator

from keyplan.testing.shapes import blob_reader, request_check, time_reader

SERVICES = ("dynamodb", "dynamodbstreams")


@pytest.fixture(scope="module")
def models() -> dict[str, ServiceModel]:
    session = get_session()
    return {name: session.get_service_model(name) for name in SERVICES}


def operations(models: dict[str, ServiceModel]) -> Iterator[Any]:
    for model in models.values():
        for name in model.operation_names:
            yield model.operation_model(name)


def test_every_operation_compiles(models: dict[str, ServiceModel]) -> None:
    for operation in operations(models):
        assert not request_check(operation.input_shape)({"NoSuchMember": 1})
        of_request, of_answer = blob_reader(operation.input_shape), time_reader(operation.output_shape)
        assert of_request is None or of_request({"NoSuchMember": 1}) == {"NoSuchMember": 1}
        assert of_answer is None or of_answer({"NoSuchMember": 1}) == {}, "as botocore's parser leaves it out"


def test_responses_of_item_operations_have_no_timestamps(models: dict[str, ServiceModel]) -> None:
    model = models["dynamodb"]
    for name in ("GetItem", "PutItem", "Query", "Scan", "TransactGetItems", "BatchGetItem"):
        assert time_reader(model.operation_model(name).output_shape) is None


def test_tables_and_records_have_timestamps(models: dict[str, ServiceModel]) -> None:
    assert time_reader(models["dynamodb"].operation_model("DescribeTable").output_shape)
    assert time_reader(models["dynamodbstreams"].operation_model("GetRecords").output_shape)


def test_readers_ignore_values_of_another_type(models: dict[str, ServiceModel]) -> None:
    read = blob_reader(models["dynamodb"].operation_model("PutItem").input_shape)
    assert read is not None
    odd: list[Any] = [
        5,
        "x",
        None,
        [],
        {"a": 5},
        {"a": {"L": 5}},
        {"a": {"L": [5]}},
        {"a": {"M": []}},
    ]
    for item in odd:
        assert read({"Item": item}) == {"Item": item}


def test_a_request_without_members_is_valid_only_if_empty(
    models: dict[str, ServiceModel],
) -> None:
    is_sound = request_check(models["dynamodb"].operation_model("DescribeLimits").input_shape)
    assert is_sound({})
    assert not is_sound({"Limit": 1})
    assert request_check(None)({})
    assert not request_check(None)({"Limit": 1})


KEYS = {"id": {"S": "7"}}
SOUND: list[tuple[str, dict[str, Any]]] = [
    ("GetItem", {"TableName": "t", "Key": KEYS, "ConsistentRead": True}),
    ("PutItem", {"TableName": "t", "Item": {**KEYS, "n": {"N": "1"}, "l": {"L": [{"M": {"x": {"BOOL": False}}}]}}}),
    ("BatchGetItem", {"RequestItems": {"t": {"Keys": [KEYS]}}}),
    ("Query", {"TableName": "t", "Limit": 1, "ExpressionAttributeNames": {"#a": "a"}}),
    ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "t", "Key": KEYS}}]}),
]
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("GetItem", {"TableName": 7, "Key": KEYS}),
    ("GetItem", {"TableName": "t"}),
    ("GetItem", {"TableName": "t", "Key": [KEYS]}),
    ("GetItem", {"TableName": "t", "Key": KEYS, "ConsistentRead": "yes"}),
    ("PutItem", {"TableName": "t", "Item": {7: {"S": "7"}}}),
    ("PutItem", {"TableName": "t", "Item": {"id": "7"}}),
    ("PutItem", {"TableName": "t", "Item": {"id": {"S": None}}}),
    ("PutItem", {"TableName": "t", "Item": {"id": {"S": "7", "X": "7"}}}),
    ("PutItem", {"TableName": "t", "Item": {"id": {"L": [{"S": None}]}}}),
    ("PutItem", {"TableName": "t", "Item": {"id": {"M": {7: {"S": "7"}}}}}),
    ("PutItem", {"TableName": "t", "Item": {"id": {"M": [7]}}}),
    ("BatchGetItem", {"RequestItems": {7: {"Keys": [KEYS]}}}),
    ("BatchGetItem", {"RequestItems": {"t": [KEYS]}}),
    ("BatchGetItem", {"RequestItems": {"t": {"Keys": []}}}),
    ("BatchGetItem", {"RequestItems": {"t": {"Keys": [7]}}}),
    ("Query", {"TableName": "t", "Limit": "1"}),
    ("Query", {"TableName": "t", "Limit": 0}),
    ("Query", {"TableName": "t", "ExpressionAttributeNames": {"#a": 7}}),
    ("Query", {"TableName": "t", "ExpressionAttributeNames": {7: "a"}}),
    ("TransactGetItems", {"TransactItems": []}),
    ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "t"}}]}),
]


@pytest.mark.parametrize(("name", "request_"), SOUND)
def test_usual_requests_are_valid(name: str, request_: dict[str, Any], models: dict[str, ServiceModel]) -> None:
    shape = models["dynamodb"].operation_model(name).input_shape
    assert shape is not None
    assert not ParamValidator().validate(request_, shape).has_errors()
    assert request_check(shape)(request_)


@pytest.mark.parametrize(("name", "request_"), REFUSED)
def test_requests_that_botocore_rejects_are_invalid(
    name: str, request_: dict[str, Any], models: dict[str, ServiceModel]
) -> None:
    shape = models["dynamodb"].operation_model(name).input_shape
    assert shape is not None
    assert ParamValidator().validate(request_, shape).has_errors()
    assert not request_check(shape)(request_)
