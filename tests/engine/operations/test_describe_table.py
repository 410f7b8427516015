"""DescribeTable: live figures, and missing tables."""

from __future__ import annotations

from pathlib import Path

from tests.engine.table_making import create, describe, failure, put

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine


def test_counts_and_sizes_follow_the_items(engine: Engine) -> None:
    create(engine)
    put(engine, "a", text={"S": "x" * 100})
    put(engine, "b")
    table = describe(engine)
    assert (table["ItemCount"], table["TableSizeBytes"]) == (2, 110)
    engine.call("DeleteItem", {"TableName": "notes", "Key": {"id": {"S": "a"}}})
    table = describe(engine)
    assert (table["ItemCount"], table["TableSizeBytes"]) == (1, 3)


def test_a_missing_table_is_rejected(engine: Engine) -> None:
    assert failure(engine, "DescribeTable", {"TableName": "notes"}) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: notes not found",
    )


def test_the_id_of_a_table_is_stable(engine: Engine) -> None:
    create(engine)
    assert describe(engine)["TableId"] == describe(engine)["TableId"]


def test_the_table_may_be_named_by_arn(engine: Engine) -> None:
    assert describe(engine, create(engine)["TableArn"])["TableName"] == "notes"


def test_a_table_of_another_region_is_rejected(engine: Engine) -> None:
    elsewhere = create(engine)["TableArn"].replace("us-east-1", "eu-west-1")
    refusal = ("ValidationException", f"1 validation error detected: Invalid AWS region in '{elsewhere}'")
    for operation in ("DescribeTable", "DescribeTimeToLive", "DeleteTable"):
        assert failure(engine, operation, {"TableName": elsewhere}) == refusal


def test_changes_by_another_process_are_seen(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data.db") as first, Engine.open(tmp_path / "data.db") as other:
        create(first)
        describe(other)
        first.call("UpdateTable", {"TableName": "notes", "DeletionProtectionEnabled": True})
        assert describe(other)["DeletionProtectionEnabled"] is True


def test_a_table_becomes_active_when_the_clock_advances(tmp_path: Path) -> None:
    clock = ManualClock()
    with Engine.open(tmp_path / "data.db", clock=clock, state_delay_s=3.0) as engine:
        create(engine)
        clock.advance(2.9)
        assert describe(engine)["TableStatus"] == "CREATING"
    clock.advance(0.2)
    with Engine.open(tmp_path / "data.db", clock=clock) as engine:
        assert describe(engine)["TableStatus"] == "ACTIVE"
