"""Answers to table changes when another process drops the table before the answer is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.engine.table_making import create, put

from keyplan.engine.engine import Engine
from keyplan.engine.store.rows import Transaction

T = TypeVar("T")


@pytest.fixture
def engines(tmp_path: Path) -> Iterator[tuple[Engine, Engine]]:
    """Yield two engines on one file, like two processes."""
    path = tmp_path / "data.db"
    with Engine.open(path) as engine, Engine.open(path) as other:
        yield engine, other


def is_creating(engine: Engine, table: str) -> bool:
    """Return True if the table cannot be dropped yet."""
    description: str = engine.call("DescribeTable", {"TableName": table})["Table"]["TableStatus"]
    return description == "CREATING"


def changes_met_by_a_drop(
    monkeypatch: pytest.MonkeyPatch, engine: Engine, other: Engine, table: str
) -> list[Callable[[Transaction], Any]]:
    """Return the changes that the first engine makes from now on; after each the other one drops the table."""
    alter, entries = engine.database.alter, []

    def altered(work: Callable[[Transaction], T]) -> T:
        entries.append(work)
        result = alter(work)
        if table in other.call("ListTables", {})["TableNames"] and not is_creating(other, table):
            other.call("DeleteTable", {"TableName": table})
        return result

    monkeypatch.setattr(engine.database, "alter", altered)
    return entries


def test_a_table_is_created_once(engines: tuple[Engine, Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    engine, other = engines
    changes = changes_met_by_a_drop(monkeypatch, engine, other, "notes")
    assert create(engine)["TableStatus"] == "CREATING"
    assert len(changes) == 1
    assert engine.call("ListTables", {})["TableNames"] == []


def test_a_table_is_changed_once(engines: tuple[Engine, Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    engine, other = engines
    create(engine)
    put(engine, "1")
    changes = changes_met_by_a_drop(monkeypatch, engine, other, "notes")
    request = {"TableName": "notes", "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}
    description = engine.call("UpdateTable", request)["TableDescription"]
    assert (description["TableStatus"], description["ItemCount"]) == ("UPDATING", 1)
    assert len(changes) == 1


def restore_of_backup(engine: Engine) -> tuple[str, dict[str, Any]]:
    response = engine.call("CreateBackup", {"TableName": "notes", "BackupName": "before"})
    return "RestoreTableFromBackup", {"BackupArn": response["BackupDetails"]["BackupArn"]}


def restore_to_now(engine: Engine) -> tuple[str, dict[str, Any]]:
    turned_on = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
    engine.call("UpdateContinuousBackups", {"TableName": "notes", **turned_on})
    return "RestoreTableToPointInTime", {"SourceTableName": "notes", "UseLatestRestorableTime": True}


@pytest.mark.parametrize("prepared", [restore_of_backup, restore_to_now])
def test_a_table_is_restored_once(
    engines: tuple[Engine, Engine],
    monkeypatch: pytest.MonkeyPatch,
    prepared: Callable[[Engine], tuple[str, dict[str, Any]]],
) -> None:
    engine, other = engines
    create(engine)
    put(engine, "1")
    operation, request = prepared(engine)
    changes = changes_met_by_a_drop(monkeypatch, engine, other, "restored")
    description = engine.call(operation, {**request, "TargetTableName": "restored"})["TableDescription"]
    assert description["RestoreSummary"]["RestoreInProgress"]
    assert description["ItemCount"] == 0  # as in the service
    assert len(changes) == 2  # begun, and complete
    assert engine.call("ListTables", {})["TableNames"] == ["notes"]
