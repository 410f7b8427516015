"""RestoreTableFromBackup: restored and omitted settings, overrides, conflicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.backup_making import ARN, NOW, Harness
from tests.engine.table_making import failure, index

from keyplan.engine import fsck
from keyplan.engine.engine import Engine
from keyplan.engine.tables import backfill

INDEXED: dict[str, Any] = {
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in "psgl"],
    "GlobalSecondaryIndexes": [index("by-g", "g")],
    "LocalSecondaryIndexes": [index("by-l", "p", "l")],
}


def described(harness: Harness, table: str = "restored") -> dict[str, Any]:
    """Return the TableDescription."""
    description: dict[str, Any] = harness.call("DescribeTable", TableName=table)["Table"]
    return description


def test_the_response_describes_a_restore_in_progress() -> None:
    harness = Harness()
    arn = harness.back_up()
    harness.clock.advance(10)
    description = harness.restore(arn)
    assert description["TableStatus"] == "CREATING"
    assert description["RestoreSummary"] == {
        "SourceBackupArn": arn,
        "SourceTableArn": ARN,
        "RestoreDateTime": NOW,
        "RestoreInProgress": True,
    }
    after = described(harness)
    assert after["TableStatus"] == "ACTIVE"
    assert after["CreationDateTime"] == NOW + 10
    assert after["TableArn"] == ARN.replace("things", "restored")
    assert after["TableId"] != described(harness, "things")["TableId"]
    assert "RestoreSummary" not in after


def test_items_and_indexes_are_restored() -> None:
    harness = Harness(**INDEXED)
    for number in range(600):
        harness.put(f"p{number % 40}", f"{number}", g={"S": f"{number % 3}"}, l={"S": f"{number}"})
    harness.put("without")
    arn = harness.back_up()
    harness.restore(arn)
    for request in ({}, {"IndexName": "by-g"}, {"IndexName": "by-l"}):
        assert harness.items("restored", **request) == harness.items("things", **request)
    assert fsck.check(harness.engine) == []
    write = {"TableName": "restored", "Item": {**tables_of.key("p1"), "l": {"S": "new"}}}
    metrics = harness.call("PutItem", **write, ReturnItemCollectionMetrics="SIZE")["ItemCollectionMetrics"]
    assert metrics["ItemCollectionKey"] == {"p": {"S": "p1"}}
    assert fsck.check(harness.engine) == []


def test_only_capacity_and_encryption_settings_are_restored() -> None:
    harness = Harness(
        SSESpecification={"Enabled": True},
        OnDemandThroughput={"MaxReadRequestUnits": 100, "MaxWriteRequestUnits": 50},
        TableClass="STANDARD_INFREQUENT_ACCESS",
        DeletionProtectionEnabled=True,
        Tags=[{"Key": "k", "Value": "v"}],
        **tables_of.with_stream(),
    )
    harness.call(
        "UpdateTimeToLive", TableName="things", TimeToLiveSpecification={"Enabled": True, "AttributeName": "t"}
    )
    harness.enable_recovery()
    harness.restore(harness.back_up())
    description, source = described(harness), described(harness, "things")
    for member in ("SSEDescription", "OnDemandThroughput", "BillingModeSummary", "KeySchema", "AttributeDefinitions"):
        assert description[member] == source[member], member
    assert not {"StreamSpecification", "LatestStreamArn", "TableClassSummary"} & description.keys()
    assert description["DeletionProtectionEnabled"] is False
    assert harness.call("ListTagsOfResource", ResourceArn=description["TableArn"])["Tags"] == []
    expiry = harness.call("DescribeTimeToLive", TableName="restored")["TimeToLiveDescription"]
    assert expiry == {"TimeToLiveStatus": "DISABLED"}
    recovery = harness.call("DescribeContinuousBackups", TableName="restored")["ContinuousBackupsDescription"]
    assert recovery["PointInTimeRecoveryDescription"] == {"PointInTimeRecoveryStatus": "DISABLED"}


def test_a_restore_is_delayed_like_other_state_changes() -> None:
    harness = Harness(**INDEXED, state_delay_s=5)
    harness.put("a", g={"S": "g"})
    arn = harness.back_up()
    harness.clock.advance(5)
    harness.restore(arn)
    assert described(harness)["RestoreSummary"]["RestoreInProgress"] is True
    assert failure(harness.engine, "Scan", {"TableName": "restored"})[0] == "ResourceNotFoundException"
    assert failure(harness.engine, "DeleteTable", {"TableName": "restored"})[0] == "ResourceInUseException"
    request = {"BackupArn": arn, "TargetTableName": "second"}
    busy = ("BackupInUseException", f"Backup is being used to restore another table: {arn}")
    assert failure(harness.engine, "RestoreTableFromBackup", request) == busy
    harness.clock.advance(5)
    assert described(harness)["TableStatus"] == "ACTIVE"
    assert harness.names("restored", IndexName="by-g") == ["a"]
    harness.call("RestoreTableFromBackup", **request)


def test_a_large_table_is_creating_until_its_indexes_are_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data.db"
    with Engine.open(path, clock=tables_of.clock()) as engine:
        tables_of.create(engine, **INDEXED)
        for number in range(300):
            tables_of.put(engine, f"n{number}", g={"S": "g"}, l={"S": "l"})
        response = engine.call("CreateBackup", {"TableName": "things", "BackupName": "before"})
        monkeypatch.setattr(backfill, "CHUNKS_AT_ONCE", 0)
        monkeypatch.setattr(backfill.Backfiller, "_pending", lambda _: [])
        request = {"BackupArn": response["BackupDetails"]["BackupArn"], "TargetTableName": "restored"}
        engine.call("RestoreTableFromBackup", request)
        description = engine.call("DescribeTable", {"TableName": "restored"})["Table"]
        assert (description["TableStatus"], description["RestoreSummary"]["RestoreInProgress"]) == ("CREATING", True)
        assert failure(engine, "Scan", {"TableName": "restored"})[0] == "ResourceNotFoundException"
        assert fsck.check(engine) == []
    monkeypatch.undo()
    with Engine.open(path, clock=tables_of.clock()) as engine:  # the next process that opens the file does the rest
        engine.backfiller.wait()
        assert engine.call("DescribeTable", {"TableName": "restored"})["Table"]["TableStatus"] == "ACTIVE"
        assert engine.call("Scan", {"TableName": "restored", "IndexName": "by-l"})["Count"] == 300
        assert fsck.check(engine) == []


def test_another_process_sees_when_the_table_is_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.db"
    with Engine.open(path, clock=tables_of.clock()) as first, Engine.open(path, clock=tables_of.clock()) as other:
        tables_of.create(first, **INDEXED)
        response = first.call("CreateBackup", {"TableName": "things", "BackupName": "before"})
        for engine in (first, other):
            engine.backfiller.wait()  # a thread that still looks for work would fill the restored table
        with monkeypatch.context() as patch:
            patch.setattr(backfill, "CHUNKS_AT_ONCE", 0)
            patch.setattr(backfill.Backfiller, "_pending", lambda _: [])
            request = {"BackupArn": response["BackupDetails"]["BackupArn"], "TargetTableName": "restored"}
            first.call("RestoreTableFromBackup", request)
            assert failure(other, "Scan", {"TableName": "restored"})[0] == "ResourceNotFoundException"
        first.backfiller.wake()
        first.backfiller.wait()
        assert other.call("Scan", {"TableName": "restored"})["Count"] == 0


# Conflicts.


def test_an_existing_target_table_is_in_use() -> None:
    harness = Harness(state_delay_s=5)
    arn = harness.back_up()
    harness.clock.advance(5)
    request = {"BackupArn": arn, "TargetTableName": "things"}
    exists = ("TableAlreadyExistsException", "Table already exists: things")
    assert failure(harness.engine, "RestoreTableFromBackup", request) == exists
    harness.call("DeleteTable", TableName="things")
    assert failure(harness.engine, "RestoreTableFromBackup", request) == exists
    harness.clock.advance(5)
    harness.call("RestoreTableFromBackup", **request)
    assert failure(harness.engine, "RestoreTableFromBackup", request) == (
        "TableInUseException",
        f"Table: things is already being restored from backup: {arn}",
    )
    assert failure(harness.engine, "CreateTable", {
        "TableName": "things",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    })[0] == "ResourceInUseException"  # fmt: skip
    harness.clock.advance(5)
    tables_of.create(harness.engine, "more")
    assert failure(harness.engine, "RestoreTableFromBackup", {**request, "TargetTableName": "more"}) == (
        "TableInUseException",
        "Table is being created: more",
    )
