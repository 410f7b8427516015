"""Job that deletes users: killed at any point, run twice, raced by writers, and by a user who is created again."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.systems.served_engine import ServedEngine, connected
from tests.systems.todo.stage import Caller, Stage

import keyplan
from keyplan.client.errors import NotFoundError, TransactionFailedError, WriteConflictError
from keyplan.clock import ManualClock, SystemClock
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan_systems.todo import design
from keyplan_systems.todo.entities import app as table
from keyplan_systems.todo.idempotency import Request
from keyplan_systems.todo.service import Service
from keyplan_systems.todo.service_deletions import TASKS_PER_TRANSACTION, Deletions
from keyplan_systems.todo.service_users import Person

WORKER = """
import os, sys
import keyplan
from keyplan_systems.todo.service_deletions import Deletions
with keyplan.connect(sys.argv[1]) as connection:
    run, left = connection.run, [int(sys.argv[2])]
    def counted(call, **options):
        if call.pattern.name in {"remove_tasks", "finish_deletion"}:
            if not left[0]:
                os.kill(os.getpid(), 9)
            left[0] -= 1
        return run(call, **options)
    connection.run = counted
    Deletions(connection).run_once()
"""


def left_of(engine: Engine | ServedEngine, user_id: str) -> list[str]:
    """Return the keys of a user's remaining items, except answers, which expire."""
    items = engine.call("Scan", {"TableName": "todo-app-data"})["Items"]
    keys = [f"{item['PK']['S']} {item['SK']['S']}" for item in items]
    return [key for key in keys if user_id in key and not key.startswith("IDEMPOTENCY#")]


def with_tasks(service: Service, count: int) -> None:
    for number in range(count):
        service.tasks.create(Request("ada", f"make-{number}", "f"), Person("ada", "ada@x.org", "Ada"), {"title": "t"})


def test_a_repeatedly_killed_job_is_finished(address: str) -> None:
    with keyplan.connect(address) as connection:
        connection.create_tables(table)
        service = Service.from_connection(connection, SystemClock())
        with_tasks(service, TASKS_PER_TRANSACTION * 2 + 5)
        service.users.delete(Request("ada", "leave", "f"), "ada")
    kills = 0
    while True:
        process = subprocess.run([sys.executable, "-c", WORKER, address, "1"], check=False)
        if process.returncode == 0:
            break
        assert process.returncode == -9
        kills += 1
    assert kills == 3
    with keyplan.connect(address) as connection:
        assert connection.all(design.every_task_of_user("ada")) == []
        assert connection.run(design.user_by_id("ada")) is None
        assert connection.all(design.deletions()) == []
        again = Service.from_connection(connection, SystemClock())
        assert again.users.create(Request("bob", "k", "f"), Person("bob", "ADA@x.org", "B"), {}).status == 201


def test_a_task_created_during_the_deletion_of_its_user_is_removed(
    stage: Stage, ada: Caller, engine: Engine | ServedEngine
) -> None:
    ada.task()
    with ThreadPoolExecutor(5) as pool:
        makers = [pool.submit(ada.post, "/tasks", {"title": str(number)}) for number in range(20)]
        leaving = pool.submit(ada.delete, "/users")
        responses = [maker.result().status_code for maker in makers]
        assert leaving.result().status_code == 202
    assert set(responses) <= {201, 409}
    assert stage.service.deletions.run_once() == 1
    assert left_of(engine, "ada") == []


def test_concurrent_workers_finish_a_job_once(stage: Stage, ada: Caller, engine: Engine | ServedEngine) -> None:
    for number in range(TASKS_PER_TRANSACTION + 10):
        ada.task(str(number))
    ada.delete("/users")
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda _: stage.service.deletions.run_once(), range(4))) == 1
    assert left_of(engine, "ada") == []


def test_a_delayed_worker_does_not_change_the_user_who_registered_again(
    stage: Stage, ada: Caller, clock: ManualClock, engine: Engine | ServedEngine
) -> None:
    for _ in range(3):
        ada.task()
    ada.delete("/users")
    slow = Deletions(stage.connection)
    (job,) = stage.connection.all(design.deletions())
    assert stage.service.deletions.run_once() == 1
    clock.advance(5)
    ada.get("/users")
    assert slow._finish(job) == 0, "no task blocks the deletion"
    ada.task("anew")
    assert slow._finish(job) == 0
    assert [task["title"] for task in ada.get("/tasks").json()["tasks"]] == ["anew"]
    assert ada.get("/users").json()["created_at"] == int(clock.now())


