"""A store whose n-th call fails, and the database that such failures are tried on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import pytest
from tests.engine import tables_of

from keyplan.engine.engine import Engine
from keyplan.engine.store import statements
from keyplan.engine.store.readers import ConnectionWriter
from keyplan.engine.store.sqlite import SqliteStore

WRITING = (
    "put",
    "put_all",
    "move",
    "delete",
    "append",
    "trim",
    "put_document",
    "delete_document",
    "next_sequence",
    "create_tree",
    "drop_tree",
    "create_log",
    "drop_log",
    "point",
    "document",
)
"""Methods of a write transaction that may fail."""

BOUNDARIES = {
    "_begin": statements.BEGIN,
    "_commit": statements.COMMIT,
    "_write_at_savepoint": statements.SAVEPOINT,
}
"""Methods of the store around it; they fail before they have done anything."""


class Trap:
    """Counts calls of the store and makes one of them fail."""

    def __init__(self) -> None:
        self.calls = 0
        self.fails_at = 0
        self.error: apsw.Error = apsw.IOError("disk I/O error")
        self.armed = False
        self.rolls_back = False
        """Whether the failure takes the whole transaction with it, as some of SQLite's do."""

    def step(self, connection: apsw.Connection) -> None:
        """One call."""
        if not self.armed:
            return
        self.calls += 1
        if self.calls == self.fails_at:
            if self.rolls_back and connection.in_transaction:
                connection.execute(statements.ROLLBACK)
            raise self.error

    @contextmanager
    def failing(self, number: int) -> Iterator[None]:
        """Let the call with this number fail; 0: only count."""
        self.calls, self.fails_at, self.armed = 0, number, True
        try:
            yield
        finally:
            self.armed = False

    @property
    def sprung(self) -> bool:
        """Whether the call was reached."""
        return self.calls >= self.fails_at


def set_trap(monkeypatch: pytest.MonkeyPatch) -> Trap:
    """Lead every call of every store through a trap."""
    trap = Trap()
    for name in WRITING:
        monkeypatch.setattr(
            ConnectionWriter, name, _guarded(trap, getattr(ConnectionWriter, name), lambda self: self.connection)
        )
    for name in BOUNDARIES:
        original = getattr(SqliteStore, name)
        monkeypatch.setattr(SqliteStore, name, _guarded(trap, original, lambda self: self._writer.connection))
    return trap


def _guarded(trap: Trap, original: Callable[..., Any], connection_of: Callable[[Any], apsw.Connection]) -> Any:
    def guarded(self: Any, *arguments: Any, **named: Any) -> Any:
        trap.step(connection_of(self))
        return original(self, *arguments, **named)

    return guarded


# The database.

INDEX = {"KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}
LOCAL = {
    "IndexName": "by_l",
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
    "Projection": {"ProjectionType": "KEYS_ONLY"},
}


def fill(engine: Engine) -> None:
    """Create a table with everything that a write may touch, and some items in it."""
    tables_of.create(
        engine,
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in "psgl"],
        GlobalSecondaryIndexes=[{"IndexName": "by_g", **INDEX}],
        LocalSecondaryIndexes=[LOCAL],
        **tables_of.with_stream(),
    )
    expiry = {"Enabled": True, "AttributeName": "t"}
    engine.call("UpdateTimeToLive", {"TableName": "things", "TimeToLiveSpecification": expiry})
    for name in "abc":
        tables_of.put(engine, name, **attributes(name))


def attributes(text: str) -> dict[str, Any]:
    """Attributes that are in both indexes and expire."""
    expires_at = {"N": str(int(tables_of.NOW) + 60)}
    return {"g": {"S": text}, "l": {"S": text}, "t": expires_at, "x": {"S": text}}


def state(engine: Engine) -> dict[str, Any]:
    """Everything that a caller can see of the database."""
    described_tables: dict[str, Any] = {}
    for name in engine.call("ListTables", {})["TableNames"]:
        description = engine.call("DescribeTable", {"TableName": name})["Table"]
        described_tables[name] = description
        indexes = [definition["IndexName"] for definition in description.get("GlobalSecondaryIndexes", ())]
        for index in (None, *indexes, *(["by_l"] if name == "things" else ())):
            named = {} if index is None else {"IndexName": index}
            described_tables[f"{name}/{index}"] = engine.call("Scan", {"TableName": name, **named})["Items"]
        if "LatestStreamArn" in description:
            described_tables[f"{name}/stream"] = tables_of.records(engine, description["LatestStreamArn"])
    return described_tables


def without_ids(part: Any) -> Any:
    """Return a state without randomly generated names."""
    if isinstance(part, dict):
        return {name: without_ids(value) for name, value in part.items() if name not in ("TableId", "eventID")}
    return [without_ids(value) for value in part] if isinstance(part, list) else part
