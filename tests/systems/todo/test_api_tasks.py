"""Tasks over HTTP: create, read, change, delete, list, with every refusal."""

from __future__ import annotations

import uuid
from typing import Any

import httpx
import pytest
from tests.systems.todo.stage import Caller, Stage, new_key

from keyplan.clock import ManualClock
from keyplan_systems.todo import service_lists

NOW = 1_763_640_000


def titles(response: httpx.Response) -> list[str]:
    assert response.status_code == 200, response.text
    return [task["title"] for task in response.json()["tasks"]]


def everything(caller: Caller, path: str, **query: Any) -> list[str]:
    """Return all pages of a list."""
    results: list[str] = []
    cursor = None
    while True:
        response = caller.get(path, **query, **({} if cursor is None else {"cursor": cursor}))
        results += titles(response)
        cursor = response.json()["cursor"]
        if cursor is None:
            return results


def test_a_task_is_created_with_the_given_fields_and_defaults(ada: Caller) -> None:
    response = ada.post("/tasks", {"title": " Water the plants "})
    assert response.status_code == 201
    task = response.json()
    assert uuid.UUID(task.pop("task_id")).version == 7
    assert task == {
        "title": "Water the plants",
        "description": None,
        "status": "pending",
        "priority": "medium",
        "category": None,
        "due_date": None,
        "created_at": NOW,
        "updated_at": NOW,
        "completed_at": None,
        "version": 1,
    }
    assert ada.get(f"/tasks/{response.json()['task_id']}").json() == response.json()


def test_priority_may_be_none_and_a_task_may_start_completed(ada: Caller) -> None:
    task = ada.task(priority=None, status="completed")
    assert task["priority"] is None
    assert task["completed_at"] == NOW


@pytest.mark.embedded("refused before any table is met")
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"title": ""},
        {"title": "   "},
        {"title": "x" * 201},
        {"title": "x", "description": "x" * 1001},
        {"title": "x", "category": "a#b"},
        {"title": "x", "category": ""},
        {"title": "x", "category": "x" * 51},
        {"title": "x", "status": "done"},
        {"title": "x", "priority": "low!"},
        {"title": "x", "due_date": "2025-02-30"},
        {"title": "x", "due_date": "2025-11-30T00:00:00"},
        {"title": "x", "due_date": "20251130"},
        {"title": "x", "due_date": 20251130},
        {"title": "x", "due_date": 0},
        {"title": "x", "due_date": True},
        {"title": 5},
        {"title": "x", "task_id": "mine"},
        {"title": None},
    ],
)
def test_invalid_bodies_return_422_in_the_common_error_format(ada: Caller, body: dict[str, Any]) -> None:
    response = ada.post("/tasks", body)
    assert response.status_code == 422
    error = response.json()["error"]
    assert error["code"] == "invalid"
    assert error["request_id"] == response.headers["X-Request-Id"]
    assert ada.get("/tasks").json() == {"tasks": [], "cursor": None}


def test_writes_require_an_idempotency_key(ada: Caller) -> None:
    task = ada.task()
    for response in (
        ada.client.post("/tasks", json={"title": "x"}),
        ada.client.put(f"/tasks/{task['task_id']}", json={"title": "x"}),
        ada.client.delete(f"/tasks/{task['task_id']}"),
        ada.client.post("/tasks/bulk/delete-completed"),
        ada.client.post("/tasks", json={"title": "x"}, headers={"Idempotency-Key": "two words"}),
        ada.client.post("/tasks", json={"title": "x"}, headers={"Idempotency-Key": "x" * 129}),
    ):
        assert response.status_code == 422
        assert response.json()["error"]["details"][0]["field"] == "Idempotency-Key"


def test_requests_without_a_valid_token_return_401(stage: Stage) -> None:
    with httpx.Client(base_url=f"{stage.url}/api/v1") as client:
        for method, path in (("GET", "/tasks"), ("POST", "/tasks"), ("DELETE", "/users"), ("GET", "/admin/users")):
            response = client.request(method, path)
            assert response.status_code == 401
            assert response.json()["error"]["code"] == "unauthorized"
    assert stage.person("a#b").get("/tasks").status_code == 401


def test_tasks_of_others_and_missing_ones_are_both_not_found(stage: Stage, ada: Caller) -> None:
    bob, task = stage.person("bob"), ada.task()
    for path in (f"/tasks/{task['task_id']}", "/tasks/nothing"):
        for response in (bob.get(path), bob.put(path, {"title": "mine"}), bob.delete(path)):
            assert response.status_code == 404
            assert response.json()["error"]["code"] == "not_found"
    assert ada.get(f"/tasks/{task['task_id']}").json() == task


