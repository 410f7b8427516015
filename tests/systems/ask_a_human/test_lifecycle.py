"""Questions from their first to their last day: states at exact times, sweep, retention, flags and their review."""

from __future__ import annotations

from typing import Any

import pytest
from tests.systems.ask_a_human.stage import CHOICE, Stage, items, open_questions
from tests.systems.ask_a_human.test_api_agents import NOON_S, refused
from tests.systems.served_engine import ServedEngine

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.ask_a_human import entities
from keyplan_systems.ask_a_human.domain.abuse import Action, Reason
from keyplan_systems.ask_a_human.domain.requests import Audience, fingerprint_hash

DAY = 86_400


def stored(engine: Engine | ServedEngine, question: str) -> dict[str, Any]:
    return next(item for item in items(engine, entities.questions) if item["question_id"]["S"] == question)


def test_a_question_goes_from_open_to_partial_to_closed_and_leaves_the_feed(
    stage: Stage, engine: Engine | ServedEngine
) -> None:
    question = stage.create_question(min_responses=2)
    assert "feed_pk" in stored(engine, question)
    stage.answer(question, "ada")
    assert stage.poll(question)["status"] == "PARTIAL"
    assert "feed_pk" in stored(engine, question)
    stage.answer(question, "ben")
    closed = stored(engine, question)
    assert closed["status"] == {"S": "CLOSED"}
    assert "feed_pk" not in closed
    assert closed["ttl"] == {"N": str(NOON_S + 7 * DAY)}
    assert refused(stage.answer(question, "cleo")) == (410, "QUESTION_CLOSED")
    kinds = [item["question_id"]["S"] for item in items(engine, entities.questions) if "due_at" in item]
    assert kinds == [f"ERRAND#PUSH#{question}"]


def test_a_question_expires_at_the_exact_second_of_its_deadline_with_and_without_sweep(
    stage: Stage, clock: ManualClock, engine: Engine | ServedEngine
) -> None:
    question = stage.create_question(timeout_seconds=60)
    stage.answer(question, "ada")
    clock.advance(59.999)
    assert stage.answer(question, "ben").status_code == 201
    assert stage.sweep() == 0
    clock.advance(0.001)
    late = stage.answer(question, "cleo")
    assert refused(late) == (410, "QUESTION_CLOSED")
    assert late.json()["error"]["details"] == {"status": "EXPIRED"}
    assert stage.get("/stats", "cleo").json()["total_points"] == 0
    assert stage.poll(question)["status"] == "EXPIRED"
    assert stage.get("/questions").json()["questions"] == []
    assert stored(engine, question)["status"] == {"S": "PARTIAL"}
    assert stage.sweep() == 1
    assert stored(engine, question)["status"] == {"S": "EXPIRED"}
    assert "feed_pk" not in stored(engine, question)
    assert stage.sweep() == 0
    body = stage.poll(question)
    assert (body["status"], len(body["responses"])) == ("EXPIRED", 2)
    assert open_questions(engine, "agent") == 0


def test_an_expired_question_can_be_polled_for_a_day_and_a_closed_one_for_seven(
    stage: Stage, clock: ManualClock
) -> None:
    closed = stage.create_question(min_responses=1, timeout_seconds=60)
    expired = stage.create_question(timeout_seconds=60)
    stage.answer(closed, "ada")
    headers = stage.agent()
    clock.advance(60 + DAY - 0.001)
    assert stage.poll(expired)["status"] == "EXPIRED"
    clock.advance(0.001)
    assert stage.client.get(f"/agent/questions/{expired}", headers=headers).status_code == 404
    clock.advance(6 * DAY - 60 - 0.002)
    assert stage.poll(closed)["status"] == "CLOSED"
    clock.advance(0.002)
    assert stage.client.get(f"/agent/questions/{closed}", headers=headers).status_code == 404


