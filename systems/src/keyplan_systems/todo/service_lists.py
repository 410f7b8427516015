"""Lists and counts of a user's tasks: choosing the index, and splitting lists into pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

from keyplan import Page
from keyplan.client.connection import Connection
from keyplan.clock import Clock
from keyplan.design.declaring.patterns import Call
from keyplan_systems.todo import design
from keyplan_systems.todo.domain import URGENCY, today
from keyplan_systems.todo.entities import Priority, Status, Task
from keyplan_systems.todo.refusals import InvalidError
from keyplan_systems.web.request_context import omit_unreadable

Order = Literal["created", "status", "due_date", "priority", "category", "urgency"]

_MAX_READS = 40
"""Maximum number of read requests for one page of a filtered list. The limit is reached only if few tasks match the
filter.
"""

_ORDERS = {
    "created": design.tasks_of_user,
    "status": design.tasks_by_status,
    "due_date": design.tasks_by_due_date,
    "priority": design.tasks_by_priority,
    "category": design.tasks_by_category,
}


@dataclass(frozen=True)
class TaskSelection:
    """The filter criteria and the order of a list of tasks. A criterion that is None matches all tasks."""

    status: Status | None = None
    priority: Priority | None = None
    category: str | None = None
    due_on: date | None = None
    due_from: date | None = None
    due_to: date | None = None
    order: Order = "created"
    """Order of the tasks. With `created`, the default, the tasks have the order of the table or index that the query
    reads.

    An index contains only tasks that have a value for the index's field, so a list in index order omits other tasks.
    """

    def call(self, user_id: str) -> Call[Page[Task]]:
        """Return the query that returns tasks in the requested order and reads as few non-matching tasks as
        possible.
        """
        return self._due_query(user_id) or self._exact_query(user_id) or _ORDERS[self.order](user_id)

    def _due_query(self, user_id: str) -> Call[Page[Task]] | None:
        """Return the query for a due date or a range of due dates, in date order. Return None if the selection has no
        due dates or requires another order.
        """
        if self.order not in {"created", "due_date"}:
            return None
        if self.due_on is not None:
            return design.tasks_due_on(user_id, self.due_on)
        if self.due_from is not None or self.due_to is not None:
            return design.tasks_due_between(user_id, self.due_from or date.min, self.due_to or date.max)
        return None

    def _exact_query(self, user_id: str) -> Call[Page[Task]] | None:
        """Return the query for one value of the category, priority or status. Return None if the selection has no such
        value or its order requires another index.
        """
        if self.category is not None and self.order in {"created", "category"}:
            return design.tasks_in_category(user_id, self.category)
        if self.priority is not None and self.order in {"created", "priority"}:
            return design.tasks_with_priority(user_id, self.priority)
        if self.status is not None and self.order in {"created", "status"}:
            return design.tasks_with_status(user_id, self.status)
        return None

    def matches(self, task: Task) -> bool:
        """Return True if a task matches all criteria. This must be checked for each task, because the query checks only
        one of them.
        """
        day = task.due_date
        return (
            self.status in {None, task.status}
            and self.priority in {None, task.priority}
            and self.category in {None, task.category}
            and self.due_on in {None, day}
            and (self.due_from is None or (day is not None and self.due_from <= day))
            and (self.due_to is None or (day is not None and day <= self.due_to))
        )


class Lists:
    """Lists and counts of tasks. Most of them are read from indexes, which can lag behind the table."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection, self._clock = connection, clock

    def page(self, user_id: str, selection: TaskSelection, limit: int, cursor: str | None) -> Page[Task]:
        """Return a page of up to `limit` matching tasks of a user. Raises CursorError if the cursor belongs to another
        list or user.
        """
        if selection.order == "urgency":
            return self._by_urgency(user_id, selection, limit, cursor)
        return self._filtered_page(selection.call(user_id), selection, limit, cursor)

    def overdue(self, user_id: str, zone: str, limit: int, cursor: str | None) -> Page[Task]:
        """Return a page of a user's open tasks that are due before the current date in the time zone `zone`. Raises
        InvalidError if the zone is unknown.
        """
        return self._read(design.overdue_tasks(user_id, today(self._clock, zone)), limit, cursor)

    def search(self, user_id: str, text: str, limit: int, cursor: str | None) -> Page[Task]:
        """Return a page of the user's tasks whose title or description contains `text`. The query reads all tasks of
        the user.
        """
        return self._read(design.search_of_user(user_id, text), limit, cursor)

    def search_all(self, text: str, limit: int, cursor: str | None) -> Page[Task]:
        """Return a page of the tasks of all users whose title or description contains `text`. The scan reads the whole
        table.
        """
        return self._read(design.search_of_all(text), limit, cursor)

    def counts(self, user_id: str) -> dict[str, dict[str, int]]:
        """Count a user's tasks per status and per priority."""
        run = self._connection.run
        return {
            "status": {status.value: run(design.count_with_status(user_id, status)) for status in Status},
            "priority": {priority.value: run(design.count_with_priority(user_id, priority)) for priority in URGENCY},
        }

    def counts_of_all(self) -> dict[str, dict[str, int]]:
        """Count the tasks of all users per status and per priority, by reading the whole table."""
        statuses = {status.value: 0 for status in Status}
        priorities = {priority.value: 0 for priority in URGENCY}
        for task in self._connection.iterate(design.all_tasks(), unreadable=omit_unreadable):
            statuses[task.status.value] += 1
            if task.priority is not None:
                priorities[task.priority.value] += 1
        return {"status": statuses, "priority": priorities}

    def _read(self, call: Call[Page[Task]], limit: int, cursor: str | None) -> Page[Task]:
        """Run a list query or scan, and return a page of its results. Unreadable items are omitted, and the HTTP
        response reports their number.
        """
        return self._connection.run(call, limit=limit, cursor=cursor, unreadable=omit_unreadable)

    def _filtered_page(
        self, call: Call[Page[Task]], selection: TaskSelection, limit: int, cursor: str | None
    ) -> Page[Task]:
        """Return a page of up to `limit` tasks that match the selection. The tasks are read with the query `call`.

        After `_MAX_READS` read requests, the page is returned even if it is shorter than requested.
        """
        tasks: list[Task] = []
        for _ in range(_MAX_READS):
            page = self._read(call, limit - len(tasks), cursor)
            tasks += [task for task in page if selection.matches(task)]
            cursor = page.cursor
            if cursor is None or len(tasks) == limit:
                break
        return Page(tuple(tasks), cursor)

    def _by_urgency(self, user_id: str, selection: TaskSelection, limit: int, cursor: str | None) -> Page[Task]:
        """Return a page of tasks, most urgent first. The cursor contains the priority at which the next page starts."""
        rank, inner_cursor = _parse_urgency_cursor(cursor)
        tasks: list[Task] = []
        while rank < len(URGENCY):
            call = design.tasks_with_priority(user_id, URGENCY[rank])
            page = self._filtered_page(call, selection, limit - len(tasks), inner_cursor)
            tasks += page
            inner_cursor = page.cursor
            if inner_cursor is None:
                rank += 1
            if inner_cursor is not None or len(tasks) == limit:
                break
        return Page(tuple(tasks), f"{rank}.{inner_cursor or ''}" if rank < len(URGENCY) else None)


def _parse_urgency_cursor(cursor: str | None) -> tuple[int, str | None]:
    if cursor is None:
        return 0, None
    rank, _, inner_cursor = cursor.partition(".")
    if rank not in {str(number) for number in range(len(URGENCY))}:
        raise InvalidError("The cursor does not belong to this list.")
    return int(rank), inner_cursor or None