def test_a_change_keeps_omitted_fields_and_clears_nulls(ada: Caller, stage: Stage, clock: ManualClock) -> None:
    task = ada.task(description="why", category="home", due_date="2025-12-01", priority="high")
    clock.advance(10)
    changed = ada.put(f"/tasks/{task['task_id']}", {"title": "new", "category": None, "due_date": None})
    assert changed.status_code == 200
    expected = {**task, "title": "new", "category": None, "due_date": None, "updated_at": NOW + 10, "version": 2}
    assert changed.json() == expected
    assert ada.get(f"/tasks/{task['task_id']}").json() == expected
    assert titles(ada.get("/tasks", order="due_date")) == []
    assert titles(ada.get("/tasks", category="home")) == []
    assert titles(ada.get("/tasks", priority="high")) == ["new"]


@pytest.mark.embedded("refused before any table is met")
@pytest.mark.parametrize("body", [{}, {"title": None}, {"status": None}, {"owner": "bob"}, {"title": ""}])
def test_empty_and_invalid_changes_are_rejected(ada: Caller, body: dict[str, Any]) -> None:
    task = ada.task()
    assert ada.put(f"/tasks/{task['task_id']}", body).status_code == 422


def test_every_change_updates_the_task_in_every_index(ada: Caller) -> None:
    task = ada.task("t", status="pending", priority="low", category="a", due_date="2025-12-01")
    path = f"/tasks/{task['task_id']}"
    ada.put(path, {"status": "in_progress", "priority": "urgent", "category": "b", "due_date": "2026-01-01"})
    for before in ({"status": "pending"}, {"priority": "low"}, {"category": "a"}, {"due_on": "2025-12-01"}):
        assert titles(ada.get("/tasks", **before)) == []
    for after in ({"status": "in_progress"}, {"priority": "urgent"}, {"category": "b"}, {"due_on": "2026-01-01"}):
        assert titles(ada.get("/tasks", **after)) == ["t"]


def test_completion_sets_its_time_and_reopening_removes_it(ada: Caller, clock: ManualClock) -> None:
    path = f"/tasks/{ada.task()['task_id']}"
    clock.advance(60)
    assert ada.put(path, {"status": "completed"}).json()["completed_at"] == NOW + 60
    clock.advance(60)
    assert ada.put(path, {"title": "still"}).json()["completed_at"] == NOW + 60
    assert ada.put(path, {"status": "cancelled"}).json()["completed_at"] is None
    assert ada.put(path, {"status": "pending"}).json()["status"] == "pending"


def test_a_change_or_deletion_at_another_version_is_a_conflict(ada: Caller) -> None:
    path = f"/tasks/{ada.task()['task_id']}"
    assert ada.put(path, {"title": "second"}, **{"If-Match": '"1"'}).json()["version"] == 2
    for response in (ada.put(path, {"title": "x"}, **{"If-Match": "1"}), ada.delete(path, **{"If-Match": '"1"'})):
        assert response.status_code == 409
        assert response.json()["error"]["code"] == "conflict"
    assert ada.delete(path, **{"If-Match": "2"}).status_code == 204


def test_a_deleted_task_is_removed_from_every_list(ada: Caller) -> None:
    task = ada.task(category="home", due_date="2025-12-01")
    response = ada.delete(f"/tasks/{task['task_id']}")
    assert (response.status_code, response.content) == (204, b"")
    assert ada.get(f"/tasks/{task['task_id']}").status_code == 404
    for order in ("created", "status", "due_date", "priority", "category", "urgency"):
        assert titles(ada.get("/tasks", order=order)) == []


def test_lists_are_in_the_order_of_their_index(ada: Caller, clock: ManualClock) -> None:
    for number, (status, priority, day) in enumerate(
        [
            ("pending", "low", "2025-12-03"),
            ("completed", "urgent", "2025-12-01"),
            ("cancelled", "high", "2025-12-02"),
            ("in_progress", "medium", "2025-12-04"),
        ]
    ):
        ada.task(str(number), status=status, priority=priority, category="dcba"[number], due_date=day)
        clock.advance(1)
    orders = {"created": "0123", "status": "2130", "due_date": "1203", "priority": "2031", "category": "3210"}
    for order, expected in {**orders, "urgency": "1230"}.items():
        assert "".join(titles(ada.get("/tasks", order=order))) == expected, order


