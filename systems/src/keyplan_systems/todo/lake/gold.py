"""The gold layer, which contains the statistics from the published design of the to-do system. They are computed from
the silver layer and committed together with it.

Totals count only existing items. Deleted users and tasks are not counted, and tasks that expired after their retention
period are counted separately as archived.
"""

# ruff: noqa: S608 - SQL composed only of text in this file

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa

from keyplan_systems.todo.lake import parquet, views
from keyplan_systems.todo.lake.snapshot import DataFile, Snapshot
from keyplan_systems.todo.lake.storage import Storage

_COUNTS = [(name, pa.int64()) for name in ("total", "pending", "in_progress", "completed", "cancelled", "archived")]
_RATE = pa.decimal128(7, 6)

SCHEMAS: dict[str, Any] = {
    "user_totals": pa.schema(
        [
            ("user_id", pa.string()),
            ("name", pa.string()),
            *_COUNTS,
            ("completion_rate", _RATE),
            ("first_created_on", pa.date32()),
            ("last_created_on", pa.date32()),
            ("last_completed_on", pa.date32()),
        ]
    ),
    "category_totals": pa.schema([("category", pa.string()), *_COUNTS, ("completion_rate", _RATE)]),
    "kpis": pa.schema(
        [
            ("users", pa.int64()),
            *(("tasks" if name == "total" else name, column_type) for name, column_type in _COUNTS),
            ("completion_rate", _RATE),
            ("deleted_users", pa.int64()),
            ("deleted_tasks", pa.int64()),
            ("as_of", pa.timestamp("us", tz="UTC")),
        ]
    ),
}
"""Columns of the gold tables. A completion rate is the number of completed tasks divided by the number of all tasks, or
null if no tasks exist. Dates are in UTC.
"""

_COUNT = """
    count(*) FILTER (current) AS total,
    count(*) FILTER (current AND status = 'pending') AS pending,
    count(*) FILTER (current AND status = 'in_progress') AS in_progress,
    count(*) FILTER (current AND status = 'completed') AS completed,
    count(*) FILTER (current AND status = 'cancelled') AS cancelled,
    count(*) FILTER (NOT current) AS archived
"""
_KNOWN_TASKS = """
    WITH known AS (
        SELECT user_id, category, status, created_on, completed_on, true AS current FROM silver.tasks
        UNION ALL
        SELECT user_id, category, status, created_on, completed_on, false AS current
        FROM silver.removed_tasks WHERE removal = 'expired'
    )
"""
_RATE_SQL = "CAST(completed / nullif(total, 0) AS DECIMAL(7, 6)) AS completion_rate"

QUERIES = {
    "user_totals": f"""
        {_KNOWN_TASKS},
        counted AS (
            SELECT user_id, {_COUNT},
                min(created_on) FILTER (current) AS first_created_on,
                max(created_on) FILTER (current) AS last_created_on,
                max(completed_on) FILTER (current) AS last_completed_on
            FROM known GROUP BY user_id
        )
        SELECT user_id, name, coalesce(total, 0) AS total, coalesce(pending, 0) AS pending,
            coalesce(in_progress, 0) AS in_progress, coalesce(completed, 0) AS completed,
            coalesce(cancelled, 0) AS cancelled, coalesce(archived, 0) AS archived, {_RATE_SQL},
            first_created_on, last_created_on, last_completed_on
        FROM silver.users FULL JOIN counted USING (user_id) ORDER BY user_id
    """,
    "category_totals": f"""
        {_KNOWN_TASKS}, counted AS (SELECT category, {_COUNT} FROM known GROUP BY category)
        SELECT *, {_RATE_SQL} FROM counted ORDER BY category NULLS LAST
    """,
    "kpis": f"""
        {_KNOWN_TASKS}, counted AS (SELECT {_COUNT} FROM known)
        SELECT (SELECT count(*) FROM silver.users) AS users, total AS tasks,
            counted.* EXCLUDE (total), {_RATE_SQL},
            (SELECT count(*) FROM silver.removed_users WHERE removal = 'deleted') AS deleted_users,
            (SELECT count(*) FROM silver.removed_tasks WHERE removal = 'deleted') AS deleted_tasks,
            (SELECT max(changed_at) FROM (
                SELECT changed_at FROM files_users UNION ALL SELECT changed_at FROM files_tasks
            )) AS as_of
        FROM counted
    """,
}
"""SQL statement that computes each gold table from the silver layer, by table name."""


def put(storage: Storage, snapshot: Snapshot) -> list[DataFile]:
    """Compute the gold tables from the silver files of a version that is about to be committed, and write them.

    Raises FileNotFoundError if a concurrent vacuum removed the silver files.
    """
    connection = views.connect(storage, snapshot, {})
    try:
        return [parquet.put(storage, snapshot, _table(connection, name), name, "") for name in SCHEMAS]
    except duckdb.Error as error:
        if views.is_missing_file(error):
            raise FileNotFoundError(f"the silver files of version {snapshot.version} were removed") from error
        raise
    finally:
        connection.close()


def _table(connection: duckdb.DuckDBPyConnection, name: str) -> Any:
    return connection.sql(QUERIES[name]).to_arrow_table().cast(SCHEMAS[name]).combine_chunks()
