"""ListBackups: selection, order, pages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.engine import tables_of
from tests.engine.backup_making import NOW, Harness
from tests.engine.table_making import failure


@pytest.fixture
def harness() -> Harness:
    """Create backups of `things`, a second apart, and one of `more`; a system backup of `gone`."""
    harness = Harness()
    for number in range(4):
        harness.back_up(f"b-{number}")
        harness.clock.advance(1)
    for name in ("more", "gone"):
        tables_of.create(harness.engine, name)
    harness.back_up("other", table="more")
    recovery = {"PointInTimeRecoveryEnabled": True}
    harness.call("UpdateContinuousBackups", TableName="gone", PointInTimeRecoverySpecification=recovery)
    harness.call("DeleteTable", TableName="gone")
    return harness


def test_all_user_backups_are_listed_by_table_and_age(harness: Harness) -> None:
    assert harness.summaries() == ["other", "b-0", "b-1", "b-2", "b-3"]


def test_a_summary_describes_its_table(harness: Harness) -> None:
    first = harness.call("ListBackups", TableName="more")["BackupSummaries"][0]
    table = harness.call("DescribeTable", TableName="more")["Table"]
    assert {name: first[name] for name in ("TableName", "TableId", "TableArn")} == {
        name: table[name] for name in ("TableName", "TableId", "TableArn")
    }
    assert (first["BackupStatus"], first["BackupType"]) == ("AVAILABLE", "USER")


def test_backups_of_one_table_are_listed(harness: Harness) -> None:
    assert harness.summaries(TableName="more") == ["other"]
    assert harness.summaries(TableName="arn:aws:dynamodb:us-east-1:123456789012:table/more") == ["other"]
    assert harness.summaries(TableName="nobody") == []


def test_backups_of_one_type_are_listed(harness: Harness) -> None:
    assert harness.summaries(BackupType="SYSTEM") == ["gone$DeletedTableBackup"]
    assert len(harness.summaries(BackupType="ALL")) == 6
    assert harness.summaries(BackupType="AWS_BACKUP") == []


def test_the_time_range_includes_its_lower_bound(harness: Harness) -> None:
    request = {"TableName": "things"}
    assert harness.summaries(**request, TimeRangeLowerBound=NOW + 1, TimeRangeUpperBound=NOW + 3) == ["b-1", "b-2"]
    time = datetime.fromtimestamp(NOW + 2, UTC)
    assert harness.summaries(**request, TimeRangeLowerBound=time) == ["b-2", "b-3"]
    assert harness.summaries(**request, TimeRangeUpperBound=NOW + 0.001) == ["b-0"]
    assert harness.summaries(**request, TimeRangeUpperBound=NOW) == []


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_are_disjoint_and_complete(harness: Harness, limit: int) -> None:
    backup_names: list[str] = []
    request: dict[str, str] = {}
    while True:
        response = harness.call("ListBackups", Limit=limit, **request)
        assert len(response["BackupSummaries"]) <= limit
        backup_names += [summary["BackupName"] for summary in response["BackupSummaries"]]
        if "LastEvaluatedBackupArn" not in response:
            break
        request = {"ExclusiveStartBackupArn": response["LastEvaluatedBackupArn"]}
    assert backup_names == harness.summaries()


def test_a_full_last_page_has_no_cursor(harness: Harness) -> None:
    assert "LastEvaluatedBackupArn" not in harness.call("ListBackups", TableName="things", Limit=4)


def test_a_cursor_is_only_a_position(harness: Harness) -> None:
    second = harness.call("ListBackups", TableName="things")["BackupSummaries"][1]["BackupArn"]
    harness.call("DeleteBackup", BackupArn=second)
    assert harness.summaries(TableName="things", ExclusiveStartBackupArn=second) == ["b-2", "b-3"]
    elsewhere = {"ExclusiveStartBackupArn": second.replace("us-east-1", "eu-west-1")}
    assert failure(harness.engine, "ListBackups", elsewhere) == (
        "ValidationException",
        "Invalid Request: The supplied ExclusiveStartBackupArn does not match the region",
    )
    assert failure(harness.engine, "ListBackups", {"ExclusiveStartBackupArn": "x" * 40})[1] == "Invalid Backup ARN"
