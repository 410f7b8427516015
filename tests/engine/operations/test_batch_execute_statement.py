"""BatchExecuteStatement: independent statements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.engine import table_making

from keyplan.engine.engine import Engine

STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
TABLES = ("alpha", "gamma")


@pytest.mark.parametrize("change", ["altered", "created again"])
def test_a_table_that_changes_between_two_statements_repeats_only_the_second(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine.open(tmp_path / "data.db") as engine, Engine.open(tmp_path / "data.db") as other:
        for name in TABLES:
            table_making.create(engine, name)
            _put(engine, name, 0)
        statements = [{"Statement": f"UPDATE {name} SET n = n + 1 WHERE id = 'a'"} for name in TABLES]
        monkeypatch.setattr(
            engine.database, "write", _after_the_first(engine.database.write, lambda: _change(other, change))
        )
        response = engine.call("BatchExecuteStatement", {"Statements": statements})
        assert response["Responses"] == [{"TableName": name} for name in TABLES]
        counted = [engine.call("GetItem", {"TableName": name, "Key": {"id": {"S": "a"}}}) for name in TABLES]
        assert [results["Item"]["n"]["N"] for results in counted] == ["1", "1" if change == "altered" else "11"]


def _put(engine: Engine, table: str, count: int) -> None:
    engine.call("PutItem", {"TableName": table, "Item": {"id": {"S": "a"}, "n": {"N": str(count)}}})


def _change(other: Engine, change: str) -> None:
    if change == "altered":
        other.call("UpdateTable", {"TableName": "gamma", "StreamSpecification": STREAM})
        return
    other.call("DeleteTable", {"TableName": "gamma"})
    table_making.create(other, "gamma")
    _put(other, "gamma", 10)


def _after_the_first(true: Any, change: Any) -> Any:
    calls = 0

    def write(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            change()
        return true(*args)

    return write