def test_expired_items_are_removed_too(
    engine: Engine | ServedEngine, clock: ManualClock, stage: Stage, ada: Caller
) -> None:
    task = ada.task()
    engine.call(
        "UpdateItem",
        {
            "TableName": "todo-app-data",
            "Key": {"PK": {"S": "TASK#ada"}, "SK": {"S": f"TASK#{task['task_id']}"}},
            "UpdateExpression": "SET expiration_timestamp = :past",
            "ExpressionAttributeValues": {":past": {"N": str(int(clock.now()) - 1)}},
        },
    )
    assert ada.get("/tasks").json()["tasks"] == []
    ada.delete("/users")
    assert stage.service.deletions.run_once() == 1
    assert left_of(engine, "ada") == []


@pytest.mark.embedded("faults on purpose")
def test_a_job_with_conflicting_writes_continues_in_smaller_batches(clock: ManualClock) -> None:
    faults = Faults(seed=1, conflicts=0.2)  # of each write: a transaction of fifty practically always meets one
    with Engine.memory(clock=clock, ttl_sweep_s=None, faults=faults) as engine, connected(engine, clock) as connection:
        connection.create_tables(table)
        service = Service.from_connection(connection, clock)
        with_tasks(service, TASKS_PER_TRANSACTION + 10)
        service.users.delete(Request("ada", "leave", "f"), "ada")
        assert service.deletions.run_once() == 1
        assert left_of(engine, "ada") == []


def test_an_unreadable_task_is_removed_with_the_others(
    stage: Stage, ada: Caller, engine: Engine | ServedEngine
) -> None:
    ada.task("before")
    broken = {"PK": {"S": "TASK#ada"}, "SK": {"S": "TASK#broken"}, "status": {"S": "whatever"}}
    engine.call("PutItem", {"TableName": "todo-app-data", "Item": broken})
    ada.delete("/users")
    assert stage.service.deletions.run_once() == 1
    assert left_of(engine, "ada") == []


def test_a_delayed_deletion_does_not_block_others(
    stage: Stage, ada: Caller, engine: Engine | ServedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob = stage.person("bob")
    for person in (ada, bob):
        person.task()
        person.delete("/users")
    run = stage.connection.run

    def busy(call: Any, **options: Any) -> Any:
        if call.pattern.name == "remove_tasks" and call.arguments["user_id"] == "ada":
            raise WriteConflictError("others keep writing her task")
        return run(call, **options)

    with monkeypatch.context() as patch:
        patch.setattr(stage.connection, "run", busy)
        with pytest.raises(WriteConflictError, match="her task"):
            stage.service.deletions.run_once()
    assert left_of(engine, "bob") == []
    assert stage.service.deletions.run_once() == 1
    assert left_of(engine, "ada") == []


def test_a_worker_skips_a_job_that_another_worker_is_running(
    stage: Stage, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.task()
    ada.delete("/users")
    run = stage.connection.run

    def fail(call: Any, **options: Any) -> Any:
        if call.pattern.name == "remove_tasks":
            reasons = [WriteConflictError("being written"), NotFoundError("not there")]
            raise TransactionFailedError("nothing was applied", reasons=reasons)
        return run(call, **options)

    with monkeypatch.context() as patch:
        patch.setattr(stage.connection, "run", fail)
        assert stage.service.deletions.run_once() == 0
    assert stage.service.deletions.run_once() == 1


def test_table_errors_are_reported_and_the_job_is_kept(
    stage: Stage, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.task()
    ada.delete("/users")

    def fail(call: Any, **options: Any) -> Any:
        raise OSError("no route")

    with monkeypatch.context() as patch:
        patch.setattr(stage.connection, "run", fail)
        with pytest.raises(OSError, match="no route"):
            stage.service.deletions.run_once()
    assert stage.service.deletions.run_once() == 1
