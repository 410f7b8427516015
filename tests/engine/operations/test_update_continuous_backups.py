"""UpdateContinuousBackups and DescribeContinuousBackups: on, off, period, earliest time."""

from __future__ import annotations

import pytest
from tests.engine import tables_of
from tests.engine.backup_making import ARN, NOW, Harness, stored_trees
from tests.engine.table_making import failure

from keyplan.engine.backups.history import DAY_S
from keyplan.engine.engine import Engine

OFF = {"PointInTimeRecoveryStatus": "DISABLED"}
ON = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}


def on(days: int, earliest: float, latest: float) -> dict[str, object]:
    """Return the expected description of recovery that is on."""
    return {
        "PointInTimeRecoveryStatus": "ENABLED",
        "RecoveryPeriodInDays": days,
        "EarliestRestorableDateTime": earliest,
        "LatestRestorableDateTime": latest,
    }


def recovery_of(harness: Harness, table: str = "things") -> dict[str, object]:
    """Return the PointInTimeRecoveryDescription."""
    description = harness.call("DescribeContinuousBackups", TableName=table)["ContinuousBackupsDescription"]
    assert description["ContinuousBackupsStatus"] == "ENABLED"
    described: dict[str, object] = description["PointInTimeRecoveryDescription"]
    return described


def test_a_table_has_no_recovery_until_it_is_enabled() -> None:
    harness = Harness()
    assert recovery_of(harness) == OFF
    harness.clock.advance(0.5)
    assert harness.enable_recovery() == on(35, NOW, NOW + 0.5)
    harness.clock.advance(10)
    assert recovery_of(harness, ARN) == on(35, NOW, NOW + 10.5)
    assert harness.disable_recovery() == OFF
    assert recovery_of(harness) == OFF


def test_enabling_recovery_again_keeps_the_history() -> None:
    harness = Harness()
    harness.enable_recovery()
    harness.clock.advance(10)
    assert harness.enable_recovery() == on(35, NOW, NOW + 10)


def test_disabling_recovery_deletes_the_history() -> None:
    harness = Harness()
    without = stored_trees(harness.engine)
    harness.enable_recovery()
    harness.clock.advance(10)
    assert stored_trees(harness.engine) != without
    harness.disable_recovery()
    harness.disable_recovery()
    assert stored_trees(harness.engine) == without
    assert harness.enable_recovery() == on(35, NOW + 10, NOW + 10)


def test_the_period_limits_the_earliest_restore_time() -> None:
    harness = Harness()
    harness.enable_recovery(2)
    harness.clock.advance(3 * DAY_S)
    assert recovery_of(harness) == on(2, NOW + DAY_S, NOW + 3 * DAY_S)


def test_a_longer_period_does_not_restore_deleted_history() -> None:
    harness = Harness()
    harness.enable_recovery(1)
    harness.clock.advance(3 * DAY_S)
    assert harness.enable_recovery(7) == on(7, NOW + 2 * DAY_S, NOW + 3 * DAY_S)
    harness.clock.advance(DAY_S)
    assert harness.enable_recovery(1) == on(1, NOW + 3 * DAY_S, NOW + 4 * DAY_S)


def test_the_period_is_35_days_by_default() -> None:
    harness = Harness()
    harness.enable_recovery(7)
    harness.disable_recovery()
    assert harness.enable_recovery()["RecoveryPeriodInDays"] == 35


@pytest.mark.parametrize(("operation", "more"), [("DescribeContinuousBackups", {}), ("UpdateContinuousBackups", ON)])
def test_a_missing_table_is_rejected(operation: str, more: dict[str, object]) -> None:
    clock = tables_of.clock()
    with Engine.memory(clock=clock, state_delay_s=5) as engine:
        request = {"TableName": "things", **more}
        absent = ("TableNotFoundException", "Table not found: things")
        assert failure(engine, operation, request) == absent
        tables_of.create(engine)
        assert failure(engine, operation, request) == absent
        clock.advance(5)
        engine.call(operation, request)
        engine.call("DeleteTable", {"TableName": "things"})
        assert failure(engine, operation, request) == absent


def test_recovery_starts_the_background_thread() -> None:
    with Engine.memory() as engine:
        tables_of.create(engine)
        assert not engine.background.running
        engine.call("UpdateContinuousBackups", {"TableName": "things", **ON})
        assert engine.background.running


def test_writers_in_other_processes_notice_recovery(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("shared") / "data.db"
    with Engine.open(path, clock=tables_of.clock()) as first, Engine.open(path, clock=tables_of.clock()) as other:
        tables_of.create(first)
        tables_of.put(other, "a")
        first.call("UpdateContinuousBackups", {"TableName": "things", **ON})
        other.clock.advance(1)  # type: ignore[attr-defined]  # the test's own clock
        tables_of.put(other, "b")
        tables_of.delete(other, "a")
        request = {"SourceTableName": "things", "TargetTableName": "restored", "RestoreDateTime": NOW}
        first.call("RestoreTableToPointInTime", request)
        assert [item["p"]["S"] for item in other.call("Scan", {"TableName": "restored"})["Items"]] == ["a"]
