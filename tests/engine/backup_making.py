"""Helpers for the tests of backups, recovery and restores."""

from __future__ import annotations

from typing import Any

from tests.engine.tables_of import NOW, clock, create

from keyplan.clock import ManualClock
from keyplan.dynamodb.values import encoding
from keyplan.engine.backups import history
from keyplan.engine.engine import Engine
from keyplan.engine.tables.catalog import Recovery, Table

ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/things"


class Harness:
    """An engine with the table `things` on a clock that only the test moves."""

    def __init__(self, **members: Any) -> None:
        options = {name: members.pop(name) for name in ("state_delay_s", "faults") if name in members}
        self.clock: ManualClock = clock()
        self.engine = Engine.memory(clock=self.clock, **options)
        create(self.engine, **members)
        self.clock.advance(options.get("state_delay_s", 0.0))

    def call(self, operation: str, **members: Any) -> dict[str, Any]:
        """Call an operation, its members by name."""
        return self.engine.call(operation, members)

    def enable_recovery(self, days: int | None = None) -> dict[str, Any]:
        """Turn recovery on; return the PointInTimeRecoveryDescription."""
        period = {} if days is None else {"RecoveryPeriodInDays": days}
        return self._update({"PointInTimeRecoveryEnabled": True, **period})

    def disable_recovery(self) -> dict[str, Any]:
        """Turn recovery off."""
        return self._update({"PointInTimeRecoveryEnabled": False})

    def _update(self, settings: dict[str, Any]) -> dict[str, Any]:
        response = self.call("UpdateContinuousBackups", TableName="things", PointInTimeRecoverySpecification=settings)
        description: dict[str, Any] = response["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
        return description

    def back_up(self, name: str = "before", table: str = "things") -> str:
        """Call CreateBackup; return its ARN."""
        arn: str = self.call("CreateBackup", TableName=table, BackupName=name)["BackupDetails"]["BackupArn"]
        return arn

    def restore(self, arn: str, target: str = "restored", **members: Any) -> dict[str, Any]:
        """Call RestoreTableFromBackup; return the TableDescription."""
        response = self.call("RestoreTableFromBackup", BackupArn=arn, TargetTableName=target, **members)
        description: dict[str, Any] = response["TableDescription"]
        return description

    def rewind(self, time_s: float | None, target: str = "restored", **members: Any) -> dict[str, Any]:
        """Call RestoreTableToPointInTime, for None to the latest time; return the TableDescription."""
        target_time = {"UseLatestRestorableTime": True} if time_s is None else {"RestoreDateTime": time_s}
        response = self.call(
            "RestoreTableToPointInTime", SourceTableName="things", TargetTableName=target, **target_time, **members
        )
        description: dict[str, Any] = response["TableDescription"]
        return description

    def put(self, p: str, s: str = "1", **attributes: Any) -> None:
        """Put an item into things."""
        self.call("PutItem", TableName="things", Item={"p": {"S": p}, "s": {"S": s}, **attributes})

    def delete(self, p: str, s: str = "1") -> None:
        """Delete an item of things."""
        self.call("DeleteItem", TableName="things", Key={"p": {"S": p}, "s": {"S": s}})

    def names(self, table: str = "things", **members: Any) -> list[str]:
        """Return the partition keys of all items of a table or index, sorted."""
        return sorted(item["p"]["S"] for item in self.items(table, **members))

    def items(self, table: str = "things", **members: Any) -> list[dict[str, Any]]:
        """Return all items of a table or index."""
        stored_items: list[dict[str, Any]] = self.call("Scan", TableName=table, **members)["Items"]
        return stored_items

    def summaries(self, **members: Any) -> list[str]:
        """Return the names of the backups in ListBackups, in its order."""
        return [summary["BackupName"] for summary in self.call("ListBackups", **members)["BackupSummaries"]]


def table_of(harness: Harness) -> Table:
    """Return the current table."""
    return harness.engine.database.table("things")


def recovery_of(harness: Harness) -> Recovery:
    """Return the table's recovery."""
    recovery = table_of(harness).recovery
    assert recovery is not None
    return recovery


def items_at(harness: Harness, time_s: float, low: bytes = b"") -> list[dict[str, Any]]:
    """Return the items as of a time, by key."""
    with harness.engine.store.snapshot() as view:
        rows = list(history.rows_at(view, table_of(harness), time_s, low))
    assert [key for key, _, _ in rows] == sorted(key for key, _, _ in rows)
    assert all(size > 0 for _, size, _ in rows)
    return [encoding.decode(body) for _, _, body in rows]


def by_name(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return items by their partition key."""
    return {item["p"]["S"]: item for item in items}


def stored_trees(engine: Engine) -> set[str]:
    """Return the names of all trees and logs in the store."""
    rows = engine.store.view().connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {str(name) for (name,) in rows if str(name).startswith(("tree_", "log_"))}


__all__ = ["ARN", "NOW", "Harness", "by_name", "items_at", "recovery_of", "stored_trees", "table_of"]
