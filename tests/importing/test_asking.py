"""Tables asked for where they are: all of them, page by page, or those that are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.importing.test_cloudformation import KEY

from keyplan.engine.engine import Engine
from keyplan.errors import KeyplanError
from keyplan.importing.asking import described
from keyplan.importing.describe_table import describe_table


@pytest.fixture
def database(tmp_path: Path) -> str:
    path = str(tmp_path / "data.db")
    with Engine.open(path, durability="normal") as engine:
        for number in range(103):  # ListTables gives a hundred at a time
            name = f"{'other' if number == 7 else 'mine'}-{number:03d}"
            engine.call("CreateTable", {**KEY, "TableName": name, "BillingMode": "PAY_PER_REQUEST"})
    return path


def names(url: str, *wanted: str) -> list[str]:
    return [table.name for table in describe_table(described(url, wanted)).tables]


def test_all_tables_of_a_prefix_are_found(database: str) -> None:
    assert len(names(database)) == 103
    assert len(names(f"{database}?table_prefix=mine-")) == 102


def test_a_prefix_stands_before_names(database: str) -> None:
    assert names(f"{database}?table_prefix=other-", "007") == ["other-007"]


def test_a_place_without_tables_and_a_table_that_is_not_there_are_refused(database: str) -> None:
    with pytest.raises(KeyplanError, match="there is no table"):
        described(f"{database}?table_prefix=none-", [])
    with pytest.raises(KeyplanError, match="Table: absent not found"):
        described(database, ["absent"])
