"""Stored form of the design: documented names and attributes, sparse and sharded indexes, no open findings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from tests.systems.ask_a_human.stage import CHOICE, TABLES, Stage, at_once, items, staged
from tests.systems.served_engine import ServedEngine, connected

from keyplan import OnDemand, Table
from keyplan.check.checking import check
from keyplan.clock import ManualClock
from keyplan.cost.estimate import estimate
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan.errors import ValidationError
from keyplan_systems.ask_a_human import design, entities
from keyplan_systems.ask_a_human.domain.boards import SHARDS

KEYS = {
    "aah-questions": {
        "": ("question_id",),
        "ByStatus": ("feed_pk", "created_at"),
        "ByNeed": ("need_pk", "need"),
        "ByAgentId": ("agent_id", "created_at"),
        "ByDue": ("due_pk", "due_at"),
    },
    "aah-responses": {
        "": ("question_id", "response_id"),
        "ByFingerprint": ("fingerprint_hash", "created_at"),
        "ByReview": ("review_pk", "flagged_at"),
    },
    "aah-subscriptions": {
        "": ("subscription_id",),
        "ByLastNotified": ("notify_pk", "next_eligible_at"),
        "ByDue": ("due_pk", "due_at"),
    },
    "aah-user-stats": {"": ("fingerprint_hash",), "ByTotalPoints": ("_leaderboard", "place")},
}
QUESTION = {
    "question_id": "S", "status": "S", "prompt": "S", "type": "S", "options": "L", "audience": "L",
    "required_responses": "N", "current_responses": "N", "agent_id": "S", "idempotency_key": "S", "created_at": "S",
    "expires_at": "N", "closed_at": "S",
}  # fmt: skip
RESPONSE = {
    "question_id": "S", "response_id": "S", "selected_option": "N", "confidence": "N", "fingerprint_hash": "S",
    "created_at": "S", "response_time_ms": "N",
}  # fmt: skip
SUBSCRIPTION = {
    "subscription_id": "S", "fcm_token": "S", "min_interval_minutes": "N", "last_notified_at": "S", "created_at": "S",
    "updated_at": "S", "active": "BOOL",
}  # fmt: skip
STATS = {
    "fingerprint_hash": "S", "total_points": "N", "total_answers": "N", "streak_days": "N", "streak_last_date": "S",
    "badges": "M", "answers_by_category": "M", "created_at": "S", "updated_at": "S",
}  # fmt: skip


def types_of(item: dict[str, Any]) -> dict[str, str]:
    return {name: next(iter(value)) for name, value in item.items()}


@pytest.fixture
def lagging(clock: ManualClock, tmp_path: Any) -> Iterator[Stage]:
    with (
        Engine.memory(clock=clock, ttl_sweep_s=None, faults=Faults(gsi_lag=5.0)) as engine,
        connected(engine, clock) as connection,
        staged(connection, clock, tmp_path) as stage,
    ):
        yield stage


def test_the_check_has_no_findings() -> None:
    report = check(Design.load("keyplan_systems.ask_a_human.design"))
    assert [f"{finding.code} {finding.problem}" for finding in report.findings] == []


def test_the_four_tables_match_the_documents_in_keys_and_expiry(stage: Stage) -> None:
    assert [table.name for table in Design.load("keyplan_systems.ask_a_human.design").tables] == list(KEYS)
    for table in TABLES:
        result = stage.connection.describe(table)
        assert result is not None
        parts = {"": result["KeySchema"]} | {
            index["IndexName"]: index["KeySchema"] for index in result["GlobalSecondaryIndexes"]
        }
        assert {name: tuple(key["AttributeName"] for key in part) for name, part in parts.items()} == KEYS[table.name]
        assert table.schema.ttl == "ttl"


def test_capacity_is_on_demand(stage: Stage) -> None:
    for table in TABLES:
        result = stage.connection.describe(table)
        assert result is not None
        assert result["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
        assert not table.schema.provisioned


@contextmanager
def cold(table: Table) -> Iterator[None]:
    """Remove the table's warm throughput; patterns know its schema, so it stays the same object."""
    declared = table.schema.billing
    object.__setattr__(table.schema, "billing", OnDemand())
    try:
        yield
    finally:
        object.__setattr__(table.schema, "billing", declared)


def test_tables_are_declared_warm_enough_for_the_peak() -> None:
    results = set()
    for table in TABLES:
        with cold(table):
            report = check(Design.load("keyplan_systems.ask_a_human.design"))
        results |= {(finding.code, finding.subject) for finding in report.findings}
    assert results == {("KP505", "aah-questions"), ("KP505", "aah-responses"), ("KP505", "aah-user-stats")}


def test_storage_has_a_cost_without_requests() -> None:
    month = estimate(Design.load("keyplan_systems.ask_a_human.design"), book("us-east-1"))
    assert all(part.storage > 0 for table in month.tables for part in table.parts)


def test_items_have_the_documented_attributes(stage: Stage, engine: Engine | ServedEngine) -> None:
    question = stage.create_question(**CHOICE, min_responses=1, idempotency_key="k")
    stage.subscribe("token", "ada")
    stage.pusher().run_once()
    assert stage.answer(question, "ada", selected_option=0, confidence=3, response_time_ms=7_000).status_code == 201
    entries = [
        (QUESTION, next(stored for stored in items(engine, entities.questions) if "prompt" in stored)),
        (RESPONSE, next(stored for stored in items(engine, entities.responses) if "selected_option" in stored)),
        (SUBSCRIPTION, next(stored for stored in items(engine, entities.subscriptions) if "fcm_token" in stored)),
        (STATS, next(stored for stored in items(engine, entities.user_stats) if "badges" in stored)),
    ]
    for documented, item in entries:
        types = types_of(item)
        assert {name: types.get(name) for name in documented} == documented