def test_lists_omit_questions_past_their_expiry_that_are_not_yet_removed(
    stage: Stage, clock: ManualClock, engine: Engine | ServedEngine
) -> None:
    closed = stage.create_question(min_responses=1, timeout_seconds=60)
    expired = stage.create_question(timeout_seconds=60)
    stage.answer(closed, "ada", answer="ok", response_time_ms=10)

    def own() -> dict[str, tuple[str, str | None]]:
        result = stage.client.get("/agent/questions", headers=stage.agent()).json()["questions"]
        return {question["question_id"]: (question["status"], question["closed_at"]) for question in result}

    person, reviews = fingerprint_hash("ada"), stage.service.reviews
    clock.advance(60 + DAY - 0.001)
    assert own() == {closed: ("CLOSED", "2026-02-02T12:00:00Z"), expired: ("EXPIRED", None)}
    clock.advance(0.001)
    assert set(own()) == {closed}
    clock.advance(6 * DAY - 60 - 0.001)
    assert set(own()) == {closed}
    clock.advance(0.001)
    assert own() == {}
    clock.advance(23 * DAY - 0.001)
    assert len(reviews.list_unreviewed(10)) == len(reviews.recent_answers(person, 10)) == 1
    clock.advance(0.001)
    assert len(reviews.list_unreviewed(10)) == len(reviews.recent_answers(person, 10)) == 0
    assert len([item for item in items(engine, entities.questions) if "prompt" in item]) == 2
    assert (
        len([item for item in items(engine, entities.responses) if "ttl" in item and "COUNTER" not in str(item)]) == 2
    )


@pytest.mark.embedded("expiry when the test says so")
def test_expiry_removes_questions_and_answers_and_keeps_statistics(
    clock: ManualClock, stage: Stage, engine: Engine
) -> None:
    stage.subscribe("token", "ben")
    question = stage.create_question(min_responses=1, idempotency_key="k")
    stage.pusher().run_once()
    stage.answer(question, "ada")
    stage.rank()
    assert any("notified_at" in item for item in items(engine, entities.subscriptions))
    clock.advance(7 * DAY + 1)
    engine.sweep()
    left = {item["question_id"]["S"] for item in items(engine, entities.questions)}
    assert left == {"AGENT#agent"}
    assert len([item for item in items(engine, entities.responses) if "answer" in item]) == 1
    clock.advance(23 * DAY)
    engine.sweep()
    assert items(engine, entities.responses) == []
    assert not any("ttl" in item for item in items(engine, entities.subscriptions))
    people = items(engine, entities.user_stats)
    assert [person["_leaderboard"]["S"][:-3] for person in people if "_leaderboard" in person] == ["ALL_TIME"]
    histograms = [person["fingerprint_hash"]["S"] for person in people if "buckets" in person]
    assert [name[:-3] for name in histograms] == ["HISTOGRAM#ALL_TIME"]
    assert stage.get("/stats", "ada").json()["total_points"] == 15
    assert stage.get("/leaderboard", "ada").json()["you"] == {"rank": 1, "points": 15}
    assert stage.get("/leaderboard", period="daily").json()["entries"] == []


@pytest.mark.embedded("expiry when the test says so")
def test_a_sweep_after_the_question_was_removed_returns_the_quota_once(
    stage: Stage, clock: ManualClock, engine: Engine
) -> None:
    stage.create_question(timeout_seconds=60)
    clock.advance(3 * DAY)
    engine.sweep()
    assert stage.sweep() == 1
    assert stage.sweep() == 0
    assert open_questions(engine, "agent") == 0


@pytest.mark.embedded("marks of ranks are dated by the stream, which has a clock of its own")
def test_every_time_to_live_is_a_number_of_recent_seconds(stage: Stage, engine: Engine | ServedEngine) -> None:
    question = stage.create_question(idempotency_key="k")
    stage.answer(question, "ada", answer="ok", response_time_ms=10)
    stage.subscribe("token", "ben")
    stage.pusher().run_once()
    stage.rank()
    ttls = [
        item["ttl"]
        for table in (entities.questions, entities.responses, entities.subscriptions, entities.user_stats)
        for item in items(engine, table)
        if "ttl" in item
    ]
    assert len(ttls) > 12
    assert all(set(expiry) == {"N"} and NOON_S < int(expiry["N"]) < NOON_S + 40 * DAY for expiry in ttls)


