"""Questions: status at the exact second, closing, retention, ids, keys, tallies and the quota."""

from __future__ import annotations

import random
import uuid
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.systems.ask_a_human.builders import NOON, PERSON, choice, question, response

from keyplan_systems.ask_a_human.domain import questions
from keyplan_systems.ask_a_human.domain.questions import KeyRecord, Status
from keyplan_systems.ask_a_human.domain.refusals import (
    IdempotencyKeyReusedError,
    InvalidRequestError,
    QuestionClosedError,
)

DAY_MS = 86_400_000


def test_a_question_starts_open_with_its_deadline_rounded_up_to_a_second() -> None:
    new_question = question(NOON + 1, timeout_seconds=60)
    assert (new_question.status, new_question.current_responses, new_question.closed_at_ms) == (Status.OPEN, 0, None)
    assert new_question.deadline_ms == NOON + 61_000


@given(st.integers(0, 120_000), st.sampled_from([Status.OPEN, Status.PARTIAL]))
def test_a_question_expires_at_the_exact_second_of_its_deadline(after_ms: int, stored: Status) -> None:
    expired = replace(question(timeout_seconds=60), status=stored)
    result = questions.status_at(expired, NOON + after_ms)
    assert result is (Status.EXPIRED if after_ms >= 60_000 else stored)


def test_an_answer_is_accepted_in_the_last_millisecond_before_the_deadline_only() -> None:
    new_question = question(timeout_seconds=60)
    assert questions.add_answer(new_question, NOON + 59_999).current_responses == 1
    with pytest.raises(QuestionClosedError) as refused:
        questions.add_answer(new_question, NOON + 60_000)
    assert refused.value.status == 410
    assert refused.value.details == {"status": "EXPIRED"}


def test_a_closed_question_stays_closed_after_its_deadline() -> None:
    closed = questions.add_answer(question(min_responses=1, timeout_seconds=60), NOON + 1)
    assert questions.status_at(closed, NOON + DAY_MS) is Status.CLOSED


@given(st.integers(1, 50))
def test_the_answer_that_reaches_the_target_closes_the_question(required: int) -> None:
    created = question(min_responses=required)
    for number in range(1, required + 1):
        created = questions.add_answer(created, NOON + number)
        assert created.current_responses == number
        assert created.status is (Status.CLOSED if number == required else Status.PARTIAL)
        assert created.responses_needed == required - number
    assert created.closed_at_ms == NOON + required
    with pytest.raises(QuestionClosedError, match="closed and accepts no more"):
        questions.add_answer(created, NOON + required + 1)


def test_a_sweep_stores_expired_once_and_only_for_open_questions() -> None:
    new_question = question(timeout_seconds=60)
    assert questions.expire(new_question, NOON + 59_999) is None
    swept = questions.expire(new_question, NOON + 60_000)
    assert swept is not None
    assert swept.status is Status.EXPIRED
    assert questions.expire(swept, NOON + 60_001) is None
    closed = questions.add_answer(question(min_responses=1, timeout_seconds=60), NOON)
    assert questions.expire(closed, NOON + 60_000) is None


def test_a_record_may_be_removed_a_day_after_its_deadline_or_seven_days_after_closing() -> None:
    new_question = question(timeout_seconds=60)
    assert questions.ttl_s(new_question) == NOON // 1000 + 60 + 86_400
    closed = questions.add_answer(question(min_responses=1, timeout_seconds=60), NOON + 1)
    assert questions.ttl_s(closed) == NOON // 1000 + 1 + 7 * 86_400
    assert not questions.is_removable(new_question, NOON + 60_000 + DAY_MS - 1)
    assert questions.is_removable(new_question, NOON + 60_000 + DAY_MS)
    assert questions.response_ttl_s(NOON) == NOON // 1000 + 30 * 86_400


@given(st.integers(0, 10**13))
def test_times_to_live_are_epoch_seconds(now_ms: int) -> None:
    assert 0 <= questions.response_ttl_s(now_ms) - now_ms / 1000 - 30 * 86_400 < 1
    assert 0 <= questions.key_ttl_s(now_ms) - now_ms / 1000 - 86_400 < 1


@given(st.uuids(), st.uuids(), st.text("0123456789abcdef", min_size=64, max_size=64))
def test_a_response_id_is_a_uuid5_of_question_and_person(first: uuid.UUID, second: uuid.UUID, person: str) -> None:
    new_id = uuid.UUID(questions.response_id(str(first), person))
    assert new_id.version == 5
    assert str(new_id) == questions.response_id(str(first), person)
    assert (new_id == uuid.UUID(questions.response_id(str(second), person))) == (first == second)


def test_question_ids_are_random_uuids_determined_by_the_seed() -> None:
    question_id = questions.new_question_id(random.Random(1))
    assert uuid.UUID(question_id).version == 4
    assert question_id == questions.new_question_id(random.Random(1))
    assert question_id != questions.new_question_id(random.Random(2))


def test_a_key_returns_its_question_for_exactly_24_hours() -> None:
    record = KeyRecord("id", "digest", NOON)
    assert questions.repeated_question_id(None, "digest", NOON) is None
    assert questions.repeated_question_id(record, "digest", NOON + DAY_MS - 1) == "id"
    assert questions.repeated_question_id(record, "digest", NOON + DAY_MS) is None
    assert questions.repeated_question_id(record, "other", NOON + DAY_MS) is None


def test_a_key_with_another_body_is_rejected_and_names_its_question() -> None:
    with pytest.raises(IdempotencyKeyReusedError) as refused:
        questions.repeated_question_id(KeyRecord("id", "digest", NOON), "other", NOON)
    assert (refused.value.status, refused.value.code) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert refused.value.details == {"field": "idempotency_key", "question_id": "id"}


def test_an_answer_contains_the_requested_fields() -> None:
    text = response(question(), answer="Short and honest", confidence=4, response_time_ms=9_000)
    assert (text.answer, text.selected_option, text.confidence) == ("Short and honest", None, 4)
    chosen = response(choice(), selected_option=2)
    assert (chosen.answer, chosen.selected_option) == (None, 2)
    assert chosen.response_id == questions.response_id(chosen.question_id, PERSON)


@pytest.mark.parametrize(
    ("new_question", "body", "field"),
    [
        (question(), {}, "answer"),
        (question(), {"answer": "x", "selected_option": 0}, "selected_option"),
        (choice(), {}, "selected_option"),
        (choice(), {"selected_option": 3}, "selected_option"),
        (choice(), {"selected_option": 0, "answer": "x"}, "answer"),
    ],
)
def test_an_answer_that_does_not_match_its_question_is_rejected(
    new_question: questions.Question, body: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        response(new_question, **body)
    assert refused.value.details is not None
    assert refused.value.details["field"] == field


def test_a_tally_counts_every_option_in_the_order_of_the_question() -> None:
    new_choice = choice()
    given_answers = [response(new_choice, person=str(n), selected_option=option) for n, option in enumerate((2, 0, 2))]
    assert list(questions.tally(new_choice, given_answers).items()) == [("Send", 1), ("Submit", 0), ("Done", 2)]


def test_the_category_is_the_first_audience_tag() -> None:
    assert question(audience=["ethics", "general"]).category == "ethics"
