"""ListBackups: selection, order, pages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.engine import tables_of
from tests.engine.backup_making import NOW, Kept
from tests.engine.table_making import failure


@pytest.fixture
def kept() -> Kept:
    """Create backups of `things`, a second apart, and one of `more`; a system backup of `gone`."""
    kept = Kept()
    for number in range(4):
        kept.back_up(f"b-{number}")
        kept.clock.advance(1)
    for name in ("more", "gone"):
        tables_of.create(kept.engine, name)
    kept.back_up("other", table="more")
    recovery = {"PointInTimeRecoveryEnabled": True}
    kept.call("UpdateContinuousBackups", TableName="gone", PointInTimeRecoverySpecification=recovery)
    kept.call("DeleteTable", TableName="gone")
    return kept


def test_all_user_backups_are_listed_by_table_and_age(kept: Kept) -> None:
    assert kept.summaries() == ["other", "b-0", "b-1", "b-2", "b-3"]


def test_a_summary_describes_its_table(kept: Kept) -> None:
    first = kept.call("ListBackups", TableName="more")["BackupSummaries"][0]
    table = kept.call("DescribeTable", TableName="more")["Table"]
    assert {name: first[name] for name in ("TableName", "TableId", "TableArn")} == {
        name: table[name] for name in ("TableName", "TableId", "TableArn")
    }
    assert (first["BackupStatus"], first["BackupType"]) == ("AVAILABLE", "USER")


def test_backups_of_one_table_are_listed(kept: Kept) -> None:
    assert kept.summaries(TableName="more") == ["other"]
    assert kept.summaries(TableName="arn:aws:dynamodb:us-east-1:123456789012:table/more") == ["other"]
    assert kept.summaries(TableName="nobody") == []


def test_backups_of_one_type_are_listed(kept: Kept) -> None:
    assert kept.summaries(BackupType="SYSTEM") == ["gone$DeletedTableBackup"]
    assert len(kept.summaries(BackupType="ALL")) == 6
    assert kept.summaries(BackupType="AWS_BACKUP") == []


def test_the_time_range_includes_its_lower_bound(kept: Kept) -> None:
    request = {"TableName": "things"}
    assert kept.summaries(**request, TimeRangeLowerBound=NOW + 1, TimeRangeUpperBound=NOW + 3) == ["b-1", "b-2"]
    time = datetime.fromtimestamp(NOW + 2, UTC)
    assert kept.summaries(**request, TimeRangeLowerBound=time) == ["b-2", "b-3"]
    assert kept.summaries(**request, TimeRangeUpperBound=NOW + 0.001) == ["b-0"]
    assert kept.summaries(**request, TimeRangeUpperBound=NOW) == []


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_are_disjoint_and_complete(kept: Kept, limit: int) -> None:
    backup_names: list[str] = []
    request: dict[str, str] = {}
    while True:
        answer = kept.call("ListBackups", Limit=limit, **request)
        assert len(answer["BackupSummaries"]) <= limit
        backup_names += [each["BackupName"] for each in answer["BackupSummaries"]]
        if "LastEvaluatedBackupArn" not in answer:
            break
        request = {"ExclusiveStartBackupArn": answer["LastEvaluatedBackupArn"]}
    assert backup_names == kept.summaries()


def test_a_full_last_page_has_no_cursor(kept: Kept) -> None:
    assert "LastEvaluatedBackupArn" not in kept.call("ListBackups", TableName="things", Limit=4)


def test_a_cursor_is_only_a_position(kept: Kept) -> None:
    second = kept.call("ListBackups", TableName="things")["BackupSummaries"][1]["BackupArn"]
    kept.call("DeleteBackup", BackupArn=second)
    assert kept.summaries(TableName="things", ExclusiveStartBackupArn=second) == ["b-2", "b-3"]
    elsewhere = {"ExclusiveStartBackupArn": second.replace("us-east-1", "eu-west-1")}
    assert failure(kept.engine, "ListBackups", elsewhere) == (
        "ValidationException",
        "Invalid Request: The supplied ExclusiveStartBackupArn does not match the region",
    )
    assert failure(kept.engine, "ListBackups", {"ExclusiveStartBackupArn": "x" * 40})[1] == "Invalid Backup ARN"
