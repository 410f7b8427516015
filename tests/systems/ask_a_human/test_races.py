"""Concurrent requests over real HTTP: answers, equal keys, quotas, limits, subscriptions, push workers; with faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.systems.ask_a_human.stage import Stage, at_once, items, open_questions, staged
from tests.systems.ask_a_human.test_api_agents import refused
from tests.systems.served_engine import ServedEngine, connected

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan.errors import TransactionCanceledError
from keyplan_systems.ask_a_human import entities
from keyplan_systems.ask_a_human.domain import limits

FAULTS = Faults(seed=3, conflicts=0.1, internal_errors=0.05, gsi_lag=(0.0, 2.0), stale_reads=0.3)


@contextmanager
def faulty(clock: ManualClock, folder: Path) -> Iterator[tuple[Stage, Engine]]:
    with (
        Engine.memory(clock=clock, ttl_sweep_s=None, faults=FAULTS) as engine,
        connected(engine, clock, attempts=30) as connection,
        staged(connection, clock, folder) as stage,
    ):
        yield stage, engine


def check_32_answers(stage: Stage, engine: Engine | ServedEngine) -> None:
    """Check that five answers are stored and paid, the question closes once, and the others get the error "closed"."""
    question = stage.create_question(min_responses=5)
    people = [f"person-{number}" for number in range(32)]
    responses = at_once([partial(stage.answer, question, person) for person in people])
    assert Counter(response.status_code for response in responses) == {201: 5, 410: 27}
    assert {response.json()["error"]["code"] for response in responses if response.status_code == 410} == {
        "QUESTION_CLOSED"
    }
    body = stage.poll(question)
    assert (body["status"], body["current_responses"], len(body["responses"])) == ("CLOSED", 5, 5)
    stored = [item for item in items(engine, entities.responses) if "answer" in item]
    assert len(stored) == 5
    records = [item for item in items(engine, entities.user_stats) if "badges" in item]
    assert len(records) == 5
    assert {record["total_answers"]["N"] for record in records} == {"1"}
    total = sum(response.json()["total_points"] for response in responses if response.status_code == 201)
    assert sum(int(record["total_points"]["N"]) for record in records) == total == 3 * 15 + 2 * 10
    quota = [item for item in items(engine, entities.questions) if "open_questions" in item]
    assert [item["open_questions"]["N"] for item in quota] == ["0"]


def test_exactly_5_of_32_concurrent_answers_to_a_question_that_needs_5_are_stored(
    stage: Stage, engine: Engine | ServedEngine
) -> None:
    check_32_answers(stage, engine)


@pytest.mark.embedded("faults on purpose")
def test_exactly_5_answers_are_stored_under_conflicts_failures_and_lag(clock: ManualClock, tmp_path: Path) -> None:
    with faulty(clock, tmp_path) as (stage, engine):
        check_32_answers(stage, engine)


def test_one_person_answering_concurrently_is_stored_and_rewarded_once(
    stage: Stage, engine: Engine | ServedEngine
) -> None:
    question = stage.create_question(min_responses=50)
    responses = at_once([partial(stage.answer, question, "ada", answer=f"thought {number}") for number in range(5)])
    assert Counter(response.status_code for response in responses) == {201: 1, 409: 4}
    assert stage.poll(question)["current_responses"] == 1


def check_repeated_answer(stage: Stage, engine: Engine | ServedEngine) -> None:
    """Check that one answer sent five times at once is stored and paid once, and each request gets the same reply."""
    question = stage.create_question(min_responses=1)
    responses = at_once([partial(stage.answer, question, "ada") for _ in range(5)])
    assert {response.status_code for response in responses} == {201}
    assert [response.json() for response in responses] == [responses[0].json()] * 5
    assert sum("Idempotency-Replayed" in response.headers for response in responses) == 4
    assert stage.poll(question)["current_responses"] == 1
    (record,) = [item for item in items(engine, entities.user_stats) if "badges" in item]
    assert record["total_points"] == {"N": str(responses[0].json()["points_earned"])}


def test_one_answer_sent_five_times_concurrently_gets_one_reply(stage: Stage, engine: Engine | ServedEngine) -> None:
    check_repeated_answer(stage, engine)


@pytest.mark.embedded("faults on purpose")
def test_one_answer_sent_five_times_gets_one_reply_under_conflicts_failures_and_lag(
    clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A request whose outcome is unknown is perhaps counted twice, which is too many for the limit of five.
    monkeypatch.setattr(limits, "RESPONSE_PACE", replace(limits.RESPONSE_PACE, allowed=10))
    with faulty(clock, tmp_path) as (stage, engine):
        check_repeated_answer(stage, engine)


def test_one_person_answering_five_questions_concurrently_loses_no_points(stage: Stage) -> None:
    questions = [stage.create_question(agent=f"agent-{number}", min_responses=50) for number in range(5)]
    responses = at_once([partial(stage.answer, question, "ada") for question in questions])
    assert {response.status_code for response in responses} == {201}
    stats = stage.get("/stats", "ada").json()
    assert (stats["total_answers"], stats["total_points"]) == (5, 5 * 15)
    assert sorted(response.json()["total_points"] for response in responses) == [15, 30, 45, 60, 75]
    assert sum("first_steps" in {badge["id"] for badge in response.json()["new_badges"]} for response in responses) == 1


def test_equal_concurrent_requests_under_one_key_create_one_question(stage: Stage) -> None:
    responses = at_once([partial(stage.ask, key="k") for _ in range(12)])
    assert {response.status_code for response in responses} == {201}
    assert len({response.json()["question_id"] for response in responses}) == 1
    own = stage.client.get("/agent/questions", headers=stage.agent()).json()["questions"]
    assert len(own) == 1


@pytest.mark.embedded("faults on purpose")
def test_equal_requests_create_one_question_under_conflicts_failures_and_lag(
    clock: ManualClock, tmp_path: Path
) -> None:
    with faulty(clock, tmp_path) as (stage, engine):
        responses = at_once([partial(stage.ask, key="k") for _ in range(12)])
        assert {response.status_code for response in responses} == {201}
        assert len({response.json()["question_id"] for response in responses}) == 1
        assert len([item for item in items(engine, entities.questions) if "prompt" in item]) == 1
        quota = [item for item in items(engine, entities.questions) if "open_questions" in item]
        assert [item["open_questions"]["N"] for item in quota] == ["1"]


def test_different_concurrent_bodies_under_one_key_create_one_question(stage: Stage) -> None:
    prompts = ["Is this the first?", "Is this the second?"] * 6
    responses = at_once([partial(stage.ask, key="k", prompt=prompt) for prompt in prompts])
    assert Counter(response.status_code for response in responses) == {201: 6, 422: 6}
    assert len({response.json()["question_id"] for response in responses if response.status_code == 201}) == 1


def test_a_limit_admits_exactly_its_number_of_concurrent_requests(stage: Stage, clock: ManualClock) -> None:
    questions = [stage.create_question(agent=f"agent-{number}", min_responses=50) for number in range(12)]
    responses = at_once([partial(stage.answer, question, "hasty") for question in questions])
    assert Counter(response.status_code for response in responses) == {201: 5, 429: 7}
    clock.advance(60)
    assert stage.answer(questions[0], "patient").status_code == 201


def test_the_hundredth_open_question_is_the_last_under_concurrency(stage: Stage, clock: ManualClock) -> None:
    for number in range(95):
        if number in {50, 94}:
            clock.advance(3600)
        stage.create_question(timeout_seconds=86_400)
    responses = at_once([stage.ask for _ in range(16)])
    assert Counter(response.status_code for response in responses) == {201: 5, 403: 11}


def test_equal_concurrent_requests_for_the_hundredth_open_question_all_return_it(
    stage: Stage, engine: Engine | ServedEngine
) -> None:
    for number in range(5):
        agent = f"agent-{number}"
        stage.agent(agent)
        key = {"question_id": {"S": f"AGENT#{agent}"}}
        quota = {"open_questions": {"Value": {"N": "99"}, "Action": "PUT"}}
        engine.call("UpdateItem", {"TableName": entities.questions.name, "Key": key, "AttributeUpdates": quota})
        responses = at_once([partial(stage.ask, agent, key="k") for _ in range(8)])
        assert Counter(response.status_code for response in responses) == {201: 8}
        assert len({response.json()["question_id"] for response in responses}) == 1
        assert refused(stage.ask(agent, key="other")) == (403, "AGENT_QUOTA_EXCEEDED")


def test_a_concurrent_sweep_and_last_answer_end_the_question_once(
    stage: Stage, clock: ManualClock, engine: Engine | ServedEngine
) -> None:
    ids = [stage.create_question(agent="one", timeout_seconds=60, min_responses=1) for _ in range(8)]
    clock.advance(59.999)
    responses = at_once(
        [partial(stage.answer, question, f"person-{number}") for number, question in enumerate(ids[:4])]
        + [partial(clock.advance, 0.0), stage.sweep, stage.sweep]
    )
    assert [response.status_code for response in responses[:4]] == [201] * 4
    clock.advance(1)
    swept = at_once([stage.sweep] * 6)
    assert sum(swept) == 4
    assert open_questions(engine, "one") == 0


def test_concurrent_subscriptions_of_one_token_are_one_subscription(
    stage: Stage, engine: Engine | ServedEngine
) -> None:
    responses = at_once([partial(stage.subscribe, "token", "ada", address=f"host-{number}") for number in range(8)])
    assert {response.status_code for response in responses} == {201}
    assert len([item for item in items(engine, entities.subscriptions) if "fcm_token" in item]) == 1


def check_ten_workers(stage: Stage, clock: ManualClock) -> list[tuple[str, str]]:
    for number in range(60):
        assert stage.subscribe(f"token-{number}", f"person-{number}", min_interval_minutes=5).status_code == 201
    question_ids = {stage.create_question(agent=f"agent-{number}", min_responses=5) for number in range(8)}
    clock.advance(3)  # the indexes have caught up
    workers = [stage.pusher() for _ in range(10)]
    at_once([worker.run_once for worker in workers])
    for worker in workers:  # missed by one worker because another had claimed it
        worker.run_once()
    result = stage.outbox_messages()
    assert max(Counter(token for token, _ in result).values()) == 1
    assert {question for _, question in result} <= question_ids
    assert max(Counter(question for _, question in result).values()) <= 15
    return result


def test_ten_concurrent_push_workers_never_notify_anyone_twice(stage: Stage, clock: ManualClock) -> None:
    result = check_ten_workers(stage, clock)
    assert 40 <= len(result) <= 60  # a person whom another worker claims first is not replaced within the round
    clock.advance(15 * 60)
    workers = [stage.pusher() for _ in range(10)]
    at_once([worker.run_once for worker in workers])
    again = stage.outbox_messages()[len(result) :]
    assert 40 <= len(again) <= 60
    assert max(Counter(token for token, _ in again).values()) == 1


@pytest.mark.embedded("faults on purpose")
def test_ten_push_workers_notify_no_one_twice_under_failures_and_lag(clock: ManualClock, tmp_path: Path) -> None:
    with faulty(clock, tmp_path) as (stage, _):
        result = check_ten_workers(stage, clock)
        assert len(result) >= 5  # claims with unknown outcome are abandoned, and lagging indexes make workers collide


def test_ranks_count_each_move_once_with_any_number_of_workers(stage: Stage, clock: ManualClock) -> None:
    for agent in range(3):
        question = stage.create_question(agent=f"agent-{agent}", min_responses=50)
        for number in range(12):
            clock.advance(1)
            assert stage.answer(question, f"person-{number}", answer="a" * (1 + 60 * (number % 3))).status_code == 201
    at_once([stage.rank] * 3)
    stage.rank()
    board = stage.get("/leaderboard", limit=50).json()["entries"]
    assert len(board) == 12
    ranks = [stage.get("/stats", f"person-{number}").json()["rank"] for number in range(12)]
    assert sorted(ranks) == list(range(1, 13))


@pytest.mark.parametrize("code", ["TransactionConflict", "ThrottlingError"])
@pytest.mark.parametrize("path", ["ask", "answer"])
def test_a_write_with_one_stale_and_one_conflicting_part_is_retried(
    stage: Stage, code: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.person("ada")
    question, call, refusals = stage.create_question(), stage.connection._call, 0

    def refusing(operation: str, request: dict[str, Any]) -> Any:
        nonlocal refusals
        if operation != "TransactWriteItems" or refusals:
            return call(operation, request)
        refusals += 1
        reasons: list[dict[str, Any]] = [{"Code": "None"} for _ in request["TransactItems"]]
        reasons[1] = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
        reasons[2] = {"Code": code, "Message": "Transaction is ongoing for the item"}
        raise TransactionCanceledError("Transaction cancelled", CancellationReasons=reasons)

    monkeypatch.setattr(stage.connection, "_call", refusing)
    response = stage.ask(key="k") if path == "ask" else stage.answer(question, "ada")
    assert (response.status_code, refusals) == (201, 1)
