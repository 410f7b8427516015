"""Statistics about a user's tasks, read from the data lake: throughput, completion time and categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Protocol

from keyplan.clock import Clock
from keyplan_systems.todo.domain import today

_DAYS = 28
_CATEGORIES = 5

_TOTALS = """
    SELECT count(*) AS total, count(*) FILTER (status = 'completed') AS completed,
        count(*) FILTER (status IN ('pending', 'in_progress')) AS open,
        count(*) FILTER (status IN ('pending', 'in_progress') AND due_date < $today) AS overdue,
        median(completed_at - created_at) FILTER (status = 'completed') / 3600 AS median_hours,
        max(changed_at) AS as_of
    FROM silver.tasks WHERE user_id = $user_id
"""
_BY_DAY = """
    SELECT 'created' AS kind, created_on AS day, count(*) AS tasks FROM silver.tasks
    WHERE user_id = $user_id AND created_on >= $since GROUP BY day
    UNION ALL
    SELECT 'completed', completed_on, count(*) FROM silver.tasks
    WHERE user_id = $user_id AND completed_on >= $since GROUP BY completed_on
"""
_COMPLETION_TIME = """
    SELECT completed_on AS day, median(completed_at - created_at) / 3600 AS hours FROM silver.tasks
    WHERE user_id = $user_id AND completed_on >= $since GROUP BY completed_on
"""
_BY_CATEGORY = """
    SELECT coalesce(category, 'none') AS category, date_trunc('week', created_on)::DATE AS week, count(*) AS tasks
    FROM silver.tasks WHERE user_id = $user_id AND created_on >= $since GROUP BY ALL
"""


class Lake(Protocol):
    """Interface for data lakes that run SQL queries, such as `keyplan_systems.todo.lake.lake.Lake`."""

    def query(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """Run a query and return an Arrow table."""


@dataclass(frozen=True)
class Figures:
    """Statistics about the tasks of a user. Days are in UTC."""

    total: int
    open: int
    completed: int
    overdue: int
    median_hours: float | None
    """Median time from creation to completion of all completed tasks, in hours, or None if the user has no completed
    tasks.
    """
    as_of: datetime | None
    """Time of the newest change in the lake, or None if the lake contains no tasks of the user."""
    days: list[date]
    created: list[float]
    finished: list[float]
    hours: list[float | None]
    """Median completion time in hours for each day in `days`. The value is None for a day on which no task was
    completed.
    """
    weeks: list[date]
    categories: list[tuple[str, list[float]]]
    """The most frequent categories, each with the number of tasks that were created in each of the weeks in `weeks`."""


class Dashboard:
    """Reader of task statistics from the data lake. Threads can share an instance."""

    def __init__(self, lake: Lake, clock: Clock) -> None:
        self._lake, self._clock = lake, clock

    def figures_of(self, user_id: str) -> Figures:
        """Return statistics about a user's tasks: totals of all tasks, and daily and weekly values for the last four
        weeks. Raises LakeError if the lake cannot be read.
        """
        day = today(self._clock)
        days = [day - timedelta(days=_DAYS - 1 - number) for number in range(_DAYS)]
        parameters = {"user_id": user_id}
        since = {**parameters, "since": days[0]}
        totals = self._rows(_TOTALS, {**parameters, "today": day})[0]
        by_day = {(row["kind"], row["day"]): float(row["tasks"]) for row in self._rows(_BY_DAY, since)}
        hours = {row["day"]: float(row["hours"]) for row in self._rows(_COMPLETION_TIME, since)}
        first_week = days[0] - timedelta(days=days[0].weekday())
        weeks = [first_week + timedelta(weeks=number) for number in range((day - first_week).days // 7 + 1)]
        median = totals["median_hours"]
        return Figures(
            totals["total"],
            totals["open"],
            totals["completed"],
            totals["overdue"],
            None if median is None else float(median),
            totals["as_of"],
            days,
            [by_day.get(("created", day), 0.0) for day in days],
            [by_day.get(("completed", day), 0.0) for day in days],
            [hours.get(day) for day in days],
            weeks,
            self._categories({**parameters, "since": weeks[0]}, weeks),
        )

    def _categories(self, parameters: Mapping[str, Any], weeks: list[date]) -> list[tuple[str, list[float]]]:
        counts: dict[str, dict[date, float]] = {}
        for row in self._rows(_BY_CATEGORY, parameters):
            counts.setdefault(row["category"], {})[row["week"]] = float(row["tasks"])
        largest = sorted(counts, key=lambda name: (-sum(counts[name].values()), name))[:_CATEGORIES]
        return [(name, [counts[name].get(week, 0.0) for week in weeks]) for name in largest]

    def _rows(self, sql: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._lake.query(sql, parameters).to_pylist()
        return rows
