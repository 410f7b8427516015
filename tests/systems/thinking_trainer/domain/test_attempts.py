"""Transitions of attempts from in progress to completed or abandoned, and the limits of their answers."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.systems.thinking_trainer.builders import NOON, USER, assessment, attempt_id, completed, scenario

from keyplan.limits import ITEM_BYTES
from keyplan_systems.thinking_trainer.domain import attempts
from keyplan_systems.thinking_trainer.domain.attempts import Attempt, Status
from keyplan_systems.thinking_trainer.domain.errors import AnswersRejected, AttemptClosed
from keyplan_systems.thinking_trainer.domain.rubric import DIMENSIONS, Assessment, DimensionScore

LATER = NOON + timedelta(minutes=20)
TEXTS = {"q1": "It assumes that the tide is to blame.", "q2": "It assumes that crews never err."}


def new_attempt() -> Attempt:
    return attempts.start(attempt_id(1), USER, "late-ferry", NOON)


def test_an_attempt_starts_in_progress_without_time_score_or_index_key() -> None:
    attempt = new_attempt()
    assert attempt.status is Status.IN_PROGRESS
    assert (attempt.timestamp, attempt.evaluation, attempt.duration_seconds, attempt.scored_key) == (None,) * 4


def test_saving_keeps_drafts_and_counts_their_words() -> None:
    drafts = attempts.draft_answers(scenario(), {"q2": "crews\tnever  err"})
    saved = attempts.save(new_attempt(), drafts, LATER)
    assert [(answer.question_id, answer.word_count) for answer in saved.answers] == [("q2", 3)]
    assert saved.touched_at == LATER
    assert saved.started_at == NOON


def test_resuming_restarts_the_inactivity_period_and_keeps_the_drafts() -> None:
    saved = attempts.save(new_attempt(), attempts.draft_answers(scenario(), {"q1": "tide"}), LATER)
    resumed = attempts.resume(saved, LATER + timedelta(hours=23))
    assert resumed.answers == saved.answers
    assert not attempts.is_inactive(resumed, LATER + timedelta(hours=46))


def test_submitting_completes_with_the_computed_score_and_the_time_spent() -> None:
    submitted = attempts.submit(new_attempt(), attempts.final_answers(scenario(), TEXTS), assessment(3), LATER)
    assert submitted.status is Status.COMPLETED
    assert submitted.timestamp == LATER
    assert submitted.duration_seconds == 1200
    assert submitted.evaluation is not None
    assert submitted.evaluation.overall_score == 75
    assert submitted.evaluation.evaluated_at == LATER
    assert submitted.scored_key == f"2026-03-01T12:20:00.000Z#{attempt_id(1)}"


def test_abandoning_keeps_the_answers_and_sets_no_index_key() -> None:
    saved = attempts.save(new_attempt(), attempts.draft_answers(scenario(), TEXTS), LATER)
    given_up = attempts.abandon(saved, LATER + timedelta(days=2))
    assert given_up.status is Status.ABANDONED
    assert given_up.answers == saved.answers
    assert given_up.scored_key is None


MOVES: dict[str, Callable[[Attempt], Attempt]] = {
    "saved": lambda attempt: attempts.save(attempt, (), LATER),
    "resumed": lambda attempt: attempts.resume(attempt, LATER),
    "submitted": lambda attempt: attempts.submit(attempt, (), assessment(), LATER),
    "abandoned": lambda attempt: attempts.abandon(attempt, LATER),
}


@pytest.mark.parametrize("verb", MOVES)
@pytest.mark.parametrize(
    "closed", [completed(1), attempts.abandon(new_attempt(), LATER)], ids=["completed", "abandoned"]
)
def test_a_closed_attempt_cannot_change(verb: str, closed: Attempt) -> None:
    with pytest.raises(AttemptClosed, match=f"is {closed.status.value}: only an attempt in progress can be {verb}"):
        MOVES[verb](closed)


@given(st.lists(st.sampled_from(sorted(MOVES)), max_size=6))
def test_an_attempt_is_closed_at_most_once(verbs: list[str]) -> None:
    attempt, closings = new_attempt(), 0
    for verb in verbs:
        try:
            attempt = MOVES[verb](attempt)
        except AttemptClosed:
            assert attempt.status is not Status.IN_PROGRESS
        else:
            closings += attempt.status is not Status.IN_PROGRESS
        assert (attempt.scored_key is not None) == (attempt.status is Status.COMPLETED)
    assert closings <= 1


@pytest.mark.parametrize(
    ("silence", "expected"),
    [
        (timedelta(hours=24), True),
        (timedelta(hours=24, milliseconds=-1), False),
        (timedelta(days=30), True),
        (timedelta(0), False),
    ],
)
def test_an_attempt_is_inactive_after_24_hours(silence: timedelta, expected: bool) -> None:
    assert attempts.is_inactive(new_attempt(), NOON + silence) is expected


def test_a_closed_attempt_is_never_inactive() -> None:
    assert not attempts.is_inactive(completed(1), NOON + timedelta(days=365))


def test_a_clock_that_is_behind_moves_no_time_back() -> None:
    earlier = NOON - timedelta(seconds=3)
    assert attempts.save(new_attempt(), (), earlier).touched_at == NOON
    submitted = attempts.submit(new_attempt(), (), assessment(), earlier)
    assert (submitted.timestamp, submitted.duration_seconds) == (NOON, 0)
    graded = attempts.submit(new_attempt(), (), assessment(), LATER, evaluated_at=earlier).evaluation
    assert graded is not None
    assert graded.evaluated_at == LATER


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        ({"q1": TEXTS["q1"]}, "question q2 is not answered"),
        (TEXTS | {"q1": "too short"}, "the answer to q1 has 9 characters; the minimum is 10"),
        (TEXTS | {"q1": "  spaces   "}, "the answer to q1 has 6 characters; the minimum is 10"),
        (TEXTS | {"q1": "a" * 10_001}, "the answer to q1 has 10001 characters; the maximum is 10000"),
        (TEXTS | {"q3": "a" * 20}, "scenario late-ferry has no question 'q3'"),
        (TEXTS | {"q1": "half \ud800 of a pair"}, "the answer to q1 contains a lone surrogate"),
    ],
)
def test_invalid_answers_are_rejected_with_the_reason(texts: dict[str, str], problem: str) -> None:
    with pytest.raises(AnswersRejected) as caught:
        attempts.final_answers(scenario(), texts)
    assert len(caught.value.problems) == 1
    assert problem in caught.value.problems[0]


def test_all_problems_of_the_answers_are_reported_together() -> None:
    with pytest.raises(AnswersRejected) as caught:
        attempts.final_answers(scenario(), {"q1": "short", "q9": "a" * 20})
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize("length", [10, 10_000])
def test_answers_at_the_limits_are_accepted(length: int) -> None:
    answers = attempts.final_answers(scenario(1), {"q1": "a" * length})
    assert len(answers[0].answer) == length


def test_drafts_may_be_short_but_not_beyond_the_limits() -> None:
    assert attempts.draft_answers(scenario(), {"q1": ""})[0].word_count == 0
    with pytest.raises(AnswersRejected, match="the maximum is 10000"):
        attempts.draft_answers(scenario(), {"q1": "a" * 10_001})


def test_answers_are_in_the_order_of_the_questions_with_their_text() -> None:
    answers = attempts.final_answers(scenario(), dict(reversed(TEXTS.items())))
    assert [answer.question_id for answer in answers] == ["q1", "q2"]
    assert answers[0].question_text == scenario().questions[0].text


def test_ten_answers_of_four_byte_characters_are_too_large_for_one_item() -> None:
    ten = scenario(10)
    texts = {question.question_id: "\N{GRINNING FACE}" * 10_000 for question in ten.questions}
    with pytest.raises(AnswersRejected, match="400000 bytes; the maximum is 250000"):
        attempts.final_answers(ten, texts)


def test_the_largest_possible_attempt_fits_into_an_item() -> None:
    face = "\N{GRINNING FACE}"
    ten = scenario(10).model_copy(
        update={
            "questions": tuple(
                question.model_copy(update={"text": face * 1_000}) for question in scenario(10).questions
            )
        }
    )
    answers = attempts.final_answers(ten, {question.question_id: face * 6_250 for question in ten.questions})
    verbose = Assessment(
        dimensions=tuple(
            DimensionScore(name=name, score=4, rationale=tuple(face * 300 for _ in range(5))) for name in DIMENSIONS
        ),
        feedback=face * 2_000,
        model_id="m" * 2_048,
    )
    largest = attempts.submit(attempts.start(attempt_id(1), face * 128, "s" * 64, NOON), answers, verbose, LATER)
    assert len(orjson.dumps(largest.model_dump(mode="json", by_alias=True))) < ITEM_BYTES


@pytest.mark.parametrize(
    ("text", "words"), [("", 0), ("  \n ", 0), ("one", 1), ("one  two\nthree", 3), ("don't split-this", 2)]
)
def test_words_are_separated_by_whitespace(text: str, words: int) -> None:
    assert attempts.word_count(text) == words


def test_a_wrong_word_count_is_rejected() -> None:
    document = completed(1).model_dump(mode="json", by_alias=True)
    document["answers"][0]["wordCount"] = 45
    with pytest.raises(ValidationError, match="wordCount is 45, but the answer has 10 words"):
        Attempt.model_validate(document)


@pytest.mark.parametrize("missing", ["timestamp", "evaluation", "durationSeconds"])
def test_a_completed_attempt_has_every_attribute(missing: str) -> None:
    document = completed(1).model_dump(mode="json", by_alias=True)
    del document[missing]
    with pytest.raises(ValidationError, match="a completed attempt must have"):
        Attempt.model_validate(document)


@pytest.mark.parametrize("status", ["in-progress", "abandoned"])
def test_an_attempt_that_is_not_completed_has_no_score(status: str) -> None:
    document = completed(1).model_dump(mode="json", by_alias=True) | {"status": status}
    with pytest.raises(ValidationError, match=f"{status} must not have a timestamp"):
        Attempt.model_validate(document)


@pytest.mark.parametrize("user_id", ["", "u" * 129])
def test_a_user_id_is_any_text_of_1_to_128_characters(user_id: str) -> None:
    with pytest.raises(ValidationError, match="user_id"):
        attempts.start(attempt_id(1), user_id, "late-ferry", NOON)
    for accepted in ("u" * 128, "test-user-123", str(uuid.uuid4()), "us-east-1:12345678-1234-1234-1234-123456789012"):
        assert attempts.start(attempt_id(1), accepted, "late-ferry", NOON).user_id == accepted


def test_attempt_ids_are_version_4_uuids_determined_by_the_seed() -> None:
    first = attempts.new_attempt_id(random.Random(7))
    assert first == attempts.new_attempt_id(random.Random(7))
    assert uuid.UUID(first).version == 4
    assert attempts.start(first, USER, "late-ferry", NOON).attempt_id == first


@given(st.datetimes(min_value=datetime(2020, 1, 1), max_value=datetime(2030, 1, 1)), st.integers(0, 2**40))
def test_scored_keys_sort_by_time_and_then_by_id(time: datetime, number: int) -> None:
    at = time.replace(tzinfo=NOON.tzinfo)
    keys = [
        completed(number, at=at).scored_key,
        completed(number + 1, at=at).scored_key,
        completed(0, at=at + timedelta(milliseconds=1)).scored_key,
    ]
    assert keys == sorted(keys, key=str)
