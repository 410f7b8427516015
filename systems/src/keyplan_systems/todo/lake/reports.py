"""The reports from the published design of the to-do system, by name."""

# ruff: noqa: S608 - SQL composed only of text in this file

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Report:
    """A report that is computed with SQL."""

    title: str
    sql: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Default values of the parameters, by parameter name."""
    label: str = ""
    """Name of the column with the labels of the bars. If it is empty, the result is shown as a table."""
    value: str = ""
    """Name of the column with the values of the bars."""


_OF_USER = "($user_id IS NULL OR user_id = $user_id)"
_BY = """
    SELECT {column}, count(*) AS tasks FROM silver.tasks WHERE ($user_id IS NULL OR user_id = $user_id)
    GROUP BY {column} ORDER BY {order}
"""
_URGENCY = "list_position(['urgent', 'high', 'medium', 'low'], priority) NULLS LAST, priority"

REPORTS: dict[str, Report] = {
    "completion_rates": Report(
        "Completion rate of each user's existing tasks",
        "SELECT user_id, name, total, completed, completion_rate FROM gold.user_totals WHERE total > 0 "
        "ORDER BY completion_rate DESC, total DESC, user_id LIMIT $limit",
        {"limit": 100},
        "user_id",
        "completion_rate",
    ),
    "top_users": Report(
        "Users who completed the most tasks",
        "SELECT user_id, name, completed, total, archived FROM gold.user_totals "
        "ORDER BY completed DESC, total DESC, user_id LIMIT $limit",
        {"limit": 10},
        "user_id",
        "completed",
    ),
    "users_without_tasks": Report(
        "Users without tasks",
        "SELECT user_id, name, email, created_on FROM silver.users ANTI JOIN silver.tasks USING (user_id) "
        "ORDER BY created_on, user_id LIMIT $limit",
        {"limit": 1000},
    ),
    "tasks_by_status": Report(
        "Tasks by status", _BY.format(column="status", order="tasks DESC, status"), {"user_id": None}, "status", "tasks"
    ),
    "tasks_by_priority": Report(
        "Tasks by priority", _BY.format(column="priority", order=_URGENCY), {"user_id": None}, "priority", "tasks"
    ),
    "tasks_by_category": Report(
        "Tasks by category",
        "SELECT category, total, completed, completion_rate FROM gold.category_totals "
        "ORDER BY total DESC, category NULLS LAST LIMIT $limit",
        {"limit": 50},
        "category",
        "total",
    ),
    "changes_by_day": Report(
        "Changes by day (UTC)",
        "SELECT date, count(*) AS changes, count(*) FILTER (change = 'delete') AS deleted, "
        "count(*) FILTER (change = 'expire') AS expired FROM bronze.events GROUP BY date ORDER BY date",
        {},
        "date",
        "changes",
    ),
    "kpis": Report("Key figures", "SELECT * FROM gold.kpis"),
    "search": Report(
        "Tasks whose title or description contains a text, ignoring case",
        "SELECT user_id, task_id, title, description, status, due_date FROM silver.tasks "
        "WHERE (contains(lower(title), lower($text)) OR contains(lower(description), lower($text))) "
        f"AND {_OF_USER} ORDER BY contains(lower(title), lower($text)) IS TRUE DESC, updated_at DESC, user_id, task_id "
        "LIMIT $limit",
        {"text": "", "user_id": None, "limit": 100},
    ),
}
"""All reports, by name. If `user_id` is None, a report includes all users."""
