"""Users over HTTP: created on first use, unique by email address, deleted by a job; and administration."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx
import pytest
from tests.systems.served_engine import ServedEngine
from tests.systems.todo.stage import Caller, Stage, new_key

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.todo.design import create_user
from keyplan_systems.todo.entities import User

NOW = 1_763_640_000


def email_guards(engine: Engine | ServedEngine) -> set[str]:
    items = engine.call("Scan", {"TableName": "todo-app-data"})["Items"]
    return {item["PK"]["S"] for item in items if item["PK"]["S"].startswith("EMAIL#")}


def test_a_user_is_created_on_first_use_from_the_token(stage: Stage, engine: Engine | ServedEngine) -> None:
    ada = stage.person("ada", email="Ada@Example.org", name="Ada")
    expected = {
        "user_id": "ada", "email": "ada@example.org", "name": "Ada", "created_at": NOW, "updated_at": NOW, "version": 1
    }  # fmt: skip
    ada.task()
    assert ada.get("/users").json() == expected
    assert email_guards(engine) == {"EMAIL#ada@example.org"}


def test_the_name_falls_back_to_the_user_name_then_to_the_address(stage: Stage) -> None:
    assert stage.person("a", name="", preferred_username="ay").get("/users").json()["name"] == "ay"
    assert stage.person("b", name=None).get("/users").json()["name"] == "b@example.org"
    assert stage.person("d", name=None, username="dee").get("/users").json()["name"] == "dee"
    assert stage.person("c", name="c" * 150).get("/users").json()["name"] == "c" * 100


def test_a_user_is_created_once_with_the_given_fields(stage: Stage) -> None:
    ada = stage.person("ada", email=None, name=None)
    assert ada.get("/users").status_code == 422
    assert ada.post("/tasks", {"title": "x"}).status_code == 422
    response = ada.post("/users", {"email": "ADA@example.com", "name": "Ada"})
    assert (response.status_code, response.json()["email"], response.json()["name"]) == (201, "ada@example.com", "Ada")
    assert ada.post("/users", {"email": "ada@example.com"}).status_code == 409
    assert ada.task()["version"] == 1


def test_an_address_in_use_is_a_conflict_until_it_is_released(stage: Stage, engine: Engine | ServedEngine) -> None:
    ada, bob = stage.person("ada"), stage.person("bob", email="ADA@example.org")
    assert ada.get("/users").status_code == 200
    for response in (bob.get("/users"), bob.post("/users", {}), bob.post("/tasks", {"title": "x"})):
        assert response.status_code == 409
    assert bob.post("/users", {"email": "bob@example.org"}).status_code == 201
    assert bob.put("/users", {"email": "Ada@example.org"}).status_code == 409
    assert ada.put("/users", {"email": "new@example.org"}).json()["version"] == 2
    assert bob.put("/users", {"email": "ada@example.org"}).status_code == 200
    assert email_guards(engine) == {"EMAIL#ada@example.org"}, "nobody has verified the new address"


def test_an_unverified_address_is_a_claim_that_does_not_lock_out_its_owner(
    stage: Stage, engine: Engine | ServedEngine
) -> None:
    eve, mallory = stage.person("eve"), stage.person("mallory", email_verified=False)
    assert eve.get("/users").json()["email"] == "eve@example.org"
    claimed = eve.put("/users", {"email": "Ada@example.org"}).json()
    assert (claimed["email"], claimed["email_verified"], claimed["version"]) == ("ada@example.org", False, 2)
    response = mallory.post("/users", {"email": "ada@example.org"})
    assert (response.status_code, response.json()["email_verified"]) == (201, False)
    assert email_guards(engine) == set()
    ada = stage.person("ada").get("/users").json()
    assert (ada["email"], "email_verified" in ada) == ("ada@example.org", False)
    assert email_guards(engine) == {"EMAIL#ada@example.org"}
    assert eve.put("/users", {"email": "eve@example.org"}).json()["email"] == "eve@example.org"
    assert email_guards(engine) == {"EMAIL#ada@example.org", "EMAIL#eve@example.org"}


@pytest.mark.parametrize("claim", [False, "false", None, 1, "yes"], ids=repr)
def test_a_token_with_an_unverified_address_creates_no_user_on_first_use(stage: Stage, claim: object) -> None:
    ada = stage.person("ada", email_verified=claim)
    for response in (ada.get("/users"), ada.post("/users", {}), ada.post("/tasks", {"title": "x"})):
        assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid")
    assert stage.person("ada", email_verified="true").get("/users").json()["email"] == "ada@example.org"


def held_without_verification(stage: Stage, user_id: str, email: str) -> None:
    """Store a user as before addresses were verified."""
    now = datetime.fromtimestamp(NOW, UTC)
    stage.connection.run(create_user(User(user_id=user_id, email=email, name="x", created_at=now, updated_at=now)))


def test_an_address_reserved_before_verification_existed_is_transferred_to_its_owner(stage: Stage) -> None:
    held_without_verification(stage, "eve", "ada@example.org")
    held_without_verification(stage, "mallory", "new@example.org")
    ada = stage.person("ada")
    assert ada.task()["version"] == 1
    moved = stage.person("ada", email="new@example.org").put("/users", {"email": "new@example.org"})
    assert (moved.status_code, moved.json()["email"]) == (200, "new@example.org")
    for name, address in (("eve", "ada@example.org"), ("mallory", "new@example.org")):
        body = stage.person(name).get("/users").json()
        assert (body["email"], body["email_verified"]) == (address, False)


def test_an_administrator_releases_an_address_for_its_owner(stage: Stage, ada: Caller) -> None:
    root = stage.person("root", "administrators")
    assert ada.get("/users").json()["email"] == "ada@example.org"
    assert ada.delete("/admin/users/ada/email").status_code == 403
    key = new_key()
    released = root.delete("/admin/users/ada/email", key)
    assert (released.status_code, released.json()["email_verified"]) == (200, False)
    assert root.delete("/admin/users/ada/email", key).json() == released.json()
    assert root.delete("/admin/users/ada/email").status_code == 409
    assert root.delete("/admin/users/nobody/email").status_code == 404
    owner = stage.person("owner", email="ada@example.org").get("/users")
    assert (owner.status_code, owner.json()["email"]) == (200, "ada@example.org")


@pytest.mark.parametrize(
    "claims",
    [
        {"email": "nobody"},
        {"email": "x" * 300 + "@example.org"},
        {"email": "a@b@c"},
        {"email": "\ud800@example.org"},
        {"name": "\ud800"},
        {"email": 5},
    ],
    ids=str,
)
@pytest.mark.embedded("refused before any table is met")
def test_a_token_from_which_no_user_can_be_created_is_reported(stage: Stage, claims: dict[str, object]) -> None:
    ada = stage.person("ada", **claims)
    for response in (ada.get("/users"), ada.post("/users", {}), ada.post("/tasks", {"title": "x"})):
        assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid")


def test_a_blank_name_is_ignored(stage: Stage) -> None:
    assert stage.person("ada", name=" \n ").get("/users").json()["name"] == "ada@example.org"


def test_an_address_is_the_same_in_any_spelling(stage: Stage, engine: Engine | ServedEngine) -> None:
    first = stage.person("a", email="Ada@xn--bcher-kva.example")
    second = stage.person("b", email="ada@Bücher.example")
    assert first.get("/users").json()["email"] == "ada@b\u00fccher.example"
    assert second.get("/users").status_code == 409
    assert second.post("/users", {"email": "ADA@xn--bcher-kva.example"}).status_code == 409
    assert email_guards(engine) == {"EMAIL#ada@b\u00fccher.example"}


def test_an_address_that_becomes_too_long_by_case_folding_is_rejected(ada: Caller) -> None:
    letter = "\u0390"  # which becomes three characters when differences of case are removed
    long = f"{letter * 64}@{'a' * 60}.{'b' * 56}.org"
    assert ada.put("/users", {"email": long}).json()["error"]["code"] == "invalid"
    assert ada.put("/users", {"email": f"{letter * 60}@example.org"}).status_code == 200


@pytest.mark.embedded("refused before any table is met")
@pytest.mark.parametrize(
    "body", [{}, {"email": "no address"}, {"email": None}, {"name": ""}, {"name": "x" * 101}, {"admin": True}]
)
def test_invalid_changes_are_rejected(ada: Caller, body: dict[str, object]) -> None:
    assert ada.put("/users", body).status_code == 422


def test_a_change_at_another_version_is_a_conflict(ada: Caller, clock: ManualClock) -> None:
    before = ada.get("/users").json()
    assert before["version"] == 1
    clock.advance(10)
    changed = ada.put("/users", {"name": "Ada L."}, **{"If-Match": "1"}).json()
    assert changed == {**before, "name": "Ada L.", "updated_at": NOW + 10, "version": 2}
    assert ada.get("/users").json() == changed
    assert ada.put("/users", {"name": "x"}, **{"If-Match": "1"}).status_code == 409


def test_a_deletion_removes_tasks_guard_and_user(
    stage: Stage, ada: Caller, engine: Engine | ServedEngine, clock: ManualClock
) -> None:
    bob = stage.person("bob")
    remaining = bob.task("bob's")
    for number in range(60):
        ada.task(str(number))
    key = new_key()
    response = ada.delete("/users", key)
    assert (response.status_code, response.json()) == (202, {"user_id": "ada", "status": "deleting"})
    for refused in (ada.post("/tasks", {"title": "late"}), ada.get("/users"), ada.delete("/users")):
        assert refused.status_code == 409
    assert stage.service.deletions.run_once() == 1
    assert stage.service.deletions.run_once() == 0
    assert ada.get("/tasks").json()["tasks"] == []
    assert email_guards(engine) == {"EMAIL#bob@example.org"}
    assert bob.get("/tasks").json()["tasks"] == [remaining]
    assert ada.delete("/users", key).json() == response.json()
    assert ada.delete("/users").status_code == 404
    assert ada.task("anew")["version"] == 1
    assert stage.service.deletions.run_once() == 0
    assert [task["title"] for task in ada.get("/tasks").json()["tasks"]] == ["anew"]


def test_administration_requires_the_administrator_role(stage: Stage, ada: Caller) -> None:
    ada.task("milk", status="completed")
    stage.person("bob").task("more milk", priority="low")
    root = stage.person("root", "administrators")
    for path in ("/admin/users", "/admin/tasks/counts", "/admin/tasks/search?q=milk"):
        refused = ada.client.get(path)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    assert {user["user_id"] for user in root.get("/admin/users").json()["users"]} == {"ada", "bob"}
    assert {task["title"] for task in root.get("/admin/tasks/search", q="milk").json()["tasks"]} == {
        "milk",
        "more milk",
    }
    assert root.get("/admin/tasks/counts").json() == {
        "status": {"pending": 1, "in_progress": 0, "completed": 1, "cancelled": 0},
        "priority": {"urgent": 0, "high": 0, "medium": 1, "low": 1},
    }


def test_lists_of_users_are_paged(stage: Stage) -> None:
    for number in range(7):
        stage.person(f"u{number}").get("/users")
    root, user_ids, cursor = stage.person("root", "administrators"), set(), None
    while True:
        response: httpx.Response = root.get("/admin/users", limit=3, **({} if cursor is None else {"cursor": cursor}))
        user_ids |= {user["user_id"] for user in response.json()["users"]}
        cursor = response.json()["cursor"]
        if cursor is None:
            break
    assert user_ids == {f"u{number}" for number in range(7)}
