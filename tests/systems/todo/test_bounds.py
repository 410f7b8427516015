"""Limits of texts, lists and pages: the largest valid and the smallest invalid values."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.systems.served_engine import ServedEngine
from tests.systems.todo.stage import Caller, Stage

from keyplan.engine.engine import Engine

LISTS = (
    "/tasks",
    "/tasks/overdue",
    "/tasks/search?q=t",
    "/users/ada/tasks",
    "/users/ada/tasks/overdue",
    "/admin/users",
    "/admin/tasks/search?q=t",
)


def refused_for(field: str, *responses: httpx.Response) -> None:
    """Check that every answer is a 422 for this field."""
    for response in responses:
        assert (response.status_code, response.json()["error"]["details"][0]["field"]) == (422, field), response.text


def page_of(caller: Caller, path: str, limit: int) -> httpx.Response:
    """Return a list, whose path may have query parameters already."""
    return caller.client.get(httpx.URL(path).copy_merge_params({"limit": limit}))


def test_texts_may_have_their_documented_length(ada: Caller) -> None:
    texts = {"title": "x" * 200, "description": "y" * 1000, "category": "z" * 50}
    task = ada.task(**texts)
    assert {name: task[name] for name in texts} == texts
    assert ada.put(f"/tasks/{task['task_id']}", texts).status_code == 200
    shortest = ada.task("x", description="", category="z")
    assert (shortest["title"], shortest["description"], shortest["category"]) == ("x", "", "z")
    assert ada.put("/users", {"name": "n" * 100}).json()["name"] == "n" * 100
    longest = f"{'a' * 64}@{'b' * 63}.{'c' * 63}.{'d' * 57}.org"
    assert len(longest) == 254
    assert ada.put("/users", {"email": longest}).json()["email"] == longest
    assert ada.post("/tasks", {"title": "x"}, "k" * 128).status_code == 201


@pytest.mark.embedded("refused before any table is met")
@pytest.mark.parametrize("path", LISTS)
def test_a_page_has_1_to_100_entries(stage: Stage, path: str) -> None:
    caller = stage.person("ada", "administrators")
    refused_for("limit", page_of(caller, path, 0), page_of(caller, path, 101))
    for limit in (1, 100):
        assert page_of(caller, path, limit).status_code == 200


def test_a_page_has_25_entries_by_default(stage: Stage) -> None:
    caller = stage.person("ada", "administrators")
    for number in range(26):
        caller.task(f"t{number}", due_date="2025-11-01")
    for path in LISTS:
        if path != "/admin/users":
            assert len(caller.client.get(path).json()["tasks"]) == 25, path


@pytest.mark.embedded("refused before any table is met")
def test_queries_have_bounds(ada: Caller, stage: Stage) -> None:
    root = stage.person("root", "administrators")
    for caller, path in ((ada, "/tasks/search"), (root, "/admin/tasks/search")):
        refused_for("q", caller.get(path, q="x" * 201), caller.get(path, q=""), caller.get(path))
        assert caller.get(path, q="x" * 200).status_code == 200
    ids = [str(number) for number in range(101)]
    refused_for("task_id", ada.get("/tasks/several", task_id=ids), ada.get("/tasks/several"))
    assert ada.get("/tasks/several", task_id=ids[:100]).json() == {"tasks": []}
    refused_for("time_zone", ada.get("/tasks/overdue", time_zone="E" * 65))
    refused_for("cursor", ada.get("/tasks", cursor="c" * 4001))


def test_a_bulk_change_accepts_a_hundred_tasks(ada: Caller) -> None:
    body = {"task_ids": [str(number) for number in range(100)], "status": "completed"}
    response = ada.post("/tasks/bulk/status", body)
    assert [result["outcome"] for result in response.json()["results"]] == ["missing"] * 100


@pytest.mark.embedded("refused before any table is met")
def test_unknown_fields_are_rejected_everywhere(ada: Caller) -> None:
    task = ada.task()
    bulk = {"task_ids": [task["task_id"]], "status": "completed"}
    refused_for(
        "more",
        ada.post("/tasks", {"title": "x", "more": 1}),
        ada.put(f"/tasks/{task['task_id']}", {"title": "x", "more": 1}),
        ada.post("/tasks/bulk/status", {**bulk, "more": 1}),
        ada.post("/users", {"more": 1}),
        ada.put("/users", {"name": "x", "more": 1}),
    )
    assert ada.get(f"/tasks/{task['task_id']}").json() == task


@pytest.mark.embedded("no table is met")
def test_every_write_requires_an_idempotency_key(stage: Stage) -> None:
    paths = httpx.get(f"{stage.url}/openapi.json").json()["paths"]
    writes = {
        f"{method} {path}": {
            parameter["name"] for parameter in result[method].get("parameters", ()) if parameter["required"]
        }
        for path, result in paths.items()
        for method in result.keys() - {"get"}
    }
    assert len(writes) == 9
    assert [write for write, required in writes.items() if "Idempotency-Key" not in required] == []


def test_responses_are_not_cached(ada: Caller) -> None:
    task = ada.task()
    for path in ("/tasks", f"/tasks/{task['task_id']}", "/tasks/counts", "/users", "/tasks/several?task_id=x"):
        assert ada.client.get(path).headers["Cache-Control"] == "no-store"


def test_an_unreadable_item_is_named(ada: Caller, stage: Stage, engine: Engine | ServedEngine) -> None:
    sound = ada.task()
    keys: dict[str, Any] = {"PK": {"S": "TASK#ada"}, "SK": {"S": "TASK#broken"}}
    entry = {"GSI1PK": {"S": "USER#ada"}, "GSI1SK": {"S": "STATUS#pending#broken"}}
    engine.call("PutItem", {"TableName": "todo-app-data", "Item": {**keys, **entry, "title": {"S": "private"}}})
    reads = ("/tasks/broken", "/tasks/several?task_id=broken")
    bulk = {"task_ids": ["broken"], "status": "completed"}
    writes = (ada.delete("/tasks/broken"), ada.post("/tasks/bulk/status", bulk))
    for response in (*(ada.client.get(path) for path in reads), *writes):
        error = response.json()["error"]
        assert (response.status_code, error["code"]) == (500, "unreadable_item")
        assert error["details"] == {"entity": "Task", "key": {"PK": "TASK#ada", "SK": "TASK#broken"}}
        assert "private" not in response.text
    assert ada.get(f"/tasks/{sound['task_id']}").json() == sound
    assert stage.person("bob").get("/tasks").status_code == 200


def test_a_list_omits_an_unreadable_item_and_reports_it(
    ada: Caller, stage: Stage, engine: Engine | ServedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    sound = ada.task()
    keys: dict[str, Any] = {"PK": {"S": "TASK#ada"}, "SK": {"S": "TASK#broken"}}
    entry = {"GSI1PK": {"S": "USER#ada"}, "GSI1SK": {"S": "STATUS#pending#broken"}}
    engine.call("PutItem", {"TableName": "todo-app-data", "Item": {**keys, **entry, "title": {"S": "private"}}})
    for path in ("/tasks", "/tasks?status=pending", "/users/ada/tasks"):
        caplog.clear()
        response = ada.client.get(path)
        assert (response.status_code, response.json()["unreadable"]) == (200, 1)
        assert response.headers["X-Unreadable-Items"] == "1"
        assert [task["task_id"] for task in response.json()["tasks"]] == [sound["task_id"]]
        assert "TASK#broken" in caplog.text
    counts = stage.person("root", "administrators").client.get("/admin/tasks/counts").json()
    assert (counts["unreadable"], counts["status"]["pending"]) == (1, 1)
    bob = stage.person("bob").client.get("/tasks")
    assert "unreadable" not in bob.json()
    assert "X-Unreadable-Items" not in bob.headers


@pytest.mark.parametrize("text", ["a\x00b", "\x07", "line\nline", "\x7f"])
@pytest.mark.parametrize("field", ["title", "category"])
def test_control_characters_are_rejected_in_titles_and_categories(ada: Caller, field: str, text: str) -> None:
    task = ada.task()
    for response in (
        ada.post("/tasks", {"title": "t", field: text}),
        ada.put(f"/tasks/{task['task_id']}", {field: text}),
    ):
        assert (response.status_code, response.json()["error"]["details"][0]["field"]) == (422, field)


def test_a_description_may_have_line_ends_but_no_other_control_characters(ada: Caller) -> None:
    assert ada.post("/tasks", {"title": "t", "description": "one\n\ttwo\r\n"}).status_code == 201
    assert ada.post("/tasks", {"title": "t", "description": "one\x00"}).status_code == 422


@pytest.mark.parametrize("zone", ["localtime", "posixrules", "Factory", "posix/UTC", "../UTC", "Mars/Olympus", ""])
def test_overdue_accepts_only_zones_of_the_iana_database(ada: Caller, zone: str) -> None:
    assert ada.client.get("/tasks/overdue", params={"time_zone": "Europe/Rome"}).status_code == 200
    assert ada.client.get("/tasks/overdue", params={"time_zone": zone}).status_code == 422
