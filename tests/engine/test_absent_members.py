"""An optional member that is None counts as not given: at every depth, in both forms."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from tests.engine.table_making import ARN, definitions, index, schema, units

from keyplan.clock import ManualClock
from keyplan.dynamodb.shapes.model import List, Map, Shape, Structure
from keyplan.engine.commands import OPERATIONS
from keyplan.engine.engine import Engine

TABLE = {"TableName": "notes"}
KEY = {"id": {"S": "a"}}
ITEM = {**KEY, "state": {"S": "open"}, "color": {"S": "red"}, "n": {"N": "1"}}
STREAM = "the stream's ARN"
KEPT = ("StreamArn", "ShardId", "ShardIterator", "BackupArn")
"""Members whose values earlier answers give."""
IN_BACKGROUND = {
    "DescribeExport", "DescribeImport", "ExportTableToPointInTime", "ImportTable", "ListExports", "ListImports",
}  # fmt: skip
"""Operations whose answers differ from call to call."""

LIFE: list[tuple[str, dict[str, Any]]] = [
    (
        "CreateTable",
        {
            **TABLE,
            "AttributeDefinitions": definitions(id="S", state="S"),
            "KeySchema": schema("id"),
            "ProvisionedThroughput": units(5, 5),
            "GlobalSecondaryIndexes": [index("by-state", "state", ProvisionedThroughput=units(5, 5))],
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        },
    ),
    (
        "CreateTable",
        {
            "TableName": "on-demand",
            "AttributeDefinitions": definitions(id="S", at="N", state="S"),
            "KeySchema": schema("id", "at"),
            "BillingMode": "PAY_PER_REQUEST",
            "LocalSecondaryIndexes": [index("by-state", "id", "state")],
        },
    ),
    ("DescribeTable", TABLE),
    ("ListTables", {}),
    ("PutItem", {**TABLE, "Item": ITEM}),
    ("PutItem", {**TABLE, "Item": ITEM, "Expected": {"id": {"Exists": True, "Value": {"S": "a"}}}}),
    ("PutItem", {"TableName": "on-demand", "Item": {**KEY, "at": {"N": "1"}, "state": {"S": "open"}}}),
    ("GetItem", {**TABLE, "Key": KEY}),
    ("UpdateItem", {**TABLE, "Key": KEY}),
    ("UpdateItem", {**TABLE, "Key": KEY, "UpdateExpression": "SET n = n + n"}),
    ("UpdateItem", {**TABLE, "Key": KEY, "AttributeUpdates": {"m": {"Value": {"N": "1"}}}}),
    ("UpdateItem", {**TABLE, "Key": KEY, "AttributeUpdates": {"m": {"Action": "DELETE"}}}),
    ("Query", {**TABLE, "KeyConditionExpression": "id = :a", "ExpressionAttributeValues": {":a": {"S": "a"}}}),
    (
        "Query",
        {
            **TABLE,
            "IndexName": "by-state",
            "KeyConditions": {"state": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "open"}]}},
        },
    ),
    ("Scan", TABLE),
    ("Scan", {**TABLE, "ScanFilter": {"color": {"ComparisonOperator": "NOT_NULL"}}}),
    ("BatchWriteItem", {"RequestItems": {"notes": [{"PutRequest": {"Item": ITEM}}]}}),
    ("BatchWriteItem", {"RequestItems": {"notes": [{"DeleteRequest": {"Key": {"id": {"S": "none"}}}}]}}),
    ("BatchGetItem", {"RequestItems": {"notes": {"Keys": [KEY]}}}),
    ("TransactGetItems", {"TransactItems": [{"Get": {**TABLE, "Key": KEY}}]}),
    (
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Put": {**TABLE, "Item": {"id": {"S": "b"}}}},
                {"Update": {**TABLE, "Key": {"id": {"S": "c"}}, "UpdateExpression": "REMOVE n"}},
                {"Delete": {**TABLE, "Key": {"id": {"S": "d"}}}},
                {
                    "ConditionCheck": {
                        **TABLE,
                        "Key": KEY,
                        "ConditionExpression": "attribute_exists(id)",
                    }
                },
            ]
        },
    ),
    ("ExecuteStatement", {"Statement": "UPDATE notes SET n = 2 WHERE id = 'a'"}),
    ("ExecuteStatement", {"Statement": "SELECT * FROM notes WHERE id = 'a'"}),
    ("BatchExecuteStatement", {"Statements": [{"Statement": "SELECT n FROM notes WHERE id = 'a'"}]}),
    ("ExecuteTransaction", {"TransactStatements": [{"Statement": "SELECT * FROM notes WHERE id = 'a'"}]}),
    (
        "UpdateContinuousBackups",
        {**TABLE, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}},
    ),
    ("DescribeContinuousBackups", TABLE),
    ("CreateBackup", {**TABLE, "BackupName": "kept"}),
    ("ListBackups", {}),
    ("DescribeBackup", {"BackupArn": ""}),
    ("RestoreTableFromBackup", {"BackupArn": "", "TargetTableName": "from-backup"}),
    (
        "RestoreTableToPointInTime",
        {"SourceTableName": "notes", "TargetTableName": "as-it-was", "UseLatestRestorableTime": True},
    ),
    ("DeleteBackup", {"BackupArn": ""}),
    ("DeleteItem", {**TABLE, "Key": KEY}),
    ("UpdateTable", {**TABLE, "ProvisionedThroughput": units(6, 6)}),
    (
        "UpdateTable",
        {
            **TABLE,
            "GlobalSecondaryIndexUpdates": [
                {"Update": {"IndexName": "by-state", "ProvisionedThroughput": units(7, 7)}}
            ],
        },
    ),
    ("UpdateTable", {**TABLE, "BillingMode": "PAY_PER_REQUEST"}),
    (
        "UpdateTable",
        {
            **TABLE,
            "AttributeDefinitions": definitions(color="S"),
            "GlobalSecondaryIndexUpdates": [{"Create": index("by-color", "color")}],
        },
    ),
    ("DescribeTable", TABLE),
    ("UpdateTimeToLive", {**TABLE, "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "until"}}),
    ("DescribeTimeToLive", TABLE),
    ("TagResource", {"ResourceArn": ARN + "notes", "Tags": [{"Key": "a", "Value": "b"}]}),
    ("ListTagsOfResource", {"ResourceArn": ARN + "notes"}),
    ("UntagResource", {"ResourceArn": ARN + "notes", "TagKeys": ["a"]}),
    ("ListStreams", {}),
    ("DescribeStream", {"StreamArn": STREAM}),
    ("GetShardIterator", {"StreamArn": STREAM, "ShardId": "", "ShardIteratorType": "TRIM_HORIZON"}),
    ("GetRecords", {"ShardIterator": ""}),
    ("DescribeLimits", {}),
    ("DescribeEndpoints", {}),
    ("DeleteTable", TABLE),
]


def with_nones(shape: Shape, content: Any) -> Any:
    """Return the content with None for every member that is allowed and not given."""
    if isinstance(shape, Structure):
        absent = dict.fromkeys(name for name in shape.members if name not in content)
        values = {name: with_nones(shape.members[name], inner) for name, inner in content.items()}
        return {**absent, **values}
    if isinstance(shape, Map):
        return {name: with_nones(shape.value, inner) for name, inner in content.items()}
    if isinstance(shape, List):
        return [with_nones(shape.element, inner) for inner in content]
    return content


def plain(_shape: Shape, content: Any) -> Any:
    return content


def all_responses(filled: Callable[[Shape, Any], Any], *, wire: bool) -> list[Any]:
    """Return the answers to all requests in order, each as changed by `filled`."""
    responses: list[Any] = []
    entries: dict[str, str] = {}
    with Engine.memory(clock=ManualClock()) as engine:
        for operation, template in LIFE:
            request = copy.deepcopy(template)
            request.update({name: entries[name] for name in KEPT if name in request})
            request = filled(OPERATIONS[operation]()[0], request)
            response = engine.call_wire(operation, request) if wire else engine.call(operation, request)
            responses.append(orjson.loads(orjson.dumps(response)))
            if operation == "ListStreams":
                entries["StreamArn"] = responses[-1]["Streams"][0]["StreamArn"]
            elif operation == "DescribeStream":
                entries["ShardId"] = responses[-1]["StreamDescription"]["Shards"][0]["ShardId"]
            elif operation == "CreateBackup":
                entries["BackupArn"] = responses[-1]["BackupDetails"]["BackupArn"]
            elif operation == "GetShardIterator":
                entries["ShardIterator"] = responses[-1]["ShardIterator"]
    return responses


@pytest.mark.parametrize("wire", [True, False], ids=["wire", "python"])
def test_none_equals_an_absent_member(wire: bool) -> None:
    for (operation, _), with_them, without in zip(
        LIFE, all_responses(with_nones, wire=wire), all_responses(plain, wire=wire), strict=True
    ):
        assert with_them == without, operation


def test_every_operation_is_called() -> None:
    assert {operation for operation, _ in LIFE} == OPERATIONS.keys() - IN_BACKGROUND
