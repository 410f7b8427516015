"""boto3's client makes backups and restores, in process and over HTTP; it returns times as datetimes."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine

MINUTE = datetime.timedelta(minutes=1)


@pytest.fixture
def clock() -> ManualClock:
    """Time stands still unless the test moves it; between two seconds, which clients cut off."""
    return ManualClock(1_700_000_000.6)


@pytest.fixture
def engine(clock: ManualClock) -> Iterator[Engine]:
    """Yield the engine that is reached in process and over HTTP."""
    with Engine.memory(clock=clock) as engine:
        yield engine


def order(customer: str) -> dict[str, Any]:
    return {"customer": {"S": customer}, "placed": {"N": "1"}, "state": {"S": "new"}}


def customers(client: Any, table: str, **members: Any) -> list[str]:
    return sorted(item["customer"]["S"] for item in client.scan(TableName=table, **members)["Items"])


def test_a_table_is_backed_up_and_restored(client: Any, orders: dict[str, Any]) -> None:
    client.create_table(**orders)
    client.put_item(TableName="orders", Item=order("ann"))
    details = client.create_backup(TableName="orders", BackupName="before")["BackupDetails"]
    assert isinstance(details["BackupCreationDateTime"], datetime.datetime)
    arn = details["BackupArn"]
    client.delete_table(TableName="orders")
    client.get_waiter("table_not_exists").wait(TableName="orders")
    described = client.describe_backup(BackupArn=arn)["BackupDescription"]
    assert described["BackupDetails"]["BackupStatus"] == "AVAILABLE"
    assert described["SourceTableDetails"]["ItemCount"] == 1
    client.restore_table_from_backup(TargetTableName="orders", BackupArn=arn)
    client.get_waiter("table_exists").wait(TableName="orders")
    for request in ({}, {"IndexName": "by-state"}):
        assert customers(client, "orders", **request) == ["ann"]
    assert client.delete_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"]["BackupStatus"] == "DELETED"
    with pytest.raises(client.exceptions.BackupNotFoundException):
        client.describe_backup(BackupArn=arn)
    with pytest.raises(client.exceptions.BackupNotFoundException):
        client.restore_table_from_backup(TargetTableName="again", BackupArn=arn)


def test_backups_are_listed_in_pages_and_by_time(client: Any, clock: ManualClock, orders: dict[str, Any]) -> None:
    client.create_table(**orders)
    entries = []
    for number in range(5):
        backup = client.create_backup(TableName="orders", BackupName=f"b-{number}")
        entries.append(backup["BackupDetails"]["BackupCreationDateTime"])
        clock.advance(60)
    pages = list(client.get_paginator("list_backups").paginate(PaginationConfig={"PageSize": 2}))
    assert [len(page["BackupSummaries"]) for page in pages] == [2, 2, 1]
    bounds = {"TimeRangeLowerBound": entries[1] - MINUTE / 2, "TimeRangeUpperBound": entries[3] - MINUTE / 2}
    summaries = client.list_backups(TableName="orders", **bounds)["BackupSummaries"]
    assert [summary["BackupName"] for summary in summaries] == ["b-1", "b-2"]


def test_a_table_is_restored_to_a_point_in_time(client: Any, clock: ManualClock, orders: dict[str, Any]) -> None:
    client.create_table(**orders)
    client.put_item(TableName="orders", Item=order("ann"))
    on = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 7}
    client.update_continuous_backups(TableName="orders", PointInTimeRecoverySpecification=on)
    clock.advance(60)
    client.put_item(TableName="orders", Item=order("bob"))
    client.delete_item(TableName="orders", Key={name: order("ann")[name] for name in ("customer", "placed")})
    description = client.describe_continuous_backups(TableName="orders")["ContinuousBackupsDescription"]
    window = description["PointInTimeRecoveryDescription"]
    earliest, latest = window["EarliestRestorableDateTime"], window["LatestRestorableDateTime"]
    assert latest - earliest == MINUTE + datetime.timedelta(seconds=0.6)
    source = {"SourceTableName": "orders"}
    client.restore_table_to_point_in_time(TargetTableName="first", RestoreDateTime=earliest, **source)
    client.restore_table_to_point_in_time(TargetTableName="last", UseLatestRestorableTime=True, **source)
    for name in ("first", "last"):
        client.get_waiter("table_exists").wait(TableName=name)
    assert customers(client, "first", IndexName="by-state") == ["ann"]
    assert customers(client, "last", IndexName="by-state") == ["bob"]
    with pytest.raises(client.exceptions.InvalidRestoreTimeException):
        client.restore_table_to_point_in_time(TargetTableName="other", RestoreDateTime=latest + MINUTE, **source)
    with pytest.raises(client.exceptions.TableAlreadyExistsException):
        client.restore_table_to_point_in_time(TargetTableName="first", UseLatestRestorableTime=True, **source)
    off = {"PointInTimeRecoveryEnabled": False}
    client.update_continuous_backups(TableName="orders", PointInTimeRecoverySpecification=off)
    with pytest.raises(client.exceptions.PointInTimeRecoveryUnavailableException):
        client.restore_table_to_point_in_time(TargetTableName="other", UseLatestRestorableTime=True, **source)


def test_a_deleted_table_is_restored_from_its_automatic_backup(client: Any, orders: dict[str, Any]) -> None:
    client.create_table(**orders)
    on = {"PointInTimeRecoveryEnabled": True}
    client.update_continuous_backups(TableName="orders", PointInTimeRecoverySpecification=on)
    client.put_item(TableName="orders", Item=order("ann"))
    client.delete_table(TableName="orders")
    (summary,) = client.list_backups(TableName="orders", BackupType="SYSTEM")["BackupSummaries"]
    assert summary["BackupExpiryDateTime"] - summary["BackupCreationDateTime"] == datetime.timedelta(days=35)
    client.restore_table_from_backup(TargetTableName="orders", BackupArn=summary["BackupArn"])
    assert customers(client, "orders") == ["ann"]
