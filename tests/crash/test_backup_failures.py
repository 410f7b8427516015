"""Backups, recovery and restores when the store fails: at the first call, then at the second, until one completes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.crash.failing_store import attributes, fill, set_trap, state, without_ids
from tests.engine import tables_of
from tests.engine.backup_making import stored_trees

from keyplan.engine import fsck
from keyplan.engine.backups import backups, copies, history
from keyplan.engine.engine import Engine
from keyplan.errors import StorageError

MOST_CALLS = 400
Operation = Callable[[Engine], object]
ObservedState = dict[str, Any]


def opened(path: Path) -> Engine:
    """Open the engine on a file, with a clock that does not advance."""
    clock = tables_of.clock()
    clock.advance(10)
    return Engine.open(path, clock=clock)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database with a table, a backup, enabled recovery, and a change after it."""
    path = tmp_path_factory.mktemp("prepared") / "data.db"
    clock = tables_of.clock()
    with Engine.open(path, clock=clock) as engine:
        fill(engine)
        _recover(engine, {"PointInTimeRecoveryEnabled": True})
        engine.call("CreateBackup", {"TableName": "things", "BackupName": "first"})
        clock.advance(10)
        tables_of.put(engine, "d", **attributes("d"))
        tables_of.delete(engine, "b")
    return path


def _recover(engine: Engine, settings: dict[str, Any]) -> None:
    engine.call("UpdateContinuousBackups", {"TableName": "things", "PointInTimeRecoverySpecification": settings})


def _backup(engine: Engine) -> str:
    arn: str = engine.call("ListBackups", {})["BackupSummaries"][0]["BackupArn"]
    return arn


def _transact(engine: Engine) -> None:
    put = {"Put": {"TableName": "things", "Item": {**tables_of.key("new"), **attributes("new")}}}
    delete = {"Delete": {"TableName": "things", "Key": tables_of.key("a")}}
    engine.call("TransactWriteItems", {"TransactItems": [put, delete]})


def _restore(engine: Engine) -> None:
    engine.call("RestoreTableFromBackup", {"BackupArn": _backup(engine), "TargetTableName": "restored"})


def _rewind(engine: Engine) -> None:
    request = {"SourceTableName": "things", "TargetTableName": "restored", "RestoreDateTime": tables_of.NOW}
    engine.call("RestoreTableToPointInTime", request)


OPERATIONS: dict[str, Operation] = {
    "put": lambda engine: tables_of.put(engine, "a", **attributes("other")),
    "transaction": _transact,
    "create backup": lambda engine: engine.call("CreateBackup", {"TableName": "things", "BackupName": "second"}),
    "delete backup": lambda engine: engine.call("DeleteBackup", {"BackupArn": _backup(engine)}),
    "turn off": lambda engine: _recover(engine, {"PointInTimeRecoveryEnabled": False}),
    "change the period": lambda engine: _recover(
        engine, {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 7}
    ),
    "delete table": lambda engine: engine.call("DeleteTable", {"TableName": "things"}),
    "restore": _restore,
    "rewind": _rewind,
}


def observed_state(engine: Engine) -> ObservedState:
    """Return the state of the database after interrupted backfills are complete, without random names."""
    for name in engine.call("ListTables", {})["TableNames"]:
        engine.call("DescribeTable", {"TableName": name})
    engine.backfiller.wake()
    engine.backfiller.wait()
    view = engine.store.view()
    observed: ObservedState = {"state": without_ids(state(engine)), "trees": len(stored_trees(engine))}
    observed["backups"] = sorted(
        (document["name"], document["type"], list(view.span(backups.tree_of(document), b"", None)))
        for document in backups.all_backups(view)
    )
    for table in engine.catalog.tables():
        if table.recovery is not None:
            versions = [list(history.rows_at(view, table, tables_of.NOW + offset)) for offset in (0, 5, 10)]
            observed[f"{table.name} then"] = (table.recovery.days, versions)
    return observed


@pytest.mark.parametrize("chunk_rows", [copies.CHUNK_ROWS, 1])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_failure_at_any_call_applies_all_or_nothing(
    name: str, chunk_rows: int, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "CHUNK_ROWS", chunk_rows)
    operation, trap = OPERATIONS[name], set_trap(monkeypatch)
    trap.error = apsw.IOError("disk I/O error")
    content = prepared.read_bytes()

    def fresh(number: int) -> Path:
        path = tmp_path / f"{number}.db"
        path.write_bytes(content)
        return path

    with opened(fresh(0)) as engine:
        before = observed_state(engine)
        operation(engine)
        after = observed_state(engine)
    assert before != after
    for number in range(1, MOST_CALLS):
        path = fresh(number)
        with opened(path) as engine:
            try:
                with trap.failing(number):
                    operation(engine)
                if not trap.sprung:
                    return
            except StorageError:
                pass
            assert fsck.check(engine) == []
            left = observed_state(engine)
            assert left in (before, after), f"half done after failing at call {number}"
            if left == before:
                operation(engine)
            assert fsck.check(engine) == []
        with opened(path) as engine:
            assert observed_state(engine) == after
        path.unlink()
    raise AssertionError("the operation never came to an end")