def test_a_filter_by_value_returns_exactly_its_tasks(ada: Caller) -> None:
    ada.task("ab", category="ab")
    ada.task("a", category="a", due_date="2025-12-01")
    ada.task("A", category="A", status="completed", priority="low")
    assert titles(ada.get("/tasks", category="a")) == ["a"]
    assert titles(ada.get("/tasks", category="A")) == ["A"]
    assert titles(ada.get("/tasks", status="completed")) == ["A"]
    assert titles(ada.get("/tasks", status="cancelled")) == []
    assert titles(ada.get("/tasks", priority="low")) == ["A"]
    assert titles(ada.get("/tasks", due_on="2025-12-01")) == ["a"]


def test_a_date_range_includes_both_bounds(ada: Caller) -> None:
    for day in ("2025-10-30", "2025-10-31", "2025-11-01", "2025-11-02"):
        ada.task(day, due_date=day)
    ada.task("some day")
    between = {"due_from": "2025-10-31", "due_to": "2025-11-01"}
    assert titles(ada.get("/tasks", **between)) == ["2025-10-31", "2025-11-01"]
    assert titles(ada.get("/tasks", due_from="2025-11-01")) == ["2025-11-01", "2025-11-02"]
    assert titles(ada.get("/tasks", due_to="2025-10-30")) == ["2025-10-30"]
    assert titles(ada.get("/tasks", due_from="2025-11-02", due_to="2025-10-01")) == []


def test_filters_are_combined(ada: Caller) -> None:
    ada.task("yes", status="pending", priority="high", category="home", due_date="2025-12-01")
    ada.task("other status", status="completed", priority="high", category="home", due_date="2025-12-01")
    ada.task("other priority", status="pending", priority="low", category="home", due_date="2025-12-01")
    ada.task("other day", status="pending", priority="high", category="home", due_date="2025-12-02")
    query = {"status": "pending", "priority": "high", "category": "home"}
    assert titles(ada.get("/tasks", **query, due_on="2025-12-01")) == ["yes"]
    assert titles(ada.get("/tasks", **query)) == ["yes", "other day"]
    assert titles(ada.get("/tasks", **query, order="urgency")) == ["yes", "other day"]
    assert everything(ada, "/tasks", **query, limit=1) == ["yes", "other day"]