def test_people_and_subscriptions_have_creation_and_modification_times(
    stage: Stage, clock: ManualClock, engine: Engine | ServedEngine
) -> None:
    def dates(table: Any, has: str) -> dict[str, str]:
        (stored_item,) = [item for item in items(engine, table) if has in item]
        return {name: value["S"][11:19] for name, value in stored_item.items() if name.endswith("_at")}

    question, other = stage.create_question(), stage.create_question(agent="other")
    path = f"/human/push/subscribe/{stage.subscribe('token', 'ada').json()['subscription_id']}"
    ada, created = stage.person("ada"), dates(entities.subscriptions, "fcm_token")
    assert created == dict.fromkeys(("created_at", "updated_at", "next_eligible_at"), "12:00:00")
    for change, result in (
        (stage.pusher().run_once, {"last_notified_at": "12:00:01", "next_eligible_at": "12:30:01"}),
        (
            lambda: stage.client.put(path, headers=ada, json={"min_interval_minutes": 5}),
            {"next_eligible_at": "12:05:01"},
        ),
        (lambda: stage.client.delete(path, headers=ada), {}),
        (lambda: stage.subscribe("token", "ada"), {"next_eligible_at": "12:30:01"}),
    ):
        clock.advance(1)
        assert change()
        created |= {"updated_at": f"12:00:0{int(clock.now()) % 60}", **result}
        assert dates(entities.subscriptions, "fcm_token") == created
    stage.answer(question, "ada")
    clock.advance(1)
    stage.answer(other, "ada")
    record = dates(entities.user_stats, "badges")
    assert (record["created_at"], record["updated_at"]) == ("12:00:04", "12:00:05")


def test_a_boolean_cannot_be_a_key_so_activity_has_a_separate_attribute(
    stage: Stage, engine: Engine | ServedEngine
) -> None:
    with pytest.raises(ValidationError):
        engine.call(
            "CreateTable",
            {
                "TableName": "as-documented",
                "KeySchema": [{"AttributeName": "active", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "active", "AttributeType": "BOOL"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
    stage.subscribe("token", "ada")
    (stored,) = [item for item in items(engine, entities.subscriptions) if "fcm_token" in item]
    assert stored["active"] == {"BOOL": True}
    assert stored["notify_pk"]["S"].startswith("ACTIVE#")


def test_an_answer_is_one_transaction_over_three_tables(stage: Stage) -> None:
    steps = design.answer_question.plan.steps
    assert {step.schema.name for step in steps} == {"aah-responses", "aah-questions", "aah-user-stats"}
    sent: list[str] = []
    call = stage.connection._call

    def call_and_keep(operation: str, request: dict[str, Any]) -> Any:
        sent.append(operation)
        return call(operation, request)

    stage.connection._call = call_and_keep
    question = stage.create_question(min_responses=1)
    stage.person("ada")
    sent.clear()
    assert stage.answer(question, "ada").status_code == 201
    assert [operation for operation in sent if operation not in {"GetItem", "Query"}] == [
        "UpdateItem",  # the counter of the minute
        "UpdateItem",  # the counter of the hour
        "UpdateItem",  # the counter of the address
        "TransactWriteItems",
    ]


def test_feed_and_boards_are_distributed_over_shards(stage: Stage, engine: Engine | ServedEngine) -> None:
    ids = [stage.create_question(agent=f"agent-{number // 30}", min_responses=50) for number in range(60)]
    at_once([partial(stage.answer, ids[number], f"person-{number}") for number in range(40)])
    feed = {item["feed_pk"]["S"] for item in items(engine, entities.questions) if "feed_pk" in item}
    rows = {item["_leaderboard"]["S"] for item in items(engine, entities.user_stats) if "_leaderboard" in item}
    assert len(feed) == 8
    assert len([row for row in rows if row.startswith("ALL_TIME#")]) == SHARDS
    assert {row.split("#")[0] for row in rows} == {"ALL_TIME", "DAILY", "WEEKLY"}


@pytest.mark.embedded("faults on purpose")
def test_an_agents_list_may_lag_while_a_poll_never_does(lagging: Stage, clock: ManualClock) -> None:
    question = lagging.create_question()
    own = lagging.client.get("/agent/questions", headers=lagging.agent()).json()
    assert own["questions"] == []
    assert lagging.poll(question)["status"] == "OPEN"
    lagging.answer(question, "ada")
    assert len(lagging.poll(question)["responses"]) == 1
    assert lagging.answer(question, "ada", answer="another text").status_code == 409
    clock.advance(5)
    assert len(lagging.client.get("/agent/questions", headers=lagging.agent()).json()["questions"]) == 1


@pytest.mark.embedded("faults on purpose")
def test_a_disabled_subscription_is_not_notified_even_if_the_index_is_stale(lagging: Stage, clock: ManualClock) -> None:
    subscription_ids = [
        lagging.subscribe(token, f"person-{token}").json()["subscription_id"] for token in ("off", "on")
    ]
    lagging.create_question()
    clock.advance(6)
    off = lagging.client.delete(f"/human/push/subscribe/{subscription_ids[0]}", headers=lagging.person("person-off"))
    assert off.status_code == 204
    assert lagging.pusher().run_once() == 1
    assert [token for token, _ in lagging.outbox_messages()] == ["on"]
