"""DeleteBackup: at once and permanently, but not system backups, and not during a restore."""

from __future__ import annotations

from tests.engine import tables_of
from tests.engine.backup_making import NOW, Harness, stored_trees
from tests.engine.table_making import failure

from keyplan import limits
from keyplan.engine import fsck


def test_the_response_describes_the_deleted_backup() -> None:
    harness = Harness()
    before = stored_trees(harness.engine)
    arn = harness.back_up()
    description = harness.call("DescribeBackup", BackupArn=arn)["BackupDescription"]
    answer = harness.call("DeleteBackup", BackupArn=arn)["BackupDescription"]
    assert answer.pop("BackupDetails") == {**description.pop("BackupDetails"), "BackupStatus": "DELETED"}
    assert answer == description
    missing = ("BackupNotFoundException", f"Backup not found: {arn}")
    for operation in ("DescribeBackup", "DeleteBackup"):
        assert failure(harness.engine, operation, {"BackupArn": arn}) == missing
    assert harness.summaries() == []
    assert stored_trees(harness.engine) == before


def test_a_backup_being_restored_cannot_be_deleted() -> None:
    harness = Harness(state_delay_s=5)
    arn = harness.back_up()
    harness.clock.advance(5)
    harness.restore(arn)
    request = {"BackupArn": arn}
    busy = ("BackupInUseException", f"Backup is being used to restore table: {arn}")
    assert failure(harness.engine, "DeleteBackup", request) == busy
    harness.clock.advance(5)
    harness.call("DeleteBackup", **request)
    assert harness.call("DescribeTable", TableName="restored")["Table"]["TableStatus"] == "ACTIVE"


def test_the_backup_of_a_deleted_table_belongs_to_the_service() -> None:
    harness = Harness(**tables_of.with_index())
    harness.put("a", g={"S": "g"})
    harness.enable_recovery()
    harness.call("DeleteTable", TableName="things")
    assert harness.summaries() == []
    (summary,) = harness.call("ListBackups", BackupType="SYSTEM")["BackupSummaries"]
    arn = summary["BackupArn"]
    assert arn.endswith("/backup/01700000000000-00000000")
    assert summary["BackupExpiryDateTime"] == NOW + limits.SYSTEM_BACKUP_RETENTION_S
    assert failure(harness.engine, "DeleteBackup", {"BackupArn": arn}) == (
        "ValidationException",
        (
            f"Invalid Request: User is not allowed to delete the system backup with arn {arn}. "
            "It will automatically expire on 2023-12-19T22:13:20Z"
        ),
    )
    harness.restore(arn, "things")
    assert harness.names(IndexName="by_g") == ["a"]
    assert fsck.check(harness.engine) == []


def test_a_table_without_recovery_leaves_no_backup() -> None:
    harness = Harness()
    harness.enable_recovery()
    harness.disable_recovery()
    harness.call("DeleteTable", TableName="things")
    assert harness.summaries(BackupType="ALL") == []
    assert stored_trees(harness.engine) == set()


def test_the_backup_of_a_deleted_table_is_removed_after_35_days() -> None:
    harness = Harness()
    for _ in range(2):
        harness.enable_recovery()
        harness.call("DeleteTable", TableName="things")
        tables_of.create(harness.engine)
    harness.call("DeleteTable", TableName="things")
    assert harness.summaries(BackupType="ALL") == ["things$DeletedTableBackup"] * 2
    arn = harness.call("ListBackups", BackupType="ALL")["BackupSummaries"][0]["BackupArn"]
    harness.clock.advance(limits.SYSTEM_BACKUP_RETENTION_S)
    assert harness.summaries(BackupType="ALL") == []
    assert failure(harness.engine, "DescribeBackup", {"BackupArn": arn})[0] == "BackupNotFoundException"
    assert stored_trees(harness.engine) != set()
    assert harness.engine.trim_history() == 2
    assert stored_trees(harness.engine) == set()


def test_a_table_deleted_with_a_delay_is_backed_up_in_its_last_state() -> None:
    harness = Harness(state_delay_s=5)
    harness.put("a")
    harness.enable_recovery()
    harness.call("DeleteTable", TableName="things")
    assert harness.summaries(BackupType="SYSTEM") == ["things$DeletedTableBackup"]
    harness.clock.advance(5)
    tables_of.create(harness.engine)
    assert harness.summaries(BackupType="SYSTEM") == ["things$DeletedTableBackup"]
