"""Capacity receipts in every level of detail."""

from __future__ import annotations

import pytest
from tests.engine import tables_of

from keyplan.engine.engine import Engine
from keyplan.engine.items.receipts import Receipt
from keyplan.engine.tables.catalog import Table

LOCAL = {
    "IndexName": "by_l",
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
    "Projection": {"ProjectionType": "ALL"},
}


@pytest.fixture
def table(engine: Engine) -> Table:
    more = tables_of.with_index()
    more["AttributeDefinitions"] = [{"AttributeName": name, "AttributeType": "S"} for name in "psgl"]
    tables_of.create(engine, LocalSecondaryIndexes=[LOCAL], **more)
    return engine.database.table("things")


def test_a_total_is_one_number(table: Table) -> None:
    receipt = Receipt()
    receipt.table_units = 2.0
    receipt.add_index(table.indexes["by_g"], 1.5)
    receipt.add_index(table.indexes["by_l"], 3.0)
    assert receipt.total == 6.5
    assert receipt.render("TOTAL", "things") == {"TableName": "things", "CapacityUnits": 6.5}


def test_rejected_writes_are_only_in_the_total() -> None:
    receipt = Receipt()
    receipt.table_units, receipt.rejected_units = 1.0, 3.0
    assert receipt.render("INDEXES", "things") == {
        "TableName": "things",
        "CapacityUnits": 4.0,
        "Table": {"CapacityUnits": 1.0},
    }


def test_indexes_are_listed_by_kind_and_add_up(table: Table) -> None:
    receipt = Receipt()
    receipt.table_units = 1.0
    receipt.add_index(table.indexes["by_g"], 1.0)
    receipt.add_index(table.indexes["by_g"], 2.0)
    receipt.add_index(table.indexes["by_l"], 4.0)
    assert receipt.render("INDEXES", "things") == {
        "TableName": "things",
        "CapacityUnits": 8.0,
        "Table": {"CapacityUnits": 1.0},
        "LocalSecondaryIndexes": {"by_l": {"CapacityUnits": 4.0}},
        "GlobalSecondaryIndexes": {"by_g": {"CapacityUnits": 3.0}},
    }


def test_an_index_without_units_is_not_mentioned(table: Table) -> None:
    receipt = Receipt()
    receipt.add_index(table.indexes["by_g"], 0.0)
    assert receipt.render("INDEXES", "things") == {
        "TableName": "things",
        "CapacityUnits": 0.0,
        "Table": {"CapacityUnits": 0.0},
    }


def test_transactions_also_list_the_kind_of_units() -> None:
    receipt = Receipt()
    receipt.table_units = 2.0
    both = {"CapacityUnits": 2.0, "WriteCapacityUnits": 2.0}
    assert receipt.render("INDEXES", "things", "Write") == {"TableName": "things", **both, "Table": both}
