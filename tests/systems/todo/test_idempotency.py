"""Repeated requests: executed once, answered alike, under races, kills, expiry and other users' keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from tests.systems.served_engine import ServedEngine
from tests.systems.todo.stage import Caller, Stage, new_key

from keyplan.client.errors import UnavailableError
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.todo.design import create_user
from keyplan_systems.todo.entities import User
from keyplan_systems.todo.idempotency import Answer, IdempotencyKeys, Request

DAY = 86_400


MADE_AT = datetime(2025, 11, 1, tzinfo=UTC)


def tasks(caller: Caller) -> list[dict[str, Any]]:
    actual_tasks: list[dict[str, Any]] = caller.get("/tasks", limit=100).json()["tasks"]
    return actual_tasks


def records(engine: Engine | ServedEngine) -> list[dict[str, Any]]:
    items = engine.call("Scan", {"TableName": "todo-app-data"})["Items"]
    return [item for item in items if item["PK"]["S"].startswith("IDEMPOTENCY#")]


def test_a_repeated_request_gets_the_same_bytes_and_is_done_once(ada: Caller, clock: ManualClock) -> None:
    key = new_key()
    first = ada.post("/tasks", {"title": "Grüße", "due_date": "2025-12-01"}, key)
    clock.advance(100)
    again = ada.post("/tasks", {"due_date": "2025-12-01", "title": "Grüße"}, key)
    assert (again.status_code, again.content) == (201, first.content)
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(tasks(ada)) == 1


def test_changes_and_deletions_are_replayed_after_later_changes(ada: Caller) -> None:
    path = f"/tasks/{ada.task()['task_id']}"
    change, delete = new_key(), new_key()
    first = ada.put(path, {"title": "one"}, change)
    ada.put(path, {"title": "two"})
    assert ada.put(path, {"title": "one"}, change).content == first.content
    assert ada.get(path).json()["title"] == "two"
    assert ada.delete(path, delete).status_code == 204
    assert ada.delete(path, delete).status_code == 204
    assert ada.put(path, {"title": "one"}, change).content == first.content
    assert ada.delete(path).status_code == 404


def test_a_key_belongs_to_its_user(stage: Stage, ada: Caller) -> None:
    bob, key = stage.person("bob"), new_key()
    mine, his = ada.post("/tasks", {"title": "same"}, key), bob.post("/tasks", {"title": "same"}, key)
    assert his.status_code == 201
    assert mine.json()["task_id"] != his.json()["task_id"]


def test_keys_with_separators_cannot_access_another_users_record(stage: Stage) -> None:
    first, second = stage.person("a:b", email="first@example.org"), stage.person("a")
    left, right = first.post("/tasks", {"title": "x"}, "c"), second.post("/tasks", {"title": "x"}, "b:c")
    assert (left.status_code, right.status_code) == (201, 201)
    assert left.json()["task_id"] != right.json()["task_id"]


@pytest.mark.parametrize("key", ["a:b", ":", "::a:", "#%3A:/", "%", "x" * 128, "METADATA"])
def test_any_key_is_found_again(stage: Stage, key: str) -> None:
    caller = stage.person("auth0|a:b", email="a@x.org")
    first = caller.post("/tasks", {"title": "x"}, key)
    again = caller.post("/tasks", {"title": "x"}, key)
    assert (again.status_code, again.content) == (201, first.content)
    bulk = {"task_ids": [first.json()["task_id"]], "status": "completed"}
    changed = caller.post("/tasks/bulk/status", bulk, key[:-1] + "!")
    assert changed.status_code == 200
    assert caller.post("/tasks/bulk/status", bulk, key[:-1] + "!").content == changed.content


def test_the_same_key_for_another_method_path_body_or_version_is_rejected(ada: Caller) -> None:
    key, path = new_key(), f"/tasks/{ada.task()['task_id']}"
    ada.put(path, {"title": "x"}, key)
    for response in (
        ada.put(path, {"title": "y"}, key),
        ada.put(path, {"title": "x", "category": None}, key),
        ada.put(path, {"title": "x"}, key, **{"If-Match": "2"}),
        ada.put("/tasks/other", {"title": "x"}, key),
        ada.post("/tasks", {"title": "x"}, key),
        ada.delete(path, key),
    ):
        assert response.status_code == 422
        assert response.json()["error"]["code"] == "idempotency_key_reused"
    assert len(tasks(ada)) == 1
    user, key = {"name": "Ada L."}, new_key()
    assert ada.put("/users", user, key).status_code == 200
    assert ada.post("/users", user, key).json()["error"]["code"] == "idempotency_key_reused", (
        "all but the method is same"
    )


def test_the_same_key_for_another_user_body_or_version_is_rejected_too(stage: Stage, ada: Caller) -> None:
    path = f"/tasks/{ada.task()['task_id']}"
    key, changed, expired = new_key(), new_key(), new_key()
    newcomer = stage.person("eve")
    assert newcomer.post("/users", {"name": "Eve"}, key).status_code == 201
    assert ada.put("/users", {"name": "Ada L."}, changed).status_code == 200
    assert ada.delete(path, expired).status_code == 204
    for response in (
        newcomer.post("/users", {"name": "Eva"}, key),
        ada.put("/users", {"name": "Ada L."}, changed, **{"If-Match": "1"}),
        ada.put("/users", {"name": "Ada"}, changed),
        ada.delete(path, expired, **{"If-Match": "1"}),
    ):
        assert (response.status_code, response.json()["error"]["code"]) == (422, "idempotency_key_reused")
    assert ada.get("/users").json()["name"] == "Ada L."


def test_rejections_are_not_stored_so_that_a_corrected_request_may_use_the_key(ada: Caller) -> None:
    key = new_key()
    assert ada.post("/tasks", {"title": ""}, key).status_code == 422
    assert ada.put("/tasks/none", {"title": "x"}, key).status_code == 404
    assert ada.post("/tasks", {"title": "x"}, key).status_code == 201


def test_the_window_ends_after_24_hours_even_if_the_record_still_exists(
    ada: Caller, clock: ManualClock, engine: Engine | ServedEngine
) -> None:
    key = new_key()
    first = ada.post("/tasks", {"title": "x"}, key)
    clock.advance(DAY - 1)
    assert ada.post("/tasks", {"title": "x"}, key).content == first.content
    assert ada.post("/tasks", {"title": "y"}, key).status_code == 422
    clock.advance(1)
    assert len(records(engine)) == 1
    second = ada.post("/tasks", {"title": "y"}, key)
    assert second.status_code == 201
    assert second.json()["task_id"] != first.json()["task_id"]
    assert ada.post("/tasks", {"title": "y"}, key).content == second.content


def test_the_record_has_the_documented_attributes(ada: Caller, engine: Engine | ServedEngine) -> None:
    response = ada.post("/tasks", {"title": "x"}, "k/1")
    (record,) = records(engine)
    assert record["PK"] == {"S": "IDEMPOTENCY#ada:k/1"}
    assert record["SK"] == {"S": "METADATA"}
    assert record["response_data"] == {"S": response.text}
    assert record["http_status_code"] == {"N": "201"}
    assert record["target_task_pk"] == {"S": "TASK#ada"}
    assert record["target_task_sk"] == {"S": f"TASK#{response.json()['task_id']}"}
    created = int(record["created_at"]["N"])
    assert record["expiration_timestamp"] == {"N": str(created + DAY)}


def at_once(count: int, send: Callable[[int], httpx.Response]) -> list[httpx.Response]:
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(send, range(count)))


@pytest.mark.parametrize("round_number", range(3))
def test_equal_concurrent_requests_have_one_effect_and_one_response(ada: Caller, round_number: int) -> None:
    key = new_key()
    responses = at_once(8, lambda _: ada.post("/tasks", {"title": "once"}, key))
    assert {response.status_code for response in responses} == {201}
    assert len({response.content for response in responses}) == 1
    (task,) = tasks(ada)
    path = f"/tasks/{task['task_id']}"
    changed = at_once(8, lambda _: ada.put(path, {"title": "changed"}, key + "c"))
    assert {(response.status_code, response.json()["version"]) for response in changed} == {(200, 2)}
    deleted = at_once(8, lambda _: ada.delete(path, key + "d"))
    assert {response.status_code for response in deleted} == {204}
    assert tasks(ada) == []


def test_a_request_that_loses_to_an_equal_one_gets_the_same_response(
    stage: Stage, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, key, look, looked = (
        f"/tasks/{ada.task()['task_id']}",
        new_key(),
        IdempotencyKeys.stored_answer,
        list[Request](),
    )

    def overtaken(once: IdempotencyKeys, request: Request) -> Answer | None:
        if looked:
            return look(once, request)
        looked.append(request)
        assert stage.person("ada").delete(path, key).status_code == 204
        return None

    monkeypatch.setattr(IdempotencyKeys, "stored_answer", overtaken)
    response = ada.delete(path, key)
    assert (response.status_code, response.headers["Idempotency-Replayed"]) == (204, "true")


def test_different_concurrent_changes_are_all_kept(ada: Caller) -> None:
    path = f"/tasks/{ada.task()['task_id']}"
    fields = [
        {"title": "t"},
        {"description": "d"},
        {"category": "c"},
        {"due_date": "2025-12-01"},
        {"priority": "urgent"},
    ]
    responses = at_once(5, lambda number: ada.put(path, fields[number]))
    assert {response.status_code for response in responses} == {200}
    task = ada.get(path).json()
    assert {name: task[name] for field in fields for name in field} == {
        k: v for field in fields for k, v in field.items()
    }
    assert task["version"] == 6


def test_one_of_several_concurrent_deletions_deletes(ada: Caller) -> None:
    path = f"/tasks/{ada.task()['task_id']}"
    assert Counter(response.status_code for response in at_once(6, lambda _: ada.delete(path))) == {204: 1, 404: 5}


def test_concurrent_first_requests_create_one_user(stage: Stage, ada: Caller) -> None:
    responses = at_once(6, lambda number: ada.post("/tasks", {"title": str(number)}))
    assert {response.status_code for response in responses} == {201}
    assert ada.get("/users").json()["version"] == 1
    assert len(tasks(ada)) == 6


def test_one_of_two_concurrent_users_with_one_address_is_created(stage: Stage) -> None:
    people = [stage.person(f"p{number}", email="one@example.org") for number in range(6)]
    responses = at_once(6, lambda number: people[number].post("/users", {}))
    assert Counter(response.status_code for response in responses) == {201: 1, 409: 5}


def test_one_of_two_users_who_concurrently_change_to_one_verified_address_gets_it(stage: Stage) -> None:
    for number in range(6):
        stage.person(f"p{number}").get("/users")
    stored = User(user_id="eve", email="one@example.org", name="x", created_at=MADE_AT, updated_at=MADE_AT)
    stage.connection.run(create_user(stored))  # from before addresses were verified
    people = [stage.person(f"p{number}", email="one@example.org") for number in range(6)]
    responses = at_once(6, lambda number: people[number].put("/users", {"email": "One@example.org"}))
    assert Counter(response.status_code for response in responses) == {200: 1, 409: 5}
    owners = [person for person in people if person.get("/users").json()["email"] == "one@example.org"]
    assert len(owners) == 1


def test_a_failure_is_not_stored_and_the_next_attempt_does_the_work(
    stage: Stage, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    transact, key = stage.connection.transact, new_key()

    def lost(*calls: Any, **options: Any) -> None:
        transact(*calls, **options)
        raise UnavailableError("the answer was lost")

    ada.task("first use")
    with monkeypatch.context() as patch:
        patch.setattr(stage.connection, "transact", lost)
        response = ada.post("/tasks", {"title": "kept"}, key)
    assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
    again = ada.post("/tasks", {"title": "kept"}, key)
    assert again.status_code == 201
    assert [task["title"] for task in tasks(ada)].count("kept") == 1
