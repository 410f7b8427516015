"""Bulk requests: task by task, conditional, with a result each, and unchanged when repeated or interrupted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from tests.systems.todo.stage import Caller, Stage, new_key

from keyplan.clock import ManualClock
from keyplan_systems.todo import service_tasks


def outcomes(response: httpx.Response) -> dict[str, str]:
    assert response.status_code == 200, response.text
    return {result["task_id"]: result["outcome"] for result in response.json()["results"]}


def status_of(caller: Caller, task: dict[str, Any]) -> str:
    return str(caller.get(f"/tasks/{task['task_id']}").json()["status"])


def kill_after(stage: Stage, monkeypatch: pytest.MonkeyPatch, transactions: int) -> None:
    transact, left = stage.connection.transact, [transactions]

    def counted(*calls: Any, **options: Any) -> None:
        if not left[0]:
            raise RuntimeError("killed")
        left[0] -= 1
        transact(*calls, **options)

    monkeypatch.setattr(stage.connection, "transact", counted)


def test_each_task_has_a_result(ada: Caller, stage: Stage) -> None:
    tasks = [ada.task(status=status) for status in ("pending", "completed", "cancelled")]
    other = stage.person("bob").task()
    ids = [task["task_id"] for task in [*tasks, other, tasks[0]]]
    response = ada.post("/tasks/bulk/status", {"task_ids": ids, "status": "completed"})
    assert list(outcomes(response).items()) == [
        (ids[0], "updated"),
        (ids[1], "unchanged"),
        (ids[2], "updated"),
        (ids[3], "missing"),
    ]
    assert len(response.json()["results"]) == 4, "a task that is named twice has one result"
    assert {status_of(ada, task) for task in tasks} == {"completed"}
    assert len(ada.get("/tasks", status="completed").json()["tasks"]) == 3
    assert ada.get(f"/tasks/{ids[0]}").json()["completed_at"] is not None


def test_empty_and_oversized_lists_are_rejected(ada: Caller) -> None:
    for ids in ([], ["x"] * 101, ["a#b"]):
        assert ada.post("/tasks/bulk/status", {"task_ids": ids, "status": "completed"}).status_code == 422


def test_a_repeated_bulk_change_does_not_undo_later_changes(ada: Caller) -> None:
    task, key = ada.task(), new_key()
    body = {"task_ids": [task["task_id"]], "status": "completed"}
    first = ada.post("/tasks/bulk/status", body, key)
    ada.put(f"/tasks/{task['task_id']}", {"status": "in_progress"})
    assert ada.post("/tasks/bulk/status", body, key).content == first.content
    assert status_of(ada, task) == "in_progress"
    assert ada.post("/tasks/bulk/status", {**body, "status": "cancelled"}, key).status_code == 422


def test_the_key_of_a_bulk_change_is_rejected_for_other_tasks(ada: Caller) -> None:
    first, other, key = ada.task(), ada.task(), new_key()
    assert ada.post("/tasks/bulk/status", {"task_ids": [first["task_id"]], "status": "completed"}, key).is_success
    for response in (
        ada.post("/tasks/bulk/status", {"task_ids": [other["task_id"]], "status": "completed"}, key),
        ada.post("/tasks/bulk/delete-completed", key=key),
        ada.delete(f"/tasks/{other['task_id']}", key),
    ):
        assert (response.status_code, response.json()["error"]["code"]) == (422, "idempotency_key_reused")
    assert ada.get(f"/tasks/{other['task_id']}").json() == other
    assert status_of(ada, first) == "completed"


def test_an_interrupted_bulk_change_continues(stage: Stage, ada: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks, key = [ada.task() for _ in range(4)], new_key()
    body = {"task_ids": [task["task_id"] for task in tasks], "status": "completed"}
    with monkeypatch.context() as patch:
        kill_after(stage, patch, 2)
        assert ada.post("/tasks/bulk/status", body, key).status_code == 500
    assert [status_of(ada, task) for task in tasks] == ["completed", "completed", "pending", "pending"]
    for other in (ada.post("/tasks", {"title": "x"}, key), ada.post("/tasks/bulk/delete-completed", key=key)):
        assert other.json()["error"]["code"] == "idempotency_key_reused"
    ada.put(f"/tasks/{tasks[0]['task_id']}", {"status": "in_progress"})
    ada.put(f"/tasks/{tasks[3]['task_id']}", {"status": "completed"})
    response = ada.post("/tasks/bulk/status", body, key)
    assert list(outcomes(response).values()) == ["updated", "updated", "updated", "unchanged"]
    assert [status_of(ada, task) for task in tasks] == ["in_progress", "completed", "completed", "completed"]


def test_completed_tasks_are_deleted_and_others_kept(ada: Caller, stage: Stage) -> None:
    done, left = [ada.task(status="completed") for _ in range(3)], ada.task()
    stage.person("bob").task(status="completed")
    response = ada.post("/tasks/bulk/delete-completed")
    assert outcomes(response) == dict.fromkeys((task["task_id"] for task in done), "deleted")
    assert response.json()["more"] is False
    assert ada.get("/tasks").json()["tasks"] == [left]
    assert ada.post("/tasks/bulk/delete-completed").json() == {"results": [], "more": False}
    assert len(stage.person("bob").get("/tasks").json()["tasks"]) == 1


def test_more_completed_tasks_than_one_request_deletes_are_reported(
    ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_tasks, "MAX_BULK_TASKS", 2)
    for _ in range(3):
        ada.task(status="completed")
    bodies = [ada.post("/tasks/bulk/delete-completed").json() for _ in range(2)]
    assert [(len(body["results"]), body["more"]) for body in bodies] == [(2, True), (1, False)]


def test_a_task_reopened_after_its_selection_is_kept(
    stage: Stage, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks, key = (
        sorted((ada.task(status="completed") for _ in range(3)), key=lambda task: str(task["task_id"])),
        new_key(),
    )
    with monkeypatch.context() as patch:
        kill_after(stage, patch, 2)  # the selection, and the first deletion
        assert ada.post("/tasks/bulk/delete-completed", key=key).status_code == 500
    ada.put(f"/tasks/{tasks[1]['task_id']}", {"status": "pending"})
    late = ada.task(status="completed")
    response = ada.post("/tasks/bulk/delete-completed", key=key)
    assert list(outcomes(response).values()) == ["deleted", "kept", "deleted"]
    assert {task["task_id"] for task in ada.get("/tasks").json()["tasks"]} == {tasks[1]["task_id"], late["task_id"]}
    assert ada.post("/tasks/bulk/delete-completed", key=key).content == response.content


def test_equal_concurrent_bulk_requests_get_one_response(ada: Caller, clock: ManualClock) -> None:
    tasks, key = [ada.task() for _ in range(8)], new_key()
    body = {"task_ids": [task["task_id"] for task in tasks], "status": "completed"}
    with ThreadPoolExecutor(6) as pool:
        responses = list(pool.map(lambda _: ada.post("/tasks/bulk/status", body, key), range(6)))
        assert len({response.content for response in responses}) == 1
        assert {ada.get(f"/tasks/{task['task_id']}").json()["version"] for task in tasks} == {2}
        deletions = list(pool.map(lambda _: ada.post("/tasks/bulk/delete-completed", key=key + "d"), range(6)))
    assert len({response.content for response in deletions}) == 1
    assert set(outcomes(deletions[0]).values()) == {"deleted"}
    assert len(outcomes(deletions[0])) == 8
