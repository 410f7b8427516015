"""Rows of the document's table of access patterns: its claim, and the implementation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from tests.systems.todo.stage import Caller

from keyplan import Page
from keyplan.client.connection import Connection
from keyplan.design.declaring.patterns import Call
from keyplan_systems.todo import design
from keyplan_systems.todo.entities import Priority, Status, Task, User

NOW_S = 1_763_640_000
NOW = datetime.fromtimestamp(NOW_S, UTC)
TASKS = 25
_STATUSES = (Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED, Status.CANCELLED, Status.PENDING)


def task_of(number: int, user_id: str = "ada", **values: Any) -> Task:
    """Return one of the tasks."""
    members = {
        "user_id": user_id,
        "task_id": f"0000{number:04d}",
        "title": f"Task {number}",
        "description": "x" * 200,
        "status": _STATUSES[number % 5],
        "priority": list(Priority)[number % 4],
        "category": "home",
        "due_date": date(2025, 11, 18 + number % 5),
        "created_at": NOW,
        "updated_at": NOW,
        "completed_at": NOW if _STATUSES[number % 5] is Status.COMPLETED else None,
        "version": 1,
    }
    return Task.model_validate({**members, **values})


@dataclass(frozen=True)
class Row:
    """Row of the document's table, and its implementation."""

    label: str
    claim: str
    pattern: str
    call: Callable[[Connection], object] | None
    request: Callable[[Caller], object] | None
    remark: str

    @property
    def writes(self) -> bool:
        """True if a request changes the table."""
        return "WCU" in self.claim or self.pattern == "answer_given"


def _run(call: Call[Any]) -> Callable[[Connection], object]:
    return lambda connection: connection.run(call)


def _get(path: str, **query: Any) -> Callable[[Caller], object]:
    return lambda caller: good(caller.get(path, limit=100, **query))


def good(response: Any) -> None:
    """Check that a request succeeded."""
    assert response.is_success, response.text


def _listed(name: str, call: Call[Page[Task]], remark: str, **query: Any) -> Row:
    return Row(name, "~1-5 RCU", call.pattern.name, _run(call), _get("/tasks", **query), remark)


_DAY, _FIRST, _LAST = date(2025, 11, 18), date(2025, 11, 18), date(2025, 11, 19)
_EXACT = "begins_with instead of ="


_FIRST_TASK, _FRESH = task_of(0), task_of(900)
_PATH = f"/tasks/{_FIRST_TASK.task_id}"
_CHANGED = _FIRST_TASK.model_copy(update={"title": "New"})
_MOVED = design.change_status(
    "ada", _FIRST_TASK.task_id, seen=1, status=Status.COMPLETED, updated_at=NOW, completed_at=NOW,
    expiration_timestamp=None,
)  # fmt: skip
_BOB = User(user_id="bob", email="bob@x.org", name="Bob", created_at=NOW, updated_at=NOW, version=1)
_ADA = User(user_id="ada", email="ada@example.org", name="Ada L.", created_at=NOW, updated_at=NOW, version=1)
_IDS = {"task_ids": [task_of(0).task_id, task_of(1).task_id], "status": "completed"}


def rows() -> list[Row]:
    """Return every row of the table, in its order, then those added later."""
    return [*_keys_and_values(), *_orders_and_filters(), *_counts_bulk_search(), *_writes_of_tasks(), *_the_rest()]


def _keys_and_values() -> list[Row]:
    return [
        Row("user by user_id", "0.5 RCU", "user_by_id", _run(design.user_by_id("ada")), _get("/users"), "consistent"),
        Row(
            "task by task_id",
            "0.5 RCU",
            "task_by_id",
            _run(design.task_by_id("ada", _FIRST_TASK.task_id)),
            _get(_PATH),
            "consistent",
        ),
        _listed("all tasks", design.tasks_of_user("ada"), "consistent, so it includes the latest writes"),
        _listed(
            "tasks by status",
            design.tasks_by_status("ada"),
            "all tasks, grouped by status in alphabetical order",
            order="status",
        ),
        _listed("specific status", design.tasks_with_status("ada", Status.PENDING), _EXACT, status="pending"),
        _listed("tasks by due date", design.tasks_by_due_date("ada"), "", order="due_date"),
        _listed("specific due date", design.tasks_due_on("ada", _DAY), _EXACT, due_on=str(_DAY)),
        _listed(
            "date range",
            design.tasks_due_between("ada", _FIRST, _LAST),
            "the range ends after the last day",
            due_from=str(_FIRST),
            due_to=str(_LAST),
        ),
    ]


def _orders_and_filters() -> list[Row]:
    return [
        Row(
            "pagination",
            "no additional cost",
            "cursor",
            _paged,
            _pages,
            "a list by status in pages of 3; each page is rounded up separately",
        ),
        _listed(
            "tasks by priority",
            design.tasks_by_priority("ada"),
            "order=urgency sends four queries, most urgent first",
            order="priority",
        ),
        _listed("specific priority", design.tasks_with_priority("ada", Priority.URGENT), _EXACT, priority="urgent"),
        _listed("tasks by category", design.tasks_by_category("ada"), "", order="category"),
        _listed("specific category", design.tasks_in_category("ada", "home"), _EXACT, category="home"),
        _listed(
            "completed tasks",
            design.tasks_with_status("ada", Status.COMPLETED),
            "with the status index instead of a filter",
            status="completed",
        ),
        Row(
            "overdue tasks",
            "~1-5 RCU",
            "overdue_tasks",
            _run(design.overdue_tasks("ada", date(2025, 11, 20))),
            _get("/tasks/overdue"),
            "returns pending and in-progress tasks; finished tasks are read but filtered out",
        ),
        _listed("tasks with due dates", design.tasks_by_due_date("ada"), "", order="due_date"),
    ]


