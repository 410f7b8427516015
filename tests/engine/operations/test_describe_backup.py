"""DescribeBackup: the backup, its source table and that table's features; invalid ARNs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.backup_making import ARN, NOW, Harness
from tests.engine.table_making import failure, index, units

from keyplan.engine.engine import Engine

NOT_FOUND = "arn:aws:dynamodb:us-east-1:123456789012:table/things/backup/01700000000000-0123abcd"


def described(harness: Harness, arn: str) -> dict[str, Any]:
    """Return the BackupDescription."""
    description: dict[str, Any] = harness.call("DescribeBackup", BackupArn=arn)["BackupDescription"]
    return description


def test_a_plain_table_has_no_features_listed() -> None:
    harness = Harness()
    harness.put("a")
    table = harness.call("DescribeTable", TableName="things")["Table"]
    arn = harness.back_up()
    harness.put("b")
    assert described(harness, arn) == {
        "BackupDetails": {
            "BackupArn": arn,
            "BackupName": "before",
            "BackupSizeBytes": 4,
            "BackupStatus": "AVAILABLE",
            "BackupType": "USER",
            "BackupCreationDateTime": NOW,
        },
        "SourceTableDetails": {
            "TableName": "things",
            "TableId": table["TableId"],
            "TableArn": ARN,
            "TableSizeBytes": 4,
            "KeySchema": table["KeySchema"],
            "TableCreationDateTime": NOW,
            "ProvisionedThroughput": units(0, 0),
            "ItemCount": 1,
            "BillingMode": "PAY_PER_REQUEST",
        },
        "SourceTableFeatureDetails": {},
    }


def test_features_are_described_as_they_were_at_the_backup() -> None:
    harness = Harness(
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units(3, 4),
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in "psg"],
        GlobalSecondaryIndexes=[index("by-g", "g", ProvisionedThroughput=units(5, 6))],
        LocalSecondaryIndexes=[index("by-l", "p", "g")],
        SSESpecification={"Enabled": True},
        **tables_of.with_stream(),
    )
    harness.call(
        "UpdateTimeToLive", TableName="things", TimeToLiveSpecification={"Enabled": True, "AttributeName": "t"}
    )
    arn = harness.back_up()
    update = {"IndexName": "by-g", "ProvisionedThroughput": units(7, 8)}
    harness.call("UpdateTable", TableName="things", GlobalSecondaryIndexUpdates=[{"Update": update}])
    description = described(harness, arn)
    assert description["SourceTableDetails"]["BillingMode"] == "PROVISIONED"
    assert description["SourceTableDetails"]["ProvisionedThroughput"] == units(3, 4)
    features = description["SourceTableFeatureDetails"]
    assert features.pop("SSEDescription")["SSEType"] == "KMS"
    assert features == {
        "GlobalSecondaryIndexes": [{**index("by-g", "g"), "ProvisionedThroughput": units(5, 6)}],
        "LocalSecondaryIndexes": [index("by-l", "p", "g")],
        "StreamDescription": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        "TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "t"},
    }


def test_maxima_are_described() -> None:
    harness = Harness(OnDemandThroughput={"MaxReadRequestUnits": 7})
    assert described(harness, harness.back_up())["SourceTableDetails"]["OnDemandThroughput"] == {
        "MaxReadRequestUnits": 7
    }


def test_a_backup_outlives_its_table_and_its_process(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with Engine.open(path, clock=tables_of.clock()) as engine:
        tables_of.create(engine)
        tables_of.put(engine, "a")
        request = {"TableName": "things", "BackupName": "before"}
        arn = engine.call("CreateBackup", request)["BackupDetails"]["BackupArn"]
        engine.call("DeleteTable", {"TableName": "things"})
        description = engine.call("DescribeBackup", {"BackupArn": arn})
        engine.snapshot(tmp_path / "copy.db")
    for place in (path, tmp_path / "copy.db"):
        with Engine.open(place, clock=tables_of.clock()) as engine:
            assert engine.call("DescribeBackup", {"BackupArn": arn}) == description
            engine.call("RestoreTableFromBackup", {"BackupArn": arn, "TargetTableName": "things"})
            assert tables_of.get(engine, "a") is not None


@pytest.mark.parametrize("operation", ["DescribeBackup", "DeleteBackup", "RestoreTableFromBackup"])
@pytest.mark.parametrize(
    ("arn", "code", "message"),
    [
        (NOT_FOUND, "BackupNotFoundException", f"Backup not found: {NOT_FOUND}"),
        ("x" * 48, "ValidationException", "Invalid Backup ARN"),
        (ARN, "ValidationException", "Invalid Backup ARN"),
        (NOT_FOUND.replace("aws", "aws-cn"), "ValidationException", "Invalid Request: BackupArn is not valid"),
        (NOT_FOUND.replace("dynamodb", "s3"), "ValidationException", "Invalid Request: BackupArn is not valid"),
        (NOT_FOUND.replace("us-east-1", ""), "AccessDeniedException", "Access is denied"),
        (NOT_FOUND.replace("123456789012", "999999999999"), "AccessDeniedException", "Access is denied"),
    ],
)
def test_an_arn_that_is_not_a_backup_is_rejected(operation: str, arn: str, code: str, message: str) -> None:
    request = {"BackupArn": arn}
    if operation == "RestoreTableFromBackup":
        request["TargetTableName"] = "restored"
    assert failure(Harness().engine, operation, request) == (code, message)
