"""Assembled system: with workers, settings and logs, here and on another process's DynamoDB."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from pathlib import Path

import httpx
import orjson
import pytest
from tests.systems.served_engine import ServedEngine, connected
from tests.systems.todo.lake.queries import rows

from keyplan.clock import SystemClock
from keyplan.engine.engine import Engine
from keyplan_systems.todo import app as todo
from keyplan_systems.todo import feed as feeds
from keyplan_systems.todo.design import tasks_of_user
from keyplan_systems.todo.entities import app as table
from keyplan_systems.todo.lake.lake import Lake
from keyplan_systems.web.development import development_key, issue_development_token
from keyplan_systems.web.logs import JsonFormatter
from keyplan_systems.web.middleware import access_log
from keyplan_systems.web.server import Running
from keyplan_systems.web.system import BuiltSystem, Resources
from keyplan_systems.web.tokens import TokenRules, TokenVerifier, development_keys


@pytest.fixture
def clock() -> SystemClock:
    """Return the system clock."""
    return SystemClock()


@pytest.fixture
def resources(engine: Engine | ServedEngine, clock: SystemClock, tmp_path: Path) -> Iterator[Resources]:
    verifier = TokenVerifier(TokenRules("todo"), development_keys(development_key(tmp_path / "k")))
    with connected(engine, clock) as connection:
        connection.create_tables(table)
        yield Resources(connection, tmp_path, clock, verifier)


def client(built: BuiltSystem, server: Running, folder: Path) -> httpx.Client:
    token = issue_development_token(development_key(folder / "k"), "ada", audience="todo", claims={"email": "a@x.org"})
    return httpx.Client(base_url=f"{server.url}/api/v1", headers={"Authorization": f"Bearer {token}"})


def test_sample_requests_workers_and_lake_work_together(resources: Resources) -> None:
    built = todo.SYSTEM.build(resources)
    built.load_sample()
    built.load_sample()
    workers = {worker.name: worker for worker in built.workers}
    assert set(workers) == {"todo deletions", "todo lake feed", "todo lake refresh"}
    with Running(built.app) as server, client(built, server, resources.folder) as ada:
        assert httpx.get(f"{server.url}/health").status_code == 200
        assert len(ada.get("/tasks").json()["tasks"]) == 5
        assert ada.delete("/users", headers={"Idempotency-Key": "bye"}).status_code == 202
    assert workers["todo deletions"].run_once() == 1
    assert workers["todo lake feed"].run_once() > 10
    assert workers["todo lake feed"].run_once() == 0
    assert workers["todo lake refresh"].run_once() == 0
    lake = Lake.open(resources.folder / "lake")
    assert rows(lake, "SELECT users, tasks, deleted_users FROM gold.kpis") == [
        {"users": 1, "tasks": 5, "deleted_users": 1}
    ]
    assert workers["todo lake refresh"].run_once() == 0
    built.close()
    next_start = todo.SYSTEM.build(resources)  # need not wait for the lease of the previous process
    next_start.load_sample()
    with Running(next_start.app) as server, client(next_start, server, resources.folder) as ada:
        assert ada.post("/tasks", json={"title": "t"}, headers={"Idempotency-Key": "anew"}).status_code == 201
    feed = next(worker for worker in next_start.workers if worker.name == "todo lake feed")
    assert feed.run_once() > 0
    next_start.close()


def test_records_rejected_by_the_lake_are_stored_in_a_table_and_not_in_a_folder(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = feeds.delivered_record
    monkeypatch.setattr(feeds, "delivered_record", lambda record: {**result(record), "eventName": "NONSENSE"})
    built = todo.SYSTEM.build(resources)
    feed = next(worker for worker in built.workers if worker.name == "todo lake feed")
    feed.run_once()
    built.load_sample()
    assert feed.run_once() > 0
    built.close()
    failures = resources.connection.transport.call("Scan", {"TableName": "keyplan-failures"})["Items"]
    assert failures
    assert all(item["error"]["S"].startswith("BadRecordError") for item in failures)
    assert not (resources.folder / "lake-failures").exists()


@pytest.mark.parametrize("leaves", [True, False], ids=["leaves", "has another's address"])
def test_an_invalid_sample_is_omitted(leaves: bool, resources: Resources) -> None:
    built = todo.SYSTEM.build(resources)
    with Running(built.app) as server:
        subject = "ada" if leaves else "another"
        result = {"email": "ada@example.org"}
        token = issue_development_token(
            development_key(resources.folder / "k"), subject, audience="todo", claims=result
        )
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "bye"}
        assert httpx.get(f"{server.url}/api/v1/users", headers=headers).status_code == 200
        if leaves:
            assert httpx.delete(f"{server.url}/api/v1/users", headers=headers).status_code == 202
    built.load_sample()
    assert resources.connection.all(tasks_of_user("ada")) == []
    assert len(resources.connection.all(tasks_of_user("grace"))) == 5
    built.close()


def test_a_request_is_one_line_of_json_with_its_id_and_user(resources: Resources) -> None:
    built, stream = todo.SYSTEM.build(resources), io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    access_log.addHandler(handler)
    level = access_log.level
    access_log.setLevel(logging.INFO)
    try:
        with Running(built.app) as server, client(built, server, resources.folder) as ada:
            headers = {"Idempotency-Key": "k", "X-Request-Id": "request-0001"}
            ada.post("/tasks", json={"title": "private"}, headers=headers)
            ada.post("/tasks", json={"title": "private"}, headers=headers)
    finally:
        access_log.setLevel(level)
        access_log.removeHandler(handler)
    first, second = (orjson.loads(line) for line in stream.getvalue().splitlines())
    assert (first["request_id"], first["user_id"], first["status"]) == ("request-0001", "ada", 201)
    assert (first["route"], first["replayed"], second["replayed"]) == ("/api/v1/tasks", False, True)
    assert "private" not in stream.getvalue()


def test_health_checks_the_table(resources: Resources) -> None:
    built = todo.SYSTEM.build(resources)
    with Running(built.app) as server:
        assert httpx.get(f"{server.url}/health").json()["checks"] == {"table": "ok"}
        named = {"TableName": resources.connection.table_name(table)}
        resources.connection.transport.call("UpdateTable", {**named, "DeletionProtectionEnabled": False})
        resources.connection.transport.call("DeleteTable", named)
        response = httpx.get(f"{server.url}/health")
    assert (response.status_code, response.json()["checks"]) == (503, {"table": "failing"})
    built.close()


@pytest.mark.parametrize("days", ["soon", "-1", "0", "36501", "99999999999"])
def test_an_invalid_retention_is_rejected(monkeypatch: pytest.MonkeyPatch, days: str) -> None:
    monkeypatch.setenv(todo.RETENTION, days)
    with pytest.raises(ValueError, match="day"):
        todo._policy()


@pytest.mark.parametrize(("days", "expected"), [("30", 30), ("36500", 36_500), ("", None)])
def test_a_retention_in_days_is_read_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, days: str, expected: int | None
) -> None:
    monkeypatch.setenv(todo.RETENTION, days)
    assert todo._policy().completed_retention_days == expected
