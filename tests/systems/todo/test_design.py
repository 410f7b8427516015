"""Stored form of the design: documented names and key formats, sparse indexes, no open findings."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.systems.served_engine import ServedEngine
from tests.systems.todo import units
from tests.systems.todo.stage import Caller
from tests.systems.todo.units_rows import rows as documented_rows
from tests.systems.todo.units_rows import task_of

from keyplan.check.checking import check
from keyplan.client.connection import Connection
from keyplan.client.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    KeyValueError,
    NotFoundError,
    UniqueTakenError,
    VersionConflictError,
)
from keyplan.design.declaring.design import Design
from keyplan.engine.engine import Engine
from keyplan.errors import ValidationError
from keyplan_systems.todo import design
from keyplan_systems.todo.entities import Idempotency, Status, Task, User, app
from keyplan_systems.todo.idempotency import IN_PROGRESS

TABLE = "todo-app-data"
NOW = datetime(2025, 11, 20, 12, tzinfo=UTC)


def stored(engine: Engine | ServedEngine, pk: str, sk: str) -> dict[str, Any]:
    item: dict[str, Any] = engine.call("GetItem", {"TableName": TABLE, "Key": {"PK": {"S": pk}, "SK": {"S": sk}}})[
        "Item"
    ]
    return item


def query(engine: Engine | ServedEngine, index: str, condition: str, **values: str) -> int:
    names = {":" + name: {"S": value} for name, value in values.items()}
    request = {"TableName": TABLE, "IndexName": index, "KeyConditionExpression": condition}
    count: int = engine.call("Query", {**request, "ExpressionAttributeValues": names})["Count"]
    return count


def test_the_check_has_no_findings() -> None:
    report = check(Design.load("keyplan_systems.todo.design"))
    assert [f"{finding.code} {finding.problem}" for finding in report.findings] == []


def test_the_table_matches_the_documents(connection: Connection, engine: Engine | ServedEngine) -> None:
    result = connection.describe(app)
    assert result is not None
    assert result["TableName"] == TABLE
    assert {element["AttributeName"]: element["KeyType"] for element in result["KeySchema"]} == {
        "PK": "HASH",
        "SK": "RANGE",
    }
    indexes = {definition["IndexName"]: definition for definition in result["GlobalSecondaryIndexes"]}
    assert sorted(indexes) == ["GSI1", "GSI2", "GSI3", "GSI4"]
    for name, index in indexes.items():
        assert [element["AttributeName"] for element in index["KeySchema"]] == [f"{name}PK", f"{name}SK"]
        assert index["Projection"] == {"ProjectionType": "ALL"}
    assert result["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    expiry = engine.call("DescribeTimeToLive", {"TableName": TABLE})["TimeToLiveDescription"]
    assert expiry == {"AttributeName": "expiration_timestamp", "TimeToLiveStatus": "ENABLED"}
    assert result["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


def test_keys_and_attributes_are_written_as_documented(connection: Connection, engine: Engine | ServedEngine) -> None:
    connection.run(design.create_task(task_of(2, completed_at=NOW)))
    item = stored(engine, "TASK#ada", "TASK#00000002")
    keys = {name: value["S"] for name, value in item.items() if name.startswith("GSI")}
    assert keys == {
        "GSI1PK": "USER#ada", "GSI1SK": "STATUS#completed#00000002",
        "GSI2PK": "USER#ada", "GSI2SK": "DUEDATE#2025-11-20#00000002",
        "GSI3PK": "USER#ada", "GSI3SK": "PRIORITY#high#00000002",
        "GSI4PK": "USER#ada", "GSI4SK": "CATEGORY#home#00000002",
    }  # fmt: skip
    assert {name for name in item if not name.startswith("GSI")} == {
        "PK", "SK", "title", "description", "status", "priority", "category", "due_date", "created_at", "updated_at",
        "completed_at", "version",
    }  # fmt: skip
    assert item["created_at"] == item["completed_at"] == {"N": str(int(NOW.timestamp()))}
    assert item["due_date"] == {"S": "2025-11-20"}
    user = User(user_id="ada", email="ada@x.org", name="Ada", created_at=NOW, updated_at=NOW)
    connection.run(design.create_user(user))
    assert set(stored(engine, "USER#ada", "METADATA")) == {
        "PK", "SK", "email", "name", "created_at", "updated_at", "version"
    }  # fmt: skip
    assert stored(engine, "EMAIL#ada@x.org", "METADATA")


def test_missing_attributes_are_in_no_index(connection: Connection, engine: Engine | ServedEngine) -> None:
    left_out = ("priority", "category", "due_date", "description", "completed_at")
    bare: dict[str, Any] = dict.fromkeys(left_out)
    connection.run(design.create_task(task_of(0, **bare)))
    item = stored(engine, "TASK#ada", "TASK#00000000")
    assert {name for name in item if name.startswith("GSI")} == {"GSI1PK", "GSI1SK"}
    assert not set(left_out) & set(item)
    for call in (design.tasks_by_due_date("ada"), design.tasks_by_priority("ada"), design.tasks_by_category("ada")):
        assert connection.all(call) == []


def test_the_documented_equality_and_range_miss_items_and_ours_find_all(
    connection: Connection, engine: Engine | ServedEngine
) -> None:
    connection.run(design.create_task(task_of(0, due_date=date(2025, 10, 31))))
    of_user = "GSI1PK = :user AND GSI1SK = :sort"
    assert query(engine, "GSI1", of_user, user="USER#ada", sort="STATUS#pending#") == 0
    assert len(connection.all(design.tasks_with_status("ada", Status.PENDING))) == 1
    between = "GSI2PK = :user AND GSI2SK BETWEEN :low AND :high"
    bounds = {"low": "DUEDATE#2025-10-01#", "high": "DUEDATE#2025-10-31#"}
    assert query(engine, "GSI2", between, user="USER#ada", **bounds) == 0
    assert len(connection.all(design.tasks_due_between("ada", date(2025, 10, 1), date(2025, 10, 31)))) == 1


def test_a_partial_key_and_a_null_index_key_are_rejected_as_on_the_service(
    connection: Connection, engine: Engine | ServedEngine
) -> None:
    with pytest.raises(ValidationError, match="does not match the schema"):
        engine.call("GetItem", {"TableName": TABLE, "Key": {"PK": {"S": "IDEMPOTENCY#x"}}})
    item = {"PK": {"S": "TASK#a"}, "SK": {"S": "TASK#1"}, "GSI2PK": {"S": "USER#a"}, "GSI2SK": {"NULL": True}}
    with pytest.raises(ValidationError, match="GSI2SK"):
        engine.call("PutItem", {"TableName": TABLE, "Item": item})


def test_values_that_would_break_a_key_are_rejected_before_they_are_written(connection: Connection) -> None:
    for values in ({"category": "a#b"}, {"user_id": "a#b"}, {"task_id": "1#2"}):
        with pytest.raises(ValueError, match=next(iter(values))):
            task_of(0, **values)
    unchecked = task_of(0).model_copy(update={"category": "a#b"})
    with pytest.raises(KeyValueError, match="category"):
        connection.run(design.create_task(unchecked))


def test_every_write_that_could_lose_data_has_a_condition(connection: Connection) -> None:
    task = task_of(0)
    connection.run(design.create_task(task))
    connection.run(design.replace_task(task.model_copy(update={"title": "second"})))
    stale: dict[str, Any] = {
        "status": Status.COMPLETED,
        "updated_at": NOW,
        "completed_at": NOW,
        "expiration_timestamp": None,
    }
    for call in (
        design.replace_task(task),
        design.delete_task("ada", task.task_id, seen=1),
        design.change_status("ada", task.task_id, seen=1, **stale),
    ):
        with pytest.raises(VersionConflictError):
            connection.run(call)
    with pytest.raises(ConditionFailedError):
        connection.run(design.delete_completed_task("ada", task.task_id))
    with pytest.raises(NotFoundError):
        connection.run(design.replace_task(task_of(1)))


def test_a_response_replaces_only_its_claim(connection: Connection) -> None:
    claim = Idempotency(
        user_id="ada", request_key="k", fingerprint="f", response_data="", http_status_code=IN_PROGRESS, created_at=NOW,
        expiration_timestamp=datetime(2100, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    answered_claim = claim.model_copy(update={"response_data": "{}", "http_status_code": 200})
    connection.run(design.remember_answer(claim))
    connection.run(design.finish_answer(answered_claim))
    for call in (design.remember_answer(claim), design.finish_answer(answered_claim)):
        with pytest.raises(AlreadyExistsError):
            connection.run(call)
    assert connection.run(design.answer_given("ada", "k")) == answered_claim


def test_an_address_belongs_to_one_user(connection: Connection) -> None:
    ada = User(user_id="ada", email="a@x.org", name="Ada", created_at=NOW, updated_at=NOW)
    connection.run(design.create_user(ada))
    with pytest.raises(UniqueTakenError):
        connection.run(design.create_user(ada.model_copy(update={"user_id": "bob"})))


def test_the_load_of_one_user_is_on_one_key_as_the_design_states() -> None:
    hot = Task.__keyplan__
    assert hot is not None
    assert hot.volume is not None
    result = hot.volume.values_of("user_id")
    assert result is not None
    assert result.hottest == 0.01


def test_measured_units_match_the_service(tmp_path: Path) -> None:
    pattern_units = {row.label: units.pattern_units(row) for row in documented_rows()}
    assert pattern_units["create task"] == "5 WCU"
    assert pattern_units["update task"] == "5 WCU"
    assert pattern_units["update of a status"] == "6 WCU"
    assert pattern_units["delete task"] == "5 WCU"
    assert pattern_units["bulk update of status"] == "6 WCU"
    assert (
        pattern_units["user by user_id"]
        == pattern_units["task by task_id"]
        == pattern_units["idempotency check"]
        == "1 RCU"
    )


def test_users_and_their_tasks_are_two_collections(ada: Caller, engine: Engine | ServedEngine) -> None:
    ada.task()
    request = {"TableName": TABLE, "KeyConditionExpression": "PK = :pk"}
    response = engine.call("Query", {**request, "ExpressionAttributeValues": {":pk": {"S": "USER#ada"}}})
    assert [item["SK"]["S"] for item in response["Items"]] == ["METADATA"]