def _counts_bulk_search() -> list[Row]:
    return [
        Row(
            "count by status",
            "~50-200 RCU",
            "count_with_status",
            _run(design.count_with_status("ada", Status.PENDING)),
            _get("/tasks/counts"),
            "counts one user's tasks in the index; the request counts all statuses and priorities",
        ),
        Row(
            "count by priority",
            "~50-200 RCU",
            "count_with_priority",
            _run(design.count_with_priority("ada", Priority.LOW)),
            _get("/tasks/counts"),
            "for counts of all users, query the lake",
        ),
        Row(
            "bulk update of status",
            "1.5 WCU per item",
            "change_status",
            _run(_MOVED),
            lambda a: good(a.post("/tasks/bulk/status", _IDS)),
            "a conditional update per task; the request updates two tasks",
        ),
        Row(
            "bulk delete of completed",
            "0.5 WCU per item",
            "delete_completed_task",
            _run(design.delete_completed_task("ada", task_of(2).task_id)),
            lambda a: good(a.post("/tasks/bulk/delete-completed")),
            "a conditional delete per task; the request deletes five tasks",
        ),
        Row(
            "search title/description",
            "~50-500 RCU",
            "search_of_user",
            _run(design.search_of_user("ada", "Task 7")),
            _get("/tasks/search", q="Task 7"),
            "searches one user's tasks",
        ),
        Row(
            "search all users' tasks",
            "~50-500 RCU",
            "search_of_all",
            _run(design.search_of_all("Task 7")),
            _get("/admin/tasks/search", q="Task 7"),
            "the published scan; the lake runs the search without reading the table",
        ),
    ]


def _writes_of_tasks() -> list[Row]:
    return [
        Row(
            "create task",
            "1 WCU",
            "create_task",
            _run(design.create_task(_FRESH)),
            lambda a: good(a.post("/tasks", _body(_FRESH))),
            "1 for the table and 1 per index; the request runs a transaction with the response and the user",
        ),
        Row(
            "update task",
            "1 WCU",
            "replace_task",
            _run(design.replace_task(_CHANGED)),
            lambda a: good(a.put(_PATH, {"title": "New"})),
            "the indexes also contain the title",
        ),
        Row(
            "update of a status",
            "1 WCU",
            "replace_task",
            _run(design.replace_task(_FIRST_TASK.model_copy(update={"status": Status.CANCELLED}))),
            lambda a: good(a.put(_PATH, {"status": "cancelled"})),
            "the entry in the status index moves, which takes two writes",
        ),
    ]


def _the_rest() -> list[Row]:
    return [
        Row(
            "delete task",
            "0.5 WCU",
            "delete_task",
            _run(design.delete_task("ada", _FIRST_TASK.task_id, 1)),
            lambda a: good(a.delete(_PATH)),
            "write units are whole numbers",
        ),
        Row(
            "idempotency check",
            "0.5 RCU",
            "answer_given",
            _run(design.answer_given("ada", "none")),
            lambda a: good(a.post("/tasks", _body(_FRESH), "again")),
            "by PK and SK, consistent; the request returns a stored response",
        ),
        Row("idempotency cleanup", "0 RCU", "expiry", None, None, "deleted by the service, without consumed capacity"),
        Row(
            "create user",
            "1 WCU",
            "create_user",
            _run(design.create_user(_BOB)),
            lambda a: good(a.post("/users", {})),
            "in a transaction with the uniqueness guard item for the email address",
        ),
        Row(
            "update user",
            "1 WCU",
            "replace_user",
            _run(design.replace_user(_ADA)),
            lambda a: good(a.put("/users", {"name": "Ada L."})),
            "as above",
        ),
        Row(
            "delete user",
            "0.5 WCU",
            "replace_user",
            None,
            lambda a: good(a.delete("/users")),
            "the request starts the job",
        ),
        Row(
            "list all users",
            "scan",
            "all_users",
            _run(design.all_users()),
            _get("/admin/users"),
            "the whole table is read",
        ),
    ]


def _paged(connection: Connection) -> None:
    cursor = None
    while True:
        page = connection.run(design.tasks_with_status("ada", Status.PENDING), limit=3, cursor=cursor)
        cursor = page.cursor
        if cursor is None:
            return


def _pages(caller: Caller) -> None:
    cursor: dict[str, str] = {}
    while True:
        response = caller.get("/tasks", status="pending", limit=3, **cursor)
        if response.json()["cursor"] is None:
            return
        cursor = {"cursor": response.json()["cursor"]}


def _body(task: Task) -> dict[str, Any]:
    members = {"title", "description", "status", "priority", "category", "due_date"}
    return task.model_dump(mode="json", include=members)
