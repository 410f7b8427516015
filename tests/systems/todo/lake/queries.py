"""Queries of tests to a lake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keyplan_systems.todo.lake.lake import Lake

GOLD = ("user_totals", "category_totals", "kpis")
_SILVER = ("users", "tasks", "removed_users", "removed_tasks")


def rows(lake: Lake, sql: str, **parameters: Any) -> list[dict[str, Any]]:
    """Return the answer to a query, as dictionaries."""
    actual_rows: list[dict[str, Any]] = lake.query(sql, parameters).to_pylist()
    return actual_rows


def sequences(lake: Lake) -> list[int]:
    """Return the sequence numbers in bronze, in order."""
    return [int(row["sequence"]) for row in rows(lake, "SELECT sequence FROM bronze.events ORDER BY sequence")]


def silver(lake: Lake) -> dict[str, list[dict[str, Any]]]:
    """Return all of silver, in order."""
    return _tables(lake, "silver", _SILVER)


def gold(lake: Lake) -> dict[str, list[dict[str, Any]]]:
    """Return all of gold, in order."""
    return _tables(lake, "gold", GOLD)


def _tables(lake: Lake, schema: str, names: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of views by one query, because each query opens its own engine."""
    ordered = ", ".join(f"(SELECT list({n}) FROM (SELECT * FROM {schema}.{n} ORDER BY ALL) {n}) AS {n}" for n in names)
    (row,) = rows(lake, f"SELECT {ordered}")
    return {name: row[name] or [] for name in names}
