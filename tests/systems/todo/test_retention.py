"""Completed tasks with limited retention, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.systems.served_engine import ServedEngine, connected
from tests.systems.todo.stage import Caller, staged

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.todo.domain import Policy

DAY_S = 86_400


@pytest.fixture
def ada(engine: Engine | ServedEngine, clock: ManualClock, tmp_path: Path) -> Iterator[Caller]:
    policy = Policy(completed_retention_days=30)
    with connected(engine, clock) as connection, staged(connection, clock, tmp_path, policy) as stage:
        yield stage.person("ada")


def stored(engine: Engine | ServedEngine) -> list[str]:
    items = engine.call("Scan", {"TableName": "todo-app-data"})["Items"]
    return sorted(item["title"]["S"] for item in items if item["PK"]["S"] == "TASK#ada")


def test_completed_tasks_are_hidden_after_their_retention(
    ada: Caller, clock: ManualClock, engine: Engine | ServedEngine
) -> None:
    done, reopened = ada.task("done", status="completed"), ada.task("reopened", status="completed")
    ada.task("open")
    in_bulk = ada.task("in bulk")
    body = {"task_ids": [in_bulk["task_id"]], "status": "completed"}
    assert ada.post("/tasks/bulk/status", body).status_code == 200
    clock.advance(29 * DAY_S)
    ada.put(f"/tasks/{reopened['task_id']}", {"status": "in_progress"})
    clock.advance(DAY_S)
    path = f"/tasks/{done['task_id']}"
    assert ada.get(path).status_code == 404
    assert ada.put(path, {"title": "late"}).status_code == 404
    assert ada.delete(path).status_code == 404
    assert ada.get("/tasks", status="completed").json()["tasks"] == []
    assert ada.get("/tasks/counts").json()["status"]["completed"] == 0
    assert {task["title"] for task in ada.get("/tasks").json()["tasks"]} == {"reopened", "open"}
    assert stored(engine) == ["done", "in bulk", "open", "reopened"]


@pytest.mark.embedded("expiry when the test says so")
def test_completed_tasks_are_deleted_after_their_retention(ada: Caller, clock: ManualClock, engine: Engine) -> None:
    for title, status in (("done", "completed"), ("open", "pending")):
        ada.task(title, status=status)
    reopened = ada.task("reopened", status="completed")
    ada.put(f"/tasks/{reopened['task_id']}", {"status": "in_progress"})
    clock.advance(30 * DAY_S)
    engine.sweep()
    assert stored(engine) == ["done", "open", "reopened"]
    clock.advance(1)
    engine.sweep()
    assert stored(engine) == ["open", "reopened"]
