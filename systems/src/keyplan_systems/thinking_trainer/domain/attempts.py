"""Attempts at scenarios, and their transitions from in progress to completed or abandoned.

                 save, resume
                   ┌─────┐
                   │     ▼
    start ──▶ in-progress ──submit──▶ completed
                   │
                   └──abandon, or 24 h without activity──▶ abandoned

Completed and abandoned are final. Only a completed attempt has a `timestamp` (the submission time), an evaluation and a
duration, so an index by `timestamp` contains only completed attempts. They are sorted by `scored_key`.
"""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from .errors import AnswersRejected, AttemptClosed
from .records import SCHEMA_VERSION, Instant, Record, instant, iso
from .rubric import Assessment, Evaluation, evaluation_of
from .scenarios import MAX_QUESTIONS, Scenario, Slug

MIN_ANSWER_CHARACTERS = 10
MAX_ANSWER_CHARACTERS = 10_000
MAX_ANSWERS_BYTES = 250_000
"""Maximum total size of the answers of an attempt, in bytes of UTF-8.

Without this limit, ten answers of 10,000 four-byte characters each could take up 400,000 bytes. Together with the
questions and the evaluation, they would exceed the maximum item size of 409,600 bytes.
"""

INACTIVITY_LIMIT = timedelta(hours=24)
"""Time without changes after which an attempt in progress is abandoned."""

MAX_GRADING_TIME = timedelta(hours=1)
"""Upper bound on the duration of grading. Three requests to a slow model, with pauses between them, take
only minutes.
"""


class Status(StrEnum):
    """The state of an attempt."""

    IN_PROGRESS = "in-progress"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


UserId = Annotated[str, StringConstraints(min_length=1, max_length=128)]
"""Opaque user ID, in any format."""

_UUID = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
AttemptId = Annotated[str, StringConstraints(pattern=_UUID)]


def word_count(text: str) -> int:
    """Return the number of words separated by white space."""
    return len(text.split())


class Answer(Record):
    """An answer with a copy of its question. Because of the copy, later changes to the scenario do not affect the
    attempt.
    """

    question_id: Slug
    question_text: str = Field(min_length=10, max_length=1_000)
    answer: str = Field(max_length=MAX_ANSWER_CHARACTERS)
    word_count: int

    @model_validator(mode="after")
    def _check_word_count(self) -> Self:
        if self.word_count != word_count(self.answer):
            raise ValueError(f"wordCount is {self.word_count}, but the answer has {word_count(self.answer)} words")
        return self


class Attempt(Record):
    """A user's attempt at a scenario."""

    attempt_id: AttemptId
    user_id: UserId
    scenario_id: Slug
    status: Status
    started_at: Instant
    touched_at: Instant
    answers: tuple[Answer, ...] = Field(default=(), max_length=MAX_QUESTIONS)
    timestamp: Instant | None = None
    evaluation: Evaluation | None = None
    duration_seconds: int | None = Field(default=None, ge=0)
    schema_version: Literal["1.0"] = SCHEMA_VERSION

    @model_validator(mode="after")
    def _check_completion(self) -> Self:
        completion_values = (self.timestamp, self.evaluation, self.duration_seconds)
        present = [value is not None for value in completion_values]
        if self.status is Status.COMPLETED and not all(present):
            raise ValueError("a completed attempt must have a timestamp, an evaluation and a duration")
        if self.status is not Status.COMPLETED and any(present):
            raise ValueError(
                f"an attempt that is {self.status.value} must not have a timestamp, evaluation or duration"
            )
        return self

    @property
    def scored_key(self) -> str | None:
        """The string `timestamp#attemptId` of a completed attempt, or None for any other attempt. The strings sort by
        time, and then by ID.
        """
        return None if self.timestamp is None else f"{iso(self.timestamp)}#{self.attempt_id}"


def is_attempt_id(text: str) -> bool:
    """Return True if the text has the format of an attempt ID."""
    return re.fullmatch(_UUID, text) is not None


def new_attempt_id(generator: random.Random) -> str:
    """Return a version 4 UUID that is generated with the random generator `generator`."""
    return str(uuid.UUID(int=generator.getrandbits(128), version=4))


def draft_answers(scenario: Scenario, texts: Mapping[str, str]) -> tuple[Answer, ...]:
    """Return the answers to save, in the order of the scenario's questions. Questions can be omitted, and answers can
    be short.

    `texts` contains the answers by question ID. Raises AnswersRejected if answers are invalid. The error lists all
    problems.
    """
    _raise_if_invalid(_problems(scenario, texts))
    return _answers(scenario, texts)


def final_answers(scenario: Scenario, texts: Mapping[str, str]) -> tuple[Answer, ...]:
    """Return the answers to submit, in the order of the scenario's questions. Every question must have an answer of at
    least ten characters.

    `texts` contains the answers by question ID. Raises AnswersRejected if answers are invalid. The error lists all
    problems.
    """
    problems = _problems(scenario, texts)
    for question in scenario.questions:
        length = len(texts.get(question.question_id, "").strip())
        if question.question_id not in texts:
            problems.append(f"question {question.question_id} is not answered")
        elif length < MIN_ANSWER_CHARACTERS:
            problems.append(
                f"the answer to {question.question_id} has {length} characters; the minimum is {MIN_ANSWER_CHARACTERS}"
            )
    _raise_if_invalid(problems)
    return _answers(scenario, texts)


