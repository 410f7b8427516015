"""CreateBackup: a copy as of now, which later changes do not affect."""

from __future__ import annotations

import re

import pytest
from tests.engine import tables_of
from tests.engine.backup_making import ARN, NOW, Harness
from tests.engine.table_making import failure

from keyplan.engine.engine import Engine


def test_the_response_describes_an_unfinished_backup() -> None:
    harness = Harness()
    harness.put("a")
    details = harness.call("CreateBackup", TableName="things", BackupName="before")["BackupDetails"]
    arn = details.pop("BackupArn")
    assert re.fullmatch(re.escape(f"{ARN}/backup/01700000000000-") + "[0-9a-f]{8}", arn)
    assert details == {
        "BackupName": "before",
        "BackupSizeBytes": 4,
        "BackupStatus": "CREATING",
        "BackupType": "USER",
        "BackupCreationDateTime": NOW,
    }
    assert (
        harness.call("DescribeBackup", BackupArn=arn)["BackupDescription"]["BackupDetails"]["BackupStatus"]
        == "AVAILABLE"
    )


def test_names_are_not_unique() -> None:
    harness = Harness()
    assert len({harness.back_up("same") for _ in range(3)}) == 3
    assert harness.summaries() == ["same"] * 3


def test_a_backup_contains_the_items_of_its_time() -> None:
    harness = Harness()
    harness.put("a", x={"S": "old"})
    arn = harness.back_up()
    harness.put("a", x={"S": "new"})
    harness.put("b")
    harness.restore(arn)
    assert harness.items("restored") == [{**tables_of.key("a"), "x": {"S": "old"}}]


def test_the_table_may_be_named_by_its_arn() -> None:
    harness = Harness()
    harness.back_up(table=ARN)
    assert harness.summaries(TableName="things") == ["before"]


def test_a_missing_table_is_not_found() -> None:
    harness = Harness()
    request = {"TableName": "others", "BackupName": "before"}
    assert failure(harness.engine, "CreateBackup", request) == ("TableNotFoundException", "Table not found: others")


@pytest.mark.parametrize("state", ["CREATING", "DELETING"])
def test_a_table_being_created_or_deleted_is_not_found(state: str) -> None:
    clock = tables_of.clock()
    with Engine.memory(clock=clock, state_delay_s=5) as engine:
        tables_of.create(engine)
        if state == "DELETING":
            clock.advance(5)
            engine.call("DeleteTable", {"TableName": "things"})
        request = {"TableName": "things", "BackupName": "before"}
        assert failure(engine, "CreateBackup", request) == ("TableNotFoundException", "Table not found: things")


def test_a_backup_is_delayed_like_other_state_changes() -> None:
    harness = Harness(state_delay_s=5)
    arn = harness.back_up()

    def status() -> str:
        description: str = harness.call("DescribeBackup", BackupArn=arn)["BackupDescription"]["BackupDetails"][
            "BackupStatus"
        ]
        return description

    assert status() == "CREATING"
    busy = ("BackupInUseException", f"Backup is being created: {arn}")
    assert failure(harness.engine, "DeleteBackup", {"BackupArn": arn}) == busy
    request = {"BackupArn": arn, "TargetTableName": "restored"}
    assert failure(harness.engine, "RestoreTableFromBackup", request) == busy
    harness.clock.advance(5)
    assert status() == "AVAILABLE"
