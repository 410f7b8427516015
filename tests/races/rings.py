"""Transactions that keep rings: items all over a table that have the same version at all times."""

from __future__ import annotations

from typing import Any

from tests.engine import tables_of
from tests.engine.backup_making import stored_trees

from keyplan.engine.backups import backups
from keyplan.engine.engine import Engine
from keyplan.engine.tables.catalog import stored_tables

ITEMS, RING = 60, 5


def name_of(place: int) -> str:
    return f"item-{place % ITEMS:03}"


def turn(engine: Engine, writer: int, number: int) -> None:
    """One transaction of a writer: its ring, spread over the table, gets a version; an item comes, another goes."""
    puts = [
        {"Put": {"TableName": "things", "Item": {**tables_of.key(f"ring-{part}-{writer}"), "v": {"N": str(number)}}}}
        for part in range(RING)
    ]
    come = {"Put": {"TableName": "things", "Item": {**tables_of.key(name_of(number)), "by": {"N": str(writer)}}}}
    go = {"Delete": {"TableName": "things", "Key": tables_of.key(name_of(number + ITEMS // 2))}}
    engine.call("TransactWriteItems", {"TransactItems": [*puts, come, go]})


def rings(engine: Engine, table: str) -> dict[str, set[str]]:
    """Return the versions in each writer's ring."""
    members: dict[str, set[str]] = {}
    items: list[dict[str, Any]] = engine.call("Scan", {"TableName": table, "ConsistentRead": True})["Items"]
    for item in items:
        kind, _, writer = item["p"]["S"].split("-") if item["p"]["S"].startswith("ring") else ("", "", "")
        if kind:
            members.setdefault(writer, set()).add(item["v"]["N"])
    return members


def check_trees(engine: Engine) -> None:
    """Every tree belongs to a table or a backup; to no copy, for none is under way."""
    view, expected = engine.store.view(), set()
    for table in stored_tables(view):
        assert table.copies == ()
        expected |= {table.tree.number} | ({table.recovery.tree.number} if table.recovery is not None else set())
    expected |= {document["tree"] for document in backups.all_backups(view)}
    assert stored_trees(engine) == {f"tree_{number}" for number in expected}
