"""Parameters that botocore refuses are refused, and those that it converts are converted."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from botocore.exceptions import ParamValidationError

from keyplan.errors import SerializationError, ValidationError
from keyplan.testing.boto import attach

KEY = {"id": {"S": "7"}}

REFUSED: dict[str, tuple[str, dict[Any, Any]]] = {
    "unknown member": ("get_item", {"TableName": "t", "Key": KEY, "Tablename": "t"}),
    "required member missing": ("get_item", {"TableName": "t"}),
    "nothing where something is required": ("put_item", {}),
    "none": ("scan", {"TableName": "t", "Limit": None}),
    "text for a number": ("scan", {"TableName": "t", "Limit": "5"}),
    "number too small": ("scan", {"TableName": "t", "Limit": 0}),
    "number for a boolean": ("get_item", {"TableName": "t", "Key": KEY, "ConsistentRead": 1}),
    "empty name": ("describe_table", {"TableName": ""}),
    "list for a map": ("get_item", {"TableName": "t", "Key": [KEY]}),
    "value that is no attribute value": ("get_item", {"TableName": "t", "Key": {"id": "7"}}),
    "bytes for a value": ("get_item", {"TableName": "t", "Key": {"id": b"x"}}),
    "value that is None": ("get_item", {"TableName": "t", "Key": {"id": None}}),
    "number for a list": ("put_item", {"TableName": "t", "Item": {"id": {"L": 5}}}),
    "list for a map of values": ("put_item", {"TableName": "t", "Item": {"id": {"M": [{"S": "7"}]}}}),
    "value with an unknown member": (
        "put_item",
        {"TableName": "t", "Item": {"id": {"S": "7", "Unknown": "x"}}},
    ),
    "value with an unknown member, deeper": (
        "put_item",
        {"TableName": "t", "Item": {"id": {"L": [{"M": {"a": {"S": "7", "N": None}}}]}}},
    ),
    "name that is no text": ("get_item", {"TableName": "t", "Key": {7: {"S": "7"}}}),
    "unknown member of a batch": (
        "batch_write_item",
        {"RequestItems": {"t": [{"PutRequest": {"Item": KEY, "Key": KEY}}]}},
    ),
    "empty batch for a table": ("batch_write_item", {"RequestItems": {"t": []}}),
    "unknown member of a transaction": (
        "transact_write_items",
        {"TransactItems": [{"Put": {"TableName": "t", "Item": KEY, "Upsert": True}}]},
    ),
    "required member missing in a transaction": (
        "transact_get_items",
        {"TransactItems": [{"Get": {"Key": KEY}}]},
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_parameters_that_botocore_rejects_never_reach_the_engine(name: str, client: Any, scripted: Any) -> None:
    engine = scripted()
    attach(client, engine)
    method, params = REFUSED[name]
    with pytest.raises(ParamValidationError):
        getattr(client, method)(**params)
    assert engine.calls == []


@pytest.mark.parametrize("error", [SerializationError("no"), ValidationError("no")])
def test_unreadable_values_are_validated_by_botocore(client: Any, scripted: Any, error: Exception) -> None:
    attach(client, scripted(error))
    with pytest.raises(ParamValidationError, match=r"Item\.id\.N"):
        client.put_item(TableName="t", Item={"id": {"N": 7}})


def test_values_that_botocore_converts_are_sent_converted(client: Any, scripted: Any) -> None:
    engine = scripted(SerializationError("no bytes"), {})
    attach(client, engine)
    client.put_item(
        TableName="t",
        Item={
            "text": {"B": "grün"},
            "array": {"B": bytearray(b"\x00\x01")},
            "deep": {"L": ({"M": {"set": {"BS": ("a", b"b")}}},)},
        },
    )
    assert engine.calls[-1][1]["Item"] == {
        "text": {"B": "grün".encode()},
        "array": {"B": b"\x00\x01"},
        "deep": {"L": [{"M": {"set": {"BS": [b"a", b"b"]}}}]},
    }


def test_a_tuple_is_sent_as_a_list(client: Any, scripted: Any) -> None:
    engine = scripted()
    attach(client, engine)
    client.batch_get_item(RequestItems={"t": {"Keys": (KEY,)}})
    assert engine.calls == [("BatchGetItem", {"RequestItems": {"t": {"Keys": [KEY]}}})]


def test_a_datetime_is_sent_as_seconds(client: Any, scripted: Any) -> None:
    engine = scripted({"BackupSummaries": []})
    attach(client, engine)
    bound = datetime.datetime(2023, 11, 14, 22, 13, 20, tzinfo=datetime.UTC)
    client.list_backups(TimeRangeLowerBound=bound)
    assert engine.calls == [("ListBackups", {"TimeRangeLowerBound": 1_700_000_000})]


def test_a_client_without_validation_leaves_it_to_the_engine(make_client: Any, scripted: Any) -> None:
    client = make_client(parameter_validation=False)
    attach(client, scripted(ValidationError("the engine said so")))
    with pytest.raises(client.exceptions.from_code("ValidationException"), match="said so"):
        client.get_item(TableName="", Key={})


def test_a_converted_value_that_is_still_invalid_is_rejected_once(client: Any, scripted: Any) -> None:
    engine = scripted(SerializationError("no bytes"), ValidationError("no"))
    attach(client, engine)
    with pytest.raises(client.exceptions.from_code("ValidationException"), match="no"):
        client.put_item(TableName="t", Item={"id": {"B": bytearray()}})
    assert len(engine.calls) == 2
