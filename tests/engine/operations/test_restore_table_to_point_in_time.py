"""RestoreTableToPointInTime: valid times, tables and settings; see also test_history."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.backup_making import ARN, NOW, Harness
from tests.engine.table_making import failure

from keyplan.engine import fsck
from keyplan.engine.backups.history import DAY_S


def refused(harness: Harness, **members: Any) -> tuple[str, str]:
    """Return code and message with which a restore fails."""
    request = {"SourceTableName": "things", "TargetTableName": "restored", "UseLatestRestorableTime": True, **members}
    return failure(
        harness.engine, "RestoreTableToPointInTime", {name: value for name, value in request.items() if value}
    )


@pytest.fixture
def harness() -> Harness:
    """Create a table with recovery since NOW; a put at NOW + 10, b at NOW + 20, a deleted at NOW + 30."""
    harness = Harness()
    harness.enable_recovery()
    harness.clock.advance(10)
    harness.put("a")
    harness.clock.advance(10)
    harness.put("b")
    harness.clock.advance(10)
    harness.delete("a")
    return harness


@pytest.mark.parametrize(
    ("time_s", "names"),
    [(0, []), (9.999, []), (10, ["a"]), (15, ["a"]), (20, ["a", "b"]), (29.5, ["a", "b"]), (30, ["b"])],
)
def test_a_table_is_restored_to_a_given_time(harness: Harness, time_s: float, names: list[str]) -> None:
    description = harness.rewind(NOW + time_s)
    assert description["RestoreSummary"] == {
        "SourceTableArn": ARN,
        "RestoreDateTime": NOW + time_s,
        "RestoreInProgress": True,
    }
    assert harness.names("restored") == names
    assert fsck.check(harness.engine) == []


def test_a_table_is_restored_to_the_latest_time(harness: Harness) -> None:
    description = harness.rewind(None)
    assert description["RestoreSummary"]["RestoreDateTime"] == NOW + 30
    assert harness.names("restored") == ["b"]


def test_the_restore_time_may_be_a_datetime(harness: Harness) -> None:
    harness.rewind(datetime.fromtimestamp(NOW + 10, UTC))  # type: ignore[arg-type]  # what boto3 hands over
    assert harness.names("restored") == ["a"]


def test_the_source_may_be_named_by_its_arn(harness: Harness) -> None:
    request = {"SourceTableArn": ARN, "TargetTableName": "restored", "UseLatestRestorableTime": True}
    harness.call("RestoreTableToPointInTime", **request)
    assert harness.names("restored") == ["b"]


def test_the_second_in_which_recovery_started_can_be_restored() -> None:
    harness = Harness()
    harness.put("before")
    harness.clock.advance(0.7)
    harness.enable_recovery()
    harness.put("after")
    harness.clock.advance(1)
    harness.rewind(NOW)  # sent by clients that use whole seconds
    assert harness.names("restored") == ["before"]


@pytest.mark.parametrize(
    ("time_s", "description"),
    [
        (NOW - 1, "2023-11-14T22:13:19Z"),
        (NOW + 31, "2023-11-14T22:13:51Z"),
        (1, "1970-01-01T00:00:01Z"),
        (-5.0, "1970-01-01T00:00:00Z"),
        (1e30, "9999-12-31T23:59:59Z"),
    ],
)
def test_times_outside_the_period_are_rejected(harness: Harness, time_s: float, description: str) -> None:
    assert refused(harness, UseLatestRestorableTime=None, RestoreDateTime=time_s) == (
        "InvalidRestoreTimeException",
        (
            f"RestoreDateTime '{description}' must be within EarliestRestorableDateTime '2023-11-14T22:13:20Z' "
            "and LatestRestorableDateTime '2023-11-14T22:13:50Z'"
        ),
    )


def test_a_time_before_the_recovery_period_is_rejected() -> None:
    harness = Harness()
    harness.enable_recovery(1)
    harness.put("a")
    harness.clock.advance(2 * DAY_S)
    code, _ = refused(harness, UseLatestRestorableTime=None, RestoreDateTime=NOW + DAY_S - 1)
    assert code == "InvalidRestoreTimeException"
    harness.rewind(NOW + DAY_S)
    assert harness.names("restored") == ["a"]


def test_errors_are_reported_in_the_services_order(harness: Harness) -> None:
    missing = ("TableNotFoundException", "Table not found: missing")
    assert refused(harness, SourceTableName="missing", TargetTableName="things") == missing
    late = {"UseLatestRestorableTime": None, "RestoreDateTime": NOW + 99}
    assert refused(harness, TargetTableName="things", **late)[0] == "InvalidRestoreTimeException"
    exists = ("TableAlreadyExistsException", "Table already exists: things")
    assert refused(harness, TargetTableName="things") == exists
    harness.disable_recovery()
    off = ("PointInTimeRecoveryUnavailableException", "Point in time recovery is not enabled for table 'things'")
    assert refused(harness, TargetTableName="things", **late) == off
    assert refused(harness) == off


@pytest.mark.parametrize(
    ("arn", "code", "message"),
    [
        (ARN.replace("things", "missing"), "TableNotFoundException", "Table not found"),
        (ARN.replace("us-east-1", "eu-west-1"), "TableNotFoundException", "Table not found"),
        (
            ARN.replace("123456789012", "999999999999"),
            "ValidationException",
            "This action is only supported by accounts that match the resource owner’s account.",  # noqa: RUF001
        ),
    ],
)
def test_unknown_sources_are_rejected(harness: Harness, arn: str, code: str, message: str) -> None:
    assert refused(harness, SourceTableName=None, SourceTableArn=arn) == (code, message)


def test_settings_are_those_of_the_current_table(harness: Harness) -> None:
    harness.call("UpdateTable", TableName="things", OnDemandThroughput={"MaxReadRequestUnits": 9})
    created = {
        "IndexName": "by_x",
        "KeySchema": [{"AttributeName": "x", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    harness.put("c", x={"S": "x"})
    time_s = harness.clock.now()
    harness.clock.advance(1)
    harness.delete("c")
    harness.call(
        "UpdateTable",
        TableName="things",
        AttributeDefinitions=[{"AttributeName": "x", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[{"Create": created}],
    )
    description = harness.rewind(time_s)
    assert description["OnDemandThroughput"] == {"MaxReadRequestUnits": 9}
    assert harness.names("restored", IndexName="by_x") == ["c"]
    assert fsck.check(harness.engine) == []


def test_overrides_work_as_for_restores_from_backups(harness: Harness) -> None:
    units = {"ReadCapacityUnits": 2, "WriteCapacityUnits": 3}
    description = harness.rewind(None, BillingModeOverride="PROVISIONED", ProvisionedThroughputOverride=units)
    assert description["ProvisionedThroughput"]["WriteCapacityUnits"] == 3
    assert refused(harness, TargetTableName="other", ProvisionedThroughputOverride=units)[0] == "ValidationException"


def test_a_target_being_restored_is_in_use() -> None:
    harness = Harness(state_delay_s=5)
    harness.enable_recovery()
    harness.rewind(None)
    description = ("TableInUseException", f"Table: restored is already being restored from table: {ARN}")
    assert refused(harness) == description
    harness.clock.advance(5)
    harness.call("DeleteTable", TableName="things")
    assert refused(harness, TargetTableName="other") == ("TableNotFoundException", "Table not found: things")


def test_a_restored_table_is_independent(harness: Harness) -> None:
    harness.rewind(NOW + 20)
    harness.call("PutItem", TableName="restored", Item=tables_of.key("c"))
    harness.put("d")
    assert harness.names("restored") == ["a", "b", "c"]
    assert harness.names() == ["b", "d"]