# Flags.


def test_suspicious_answers_are_stored_rewarded_and_queued_for_review(stage: Stage, clock: ManualClock) -> None:
    text = [stage.create_question(agent=f"agent-{number}") for number in range(2)]
    choice = stage.create_question(**CHOICE)
    assert stage.answer(text[0], "ada", answer="Same words", response_time_ms=4_999).json()["points_earned"] == 15
    clock.advance(1)
    assert stage.answer(text[1], "ada", answer="same  WORDS", response_time_ms=5_000).status_code == 201
    clock.advance(1)
    assert stage.answer(choice, "ada", selected_option=0, response_time_ms=1_999).status_code == 201
    waiting = stage.service.reviews.list_unreviewed(10)
    assert [(flag.reason, flag.question) for flag in waiting] == [
        (Reason.SUSPICIOUS_TIMING, text[0]),
        (Reason.DUPLICATE_CONTENT, text[1]),
        (Reason.SUSPICIOUS_TIMING, choice),
    ]
    assert {flag.person for flag in waiting} == {fingerprint_hash("ada")}
    clock.advance(10)
    decided = stage.service.reviews.decide(waiting[0].flag_id, Action.REJECTED)
    assert decided is not None
    assert (decided.reviewed, decided.action) == (True, Action.REJECTED)
    assert decided.reviewed_at == "2026-02-02T12:00:12.000Z"
    assert [flag.flag_id for flag in stage.service.reviews.list_unreviewed(10)] == [
        flag.flag_id for flag in waiting[1:]
    ]
    assert stage.service.reviews.decide(fake_id(), Action.APPROVED) is None
    recent = stage.service.reviews.recent_answers(fingerprint_hash("ada"), 2)
    assert [answer.question_id for answer in recent] == [choice, text[1]]


def fake_id() -> str:
    return "6f1b3c1e-7d7e-4a53-9f0e-3f1d4b1c2a55"


@pytest.mark.parametrize("answers", [4, 5])
def test_the_fifth_minimal_answer_in_a_row_is_flagged_as_a_pattern(
    stage: Stage, clock: ManualClock, answers: int
) -> None:
    for number in range(answers):
        clock.advance(61)
        stage.answer(stage.create_question(agent=f"agent-{number}"), "ada", answer="abcde"[number])
    reasons = [flag.reason for flag in stage.service.reviews.list_unreviewed(10)]
    assert reasons == ([Reason.PATTERN_MATCH] if answers == 5 else [])


def test_questions_with_the_most_missing_answers_come_first_until_they_are_closed(
    stage: Stage, clock: ManualClock, engine: Engine | ServedEngine
) -> None:
    half = stage.create_question(min_responses=2, timeout_seconds=60)
    fresh = stage.create_question(min_responses=5, timeout_seconds=7_200)
    urgent = stage.create_question(min_responses=5, audience=["ethics"], timeout_seconds=3_600)
    stage.answer(half, "ada")
    neediest = stage.service.answers.neediest

    assert [found_question.question_id for found_question in neediest(None, 2, None)] == [urgent, fresh]
    assert [found_question.question_id for found_question in neediest(None, 2, neediest(None, 2, None).cursor)] == [
        half
    ]
    assert [found_question.question_id for found_question in neediest(Audience.ETHICS, 2, None)] == [urgent]

    stage.answer(half, "ben")
    assert "need_pk" not in stored(engine, half)
    clock.advance(3_600)
    assert [found_question.question_id for found_question in neediest(None, 9, None)] == [fresh], (
        "expired, although nothing swept it"
    )