def test_a_page_that_would_read_too_much_ends_early_with_a_cursor(ada: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(8):
        ada.task(str(number), priority="high" if number == 7 else "low", category="home")
    monkeypatch.setattr(service_lists, "_MAX_READS", 2)
    first = ada.get("/tasks", category="home", status="cancelled", limit=1)
    assert first.json()["tasks"] == []
    assert first.json()["cursor"] is not None
    assert everything(ada, "/tasks", category="home", priority="high", limit=1) == ["7"]
    assert sorted(everything(ada, "/tasks", order="urgency", category="home", limit=1)) == list("01234567")
    assert everything(ada, "/tasks", order="urgency", status="cancelled", limit=1) == []


def test_overdue_are_open_tasks_due_before_today_in_the_zone(ada: Caller, clock: ManualClock) -> None:
    clock.advance(11 * 3600)  # 23:00 UTC: in Tokyo it is the next day already
    for status in ("pending", "in_progress", "completed", "cancelled"):
        ada.task(f"{status} yesterday", status=status, due_date="2025-11-19")
        clock.advance(1)
    ada.task("today", due_date="2025-11-20")
    ada.task("whenever")
    assert titles(ada.get("/tasks/overdue")) == ["pending yesterday", "in_progress yesterday"]
    assert titles(ada.get("/tasks/overdue", time_zone="Asia/Tokyo")) == [
        "pending yesterday", "in_progress yesterday", "today"
    ]  # fmt: skip
    assert titles(ada.get("/users/ada/tasks/overdue")) == ["pending yesterday", "in_progress yesterday"]
    for zone in ("Mars/Olympus", "../etc/passwd", "/etc/passwd"):
        assert ada.get("/tasks/overdue", time_zone=zone).status_code == 422


@pytest.mark.parametrize("query", [{}, {"order": "urgency"}, {"order": "status"}, {"status": "pending"}])
def test_pages_contain_every_task_once(ada: Caller, query: dict[str, str]) -> None:
    new_titles = {
        ada.task(str(number), priority=["low", "high", "urgent"][number % 3])["title"] for number in range(17)
    }
    for limit in (1, 4, 5, 17, 18):
        actual_titles = everything(ada, "/tasks", limit=limit, **query)
        assert len(actual_titles) == 17
        assert set(actual_titles) == new_titles


def test_overdue_pages_continue_past_pages_without_matches(ada: Caller) -> None:
    for number in range(12):
        ada.task(str(number), status="completed" if number % 4 else "pending", due_date=f"2025-01-{number + 1:02d}")
    assert everything(ada, "/tasks/overdue", limit=1) == ["0", "4", "8"]


def test_a_cursor_works_only_for_its_own_list(stage: Stage, ada: Caller) -> None:
    bob = stage.person("bob")
    for number in range(4):
        ada.task(str(number), category="a")
        bob.task(str(number), category="a")
    cursor = ada.get("/tasks", limit=2).json()["cursor"]
    by_status = ada.get("/tasks", limit=2, status="pending").json()["cursor"]
    urgency = ada.get("/tasks", limit=2, order="urgency").json()["cursor"]
    flipped = cursor[:-1] + ("A" if cursor[-1] != "A" else "B")
    for response in (
        bob.get("/tasks", cursor=cursor),
        ada.get("/tasks", cursor=by_status),
        ada.get("/tasks", status="completed", cursor=by_status),
        ada.get("/tasks", cursor=flipped),
        ada.get("/tasks", cursor="nonsense"),
        ada.get("/tasks", order="urgency", cursor=cursor),
        bob.get("/tasks", order="urgency", cursor=urgency),
        ada.get("/tasks", order="urgency", cursor="9."),
        ada.get("/tasks/overdue", cursor=by_status),
    ):
        assert response.status_code == 422, response.text
    assert len(titles(ada.get("/tasks", order="urgency", cursor=urgency))) == 2


def test_known_tasks_are_read_in_batches(ada: Caller, stage: Stage) -> None:
    tasks = [ada.task(str(number)) for number in range(3)]
    other = stage.person("bob").task()
    task_ids = [tasks[2]["task_id"], other["task_id"], tasks[0]["task_id"], tasks[2]["task_id"]]
    response = ada.get("/tasks/several", task_id=task_ids)
    assert response.json() == {"tasks": [tasks[2], tasks[0]]}


def test_counts_cover_the_tasks_of_the_caller(ada: Caller, stage: Stage) -> None:
    for status, priority in (("pending", "low"), ("pending", None), ("completed", "urgent")):
        ada.task(status=status, priority=priority)
    stage.person("bob").task()
    assert ada.get("/tasks/counts").json() == {
        "status": {"pending": 2, "in_progress": 0, "completed": 1, "cancelled": 0},
        "priority": {"urgent": 1, "high": 0, "medium": 0, "low": 1},
    }


def test_search_reads_titles_and_descriptions_of_the_caller(ada: Caller, stage: Stage, clock: ManualClock) -> None:
    ada.task("Buy milk")
    clock.advance(1)
    ada.task("Shop", description="bread and milk")
    ada.task("Bread")
    stage.person("bob").task("milk")
    assert titles(ada.get("/tasks/search", q="milk")) == ["Buy milk", "Shop"]
    assert everything(ada, "/tasks/search", q="milk", limit=1) == ["Buy milk", "Shop"]
    assert ada.get("/tasks/search").status_code == 422


def test_the_list_under_a_users_path_is_readable_only_by_that_user(ada: Caller, stage: Stage) -> None:
    ada.task("high", priority="high")
    ada.task("low", priority="low")
    assert titles(ada.get("/users/ada/tasks", priority="high")) == ["high"]
    for path in ("/users/ada/tasks", "/users/ada/tasks/overdue"):
        assert stage.person("bob").get(path).status_code == 404


def test_health_and_the_openapi_document_are_served_with_examples(stage: Stage) -> None:
    health = httpx.get(f"{stage.url}/health")
    assert (health.status_code, health.json()) == (200, {"status": "ok", "checks": {"table": "ok"}})
    document = httpx.get(f"{stage.url}/openapi.json").json()
    assert {"/api/v1/users", "/api/v1/tasks", "/api/v1/tasks/{task_id}"} <= set(document["paths"])
    shapes = document["components"]["schemas"]
    assert all(
        shapes[name].get("examples") for name in ("NewTask", "TaskChanges", "TaskAnswer", "BulkStatus", "NewUser")
    )
    parameters = document["paths"]["/api/v1/tasks"]["post"]["parameters"]
    assert [parameter["name"] for parameter in parameters if parameter["required"]] == ["Idempotency-Key"]


def test_the_example_bodies_are_valid_requests(ada: Caller, stage: Stage) -> None:
    document = httpx.get(f"{stage.url}/openapi.json").json()
    shapes = document["components"]["schemas"]
    task = ada.post("/tasks", shapes["NewTask"]["examples"][0], new_key())
    assert task.status_code == 201
    for example in shapes["TaskChanges"]["examples"]:
        assert ada.put(f"/tasks/{task.json()['task_id']}", example).status_code == 200
    assert ada.post("/tasks/bulk/status", shapes["BulkStatus"]["examples"][0]).status_code == 200
