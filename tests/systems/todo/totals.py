"""Totals of users and tasks, from the table and from the lake."""

from __future__ import annotations

from tests.systems.todo.lake.queries import rows

from keyplan.client.connection import Connection
from keyplan_systems.todo import design
from keyplan_systems.todo.entities import Status
from keyplan_systems.todo.lake.lake import Lake


def totals_of_table(connection: Connection) -> dict[str, dict[str, int]]:
    results: dict[str, dict[str, int]] = {user.user_id: {} for user in connection.iterate(design.all_users())}
    for task in connection.iterate(design.all_tasks()):
        counts = results.setdefault(task.user_id, {})
        counts[task.status.value] = counts.get(task.status.value, 0) + 1
    return results


def totals_of_lake(lake: Lake) -> dict[str, dict[str, int]]:
    statuses = [status.value for status in Status]
    result = rows(lake, "SELECT * FROM gold.user_totals")
    return {row["user_id"]: {name: row[name] for name in statuses if row[name]} for row in result}


def assert_same(connection: Connection, lake: Lake) -> None:
    lake.refresh()
    table_totals = totals_of_table(connection)
    assert totals_of_lake(lake) == table_totals
    tasks = sum(sum(counts.values()) for counts in table_totals.values())
    assert rows(lake, "SELECT users, tasks FROM gold.kpis") == [{"users": len(table_totals), "tasks": tasks}]
