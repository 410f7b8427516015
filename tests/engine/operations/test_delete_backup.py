"""DeleteBackup: at once and permanently, but not system backups, and not during a restore."""

from __future__ import annotations

from tests.engine import tables_of
from tests.engine.backup_making import NOW, Kept, stored_trees
from tests.engine.table_making import failure

from keyplan import limits
from keyplan.engine import fsck


def test_the_response_describes_the_deleted_backup() -> None:
    kept = Kept()
    before = stored_trees(kept.engine)
    arn = kept.back_up()
    description = kept.call("DescribeBackup", BackupArn=arn)["BackupDescription"]
    answer = kept.call("DeleteBackup", BackupArn=arn)["BackupDescription"]
    assert answer.pop("BackupDetails") == {**description.pop("BackupDetails"), "BackupStatus": "DELETED"}
    assert answer == description
    gone = ("BackupNotFoundException", f"Backup not found: {arn}")
    for operation in ("DescribeBackup", "DeleteBackup"):
        assert failure(kept.engine, operation, {"BackupArn": arn}) == gone
    assert kept.summaries() == []
    assert stored_trees(kept.engine) == before


def test_a_backup_being_restored_cannot_be_deleted() -> None:
    kept = Kept(state_delay_s=5)
    arn = kept.back_up()
    kept.clock.advance(5)
    kept.restore(arn)
    request = {"BackupArn": arn}
    busy = ("BackupInUseException", f"Backup is being used to restore table: {arn}")
    assert failure(kept.engine, "DeleteBackup", request) == busy
    kept.clock.advance(5)
    kept.call("DeleteBackup", **request)
    assert kept.call("DescribeTable", TableName="restored")["Table"]["TableStatus"] == "ACTIVE"


def test_the_backup_of_a_deleted_table_belongs_to_the_service() -> None:
    kept = Kept(**tables_of.with_index())
    kept.put("a", g={"S": "g"})
    kept.keep()
    kept.call("DeleteTable", TableName="things")
    assert kept.summaries() == []
    (summary,) = kept.call("ListBackups", BackupType="SYSTEM")["BackupSummaries"]
    arn = summary["BackupArn"]
    assert arn.endswith("/backup/01700000000000-00000000")
    assert summary["BackupExpiryDateTime"] == NOW + limits.SYSTEM_BACKUP_RETENTION_S
    assert failure(kept.engine, "DeleteBackup", {"BackupArn": arn}) == (
        "ValidationException",
        (
            f"Invalid Request: User is not allowed to delete the system backup with arn {arn}. "
            "It will automatically expire on 2023-12-19T22:13:20Z"
        ),
    )
    kept.restore(arn, "things")
    assert kept.names(IndexName="by_g") == ["a"]
    assert fsck.check(kept.engine) == []


def test_a_table_without_recovery_leaves_no_backup() -> None:
    kept = Kept()
    kept.keep()
    kept.forget()
    kept.call("DeleteTable", TableName="things")
    assert kept.summaries(BackupType="ALL") == []
    assert stored_trees(kept.engine) == set()


def test_the_backup_of_a_deleted_table_is_removed_after_35_days() -> None:
    kept = Kept()
    for _ in range(2):
        kept.keep()
        kept.call("DeleteTable", TableName="things")
        tables_of.create(kept.engine)
    kept.call("DeleteTable", TableName="things")
    assert kept.summaries(BackupType="ALL") == ["things$DeletedTableBackup"] * 2
    arn = kept.call("ListBackups", BackupType="ALL")["BackupSummaries"][0]["BackupArn"]
    kept.clock.advance(limits.SYSTEM_BACKUP_RETENTION_S)
    assert kept.summaries(BackupType="ALL") == []
    assert failure(kept.engine, "DescribeBackup", {"BackupArn": arn})[0] == "BackupNotFoundException"
    assert stored_trees(kept.engine) != set()
    assert kept.engine.trim_history() == 2
    assert stored_trees(kept.engine) == set()


def test_a_table_deleted_with_a_delay_is_backed_up_in_its_last_state() -> None:
    kept = Kept(state_delay_s=5)
    kept.put("a")
    kept.keep()
    kept.call("DeleteTable", TableName="things")
    assert kept.summaries(BackupType="SYSTEM") == ["things$DeletedTableBackup"]
    kept.clock.advance(5)
    tables_of.create(kept.engine)
    assert kept.summaries(BackupType="SYSTEM") == ["things$DeletedTableBackup"]