def _problems(scenario: Scenario, texts: Mapping[str, str]) -> list[str]:
    """Return the problems that prevent answers from being saved or submitted."""
    question_ids = {question.question_id for question in scenario.questions}
    problems = [
        f"scenario {scenario.scenario_id} has no question {question_id!r}"
        for question_id in texts
        if question_id not in question_ids
    ]
    problems += [
        f"the answer to {question_id} has {len(text)} characters; the maximum is {MAX_ANSWER_CHARACTERS}"
        for question_id, text in texts.items()
        if len(text) > MAX_ANSWER_CHARACTERS
    ]
    # Lone surrogates cannot be stored as UTF-8. They are counted here and rejected below.
    total_bytes = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts.values())
    if total_bytes > MAX_ANSWERS_BYTES:
        problems.append(f"the answers have {total_bytes} bytes; the maximum is {MAX_ANSWERS_BYTES}")
    problems += [
        f"the answer to {question_id} contains a lone surrogate, which is not valid text"
        for question_id, text in texts.items()
        if any("\ud800" <= character <= "\udfff" for character in text)
    ]
    return problems


def _raise_if_invalid(problems: list[str]) -> None:
    if problems:
        raise AnswersRejected(tuple(problems))


def _answers(scenario: Scenario, texts: Mapping[str, str]) -> tuple[Answer, ...]:
    return tuple(
        Answer(
            question_id=question.question_id,
            question_text=question.text,
            answer=texts[question.question_id],
            word_count=word_count(texts[question.question_id]),
        )
        for question in scenario.questions
        if question.question_id in texts
    )


def start(attempt_id: str, user_id: str, scenario_id: str, now: datetime) -> Attempt:
    """Return a new attempt in progress, without answers."""
    return Attempt(
        attempt_id=attempt_id,
        user_id=user_id,
        scenario_id=scenario_id,
        status=Status.IN_PROGRESS,
        started_at=now,
        touched_at=now,
    )


def save(attempt: Attempt, answers: tuple[Answer, ...], now: datetime) -> Attempt:
    """Return a copy of the attempt with `answers` instead of the previous answers. Raises AttemptClosed unless the
    attempt is in progress.
    """
    require_open(attempt, "saved")
    return attempt.model_copy(update={"answers": answers, "touched_at": _later_time(attempt, now)})


def resume(attempt: Attempt, now: datetime) -> Attempt:
    """Return a copy of the attempt with `now` as the time of its last change. Raises AttemptClosed unless the attempt
    is in progress.
    """
    require_open(attempt, "resumed")
    return attempt.model_copy(update={"touched_at": _later_time(attempt, now)})


def submit(
    attempt: Attempt,
    answers: tuple[Answer, ...],
    assessment: Assessment,
    now: datetime,
    evaluated_at: datetime | None = None,
) -> Attempt:
    """Return the completed attempt with its overall score and its duration in whole seconds.

    `answers` is the result of `final_answers`. `now` is the submission time, and `evaluated_at` is the time at which
    the grading ended, which can be minutes later. Raises AttemptClosed unless the attempt is in progress.
    """
    require_open(attempt, "submitted")
    submission_time = _later_time(attempt, now)
    evaluation_time = submission_time if evaluated_at is None else max(instant(evaluated_at), submission_time)
    return Attempt(
        attempt_id=attempt.attempt_id,
        user_id=attempt.user_id,
        scenario_id=attempt.scenario_id,
        status=Status.COMPLETED,
        started_at=attempt.started_at,
        touched_at=submission_time,
        answers=answers,
        timestamp=submission_time,
        evaluation=evaluation_of(assessment, evaluation_time),
        duration_seconds=(submission_time - attempt.started_at) // timedelta(seconds=1),
    )


def abandon(attempt: Attempt, now: datetime) -> Attempt:
    """Return a copy of the attempt with the status `abandoned` and unchanged answers. Raises AttemptClosed unless the
    attempt is in progress.
    """
    require_open(attempt, "abandoned")
    return attempt.model_copy(update={"status": Status.ABANDONED, "touched_at": _later_time(attempt, now)})


def is_inactive(attempt: Attempt, now: datetime) -> bool:
    """Return True if the sweeper should abandon the attempt, because it is in progress and has not changed for 24
    hours.
    """
    return attempt.status is Status.IN_PROGRESS and instant(now) - attempt.touched_at >= INACTIVITY_LIMIT


def would_become_inactive(attempt: Attempt, now: datetime) -> bool:
    """Return True if the attempt could become inactive while it is graded. The sweeper might then abandon it."""
    return is_inactive(attempt, now + MAX_GRADING_TIME)


def require_open(attempt: Attempt, verb: str) -> None:
    """Raise AttemptClosed unless the attempt is in progress. `verb` names the rejected action in the error message."""
    if attempt.status is not Status.IN_PROGRESS:
        raise AttemptClosed(attempt.attempt_id, attempt.status.value, verb)


def _later_time(attempt: Attempt, now: datetime) -> datetime:
    """Return the later of `now` and the time of the attempt's last change. The last change can be later than `now`,
    because the clocks of servers differ.
    """
    return max(instant(now), attempt.touched_at)
