"""Indexes that lag, tables that throttle, lost answers: their visible effects for callers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.systems.served_engine import connected
from tests.systems.todo.lake.record_history import History
from tests.systems.todo.stage import Caller, Stage, new_key, staged

from keyplan.client.errors import NotFoundError, TransactionFailedError, VersionConflictError, WriteConflictError
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan.errors import InternalServerError, ServiceError, ThrottlingError
from keyplan.errors import TransactionConflictError as BeingWrittenError
from keyplan_systems.todo.design import replace_task, task_by_id
from keyplan_systems.todo.idempotency import MAX_ATTEMPTS
from keyplan_systems.todo.lake.lake import Lake
from keyplan_systems.todo.lake_maintenance import FILES_BEFORE_COMPACTION, LakeMaintenance

with_faults = pytest.mark.embedded("faults on purpose")


@contextmanager
def troubled(folder: Path, faults: Faults) -> Iterator[tuple[Stage, Caller, ManualClock]]:
    clock = ManualClock(1_763_640_000)
    with (
        Engine.memory(clock=clock, ttl_sweep_s=None, faults=faults) as engine,
        connected(engine, clock) as connection,
        staged(connection, clock, folder) as stage,
    ):
        yield stage, stage.person("ada"), clock


def ids(caller: Caller, **query: str) -> list[str]:
    return [task["task_id"] for task in caller.get("/tasks", **query).json()["tasks"]]


@with_faults
def test_lists_of_all_tasks_show_every_write_immediately_and_index_lists_later(tmp_path: Path) -> None:
    with troubled(tmp_path, Faults(gsi_lag=5.0)) as (_, ada, clock):
        task_id = ada.task()["task_id"]
        assert (ids(ada), ids(ada, status="pending")) == ([task_id], [])
        clock.advance(6)
        ada.put(f"/tasks/{task_id}", {"status": "completed"})
        assert ada.get(f"/tasks/{task_id}").json()["status"] == "completed"
        assert (ids(ada, status="pending"), ids(ada, status="completed")) == ([task_id], [])
        clock.advance(6)
        assert ids(ada, status="completed") == [task_id]


@with_faults
def test_recent_writes_are_visible_even_if_other_reads_are_stale(tmp_path: Path) -> None:
    with troubled(tmp_path, Faults(stale_reads=1.0, stale_s=60.0)) as (stage, ada, clock):
        ada.get("/users")
        clock.advance(3600)
        assert ada.put("/users", {"name": "Ada L."}).status_code == 200
        assert ada.get("/users").json()["name"] == "Ada L."
        task_id = ada.task()["task_id"]
        assert ids(ada) == [task_id]
        assert ada.get(f"/tasks/{task_id}").status_code == 200
        assert len(ada.get("/tasks/several", task_id=task_id).json()["tasks"]) == 1
        assert ada.put(f"/tasks/{task_id}", {"title": "new"}, "k").status_code == 200
        assert ada.put(f"/tasks/{task_id}", {"title": "new"}, "k").headers["Idempotency-Replayed"] == "true"
        assert ada.delete("/users").status_code == 202
        assert ada.get("/users").status_code == 409
        assert stage.service.deletions.run_once() == 1
        assert ids(ada) == []


@with_faults
def test_a_task_with_a_stale_index_entry_is_in_no_wrong_list(tmp_path: Path) -> None:
    with troubled(tmp_path, Faults(gsi_lag=5.0)) as (_, ada, clock):
        task_id = ada.task(category="home")["task_id"]
        clock.advance(6)
        ada.put(f"/tasks/{task_id}", {"category": "work"})
        tasks = ada.get("/tasks", category="home").json()["tasks"]
        assert all(task["category"] == "home" for task in tasks)


@with_faults
def test_a_bulk_deletion_by_a_lagging_index_deletes_no_reopened_task(tmp_path: Path) -> None:
    with troubled(tmp_path, Faults(gsi_lag=5.0)) as (_, ada, clock):
        task_id = ada.task(status="completed")["task_id"]
        clock.advance(6)
        ada.put(f"/tasks/{task_id}", {"status": "pending"})
        response = ada.post("/tasks/bulk/delete-completed").json()
        assert {result["outcome"] for result in response["results"]} <= {"kept"}
        assert ids(ada) == [task_id]


@pytest.mark.parametrize("trouble", [ThrottlingError, BeingWrittenError, InternalServerError])
def test_a_busy_table_returns_503_and_the_repeated_request_is_done_once(
    trouble: type[ServiceError], stage: Stage, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, calls = new_key(), stage.connection._call
    ada.get("/users")

    def busy(operation: str, request: dict[str, Any]) -> Any:
        if operation == "TransactWriteItems":
            raise trouble("too much")
        return calls(operation, request)

    with monkeypatch.context() as patch:
        patch.setattr(stage.connection, "_call", busy)
        response = ada.post("/tasks", {"title": "x"}, key)
    assert (response.status_code, response.json()["error"]["code"]) == (503, "unavailable")
    assert response.headers["Retry-After"] == "1"
    assert ada.post("/tasks", {"title": "x"}, key).status_code == 201
    assert len(ids(ada)) == 1


def test_a_change_with_two_kinds_of_conflicts_is_retried(
    stage: Stage, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, transact = f"/tasks/{ada.task()['task_id']}", stage.connection.transact
    reasons = [
        [VersionConflictError("moved on", expected=1, found=2), WriteConflictError("being written")],
        [WriteConflictError("being written"), NotFoundError("not there")],
    ]

    def fail(*calls: Any, **options: Any) -> None:
        if reasons:
            raise TransactionFailedError("nothing was applied", reasons=reasons.pop())
        transact(*calls, **options)

    with monkeypatch.context() as patch:
        patch.setattr(stage.connection, "transact", fail)
        response = ada.put(path, {"title": "new"})
    assert (response.status_code, reasons) == (200, [])


def test_a_task_that_is_constantly_changed_is_a_conflict(
    stage: Stage, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, transact = ada.task(), stage.connection.transact
    path, others = f"/tasks/{task['task_id']}", itertools.count(1)

    def overtaken(*calls: Any, **options: Any) -> None:
        current = stage.connection.run(task_by_id("ada", task["task_id"]))
        assert current is not None
        stage.connection.run(replace_task(current.model_copy(update={"title": f"others' {next(others)}"})))
        transact(*calls, **options)

    with monkeypatch.context() as patch:
        patch.setattr(stage.connection, "transact", overtaken)
        response = ada.put(path, {"title": "mine"})
    assert (response.status_code, response.json()["error"]["code"]) == (409, "conflict")
    assert ada.get(path).json()["title"] == f"others' {MAX_ATTEMPTS}"
    assert ada.put(path, {"title": "mine"}).json()["version"] == MAX_ATTEMPTS + 2


@with_faults
def test_responses_lost_after_the_work_change_nothing(tmp_path: Path) -> None:
    with troubled(tmp_path, Faults(seed=3, internal_errors=0.3, conflicts=0.1)) as (_, ada, _clock):
        task_ids = [ada.task(str(number))["task_id"] for number in range(20)]
        versions = [ada.put(f"/tasks/{task_id}", {"title": "new"}).json()["version"] for task_id in task_ids]
        assert versions == [2] * 20
        assert {ada.delete(f"/tasks/{task_id}").status_code for task_id in task_ids[:10]} == {204}
        assert sorted(ids(ada)) == sorted(task_ids[10:])


def test_maintenance_refreshes_merges_and_then_is_idle(tmp_path: Path) -> None:
    lake, history = Lake.open(tmp_path / "lake"), History()
    keeping = LakeMaintenance(lake)
    assert keeping.run_once() == 0
    for number in range(FILES_BEFORE_COMPACTION):
        lake.bronze.write([history.put_task("ann", str(number))])
    assert keeping.run_once() == 0
    assert len(lake.snapshot.files_of("bronze")) < FILES_BEFORE_COMPACTION
    assert not lake.snapshot.pending()
    version = lake.snapshot.version
    keeping.run_once()
    assert lake.snapshot.version == version
