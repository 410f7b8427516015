"""Rules for questions and answers: the states of a question, the effect of an answer, retention times, IDs, and
idempotency keys.

A question without answers is OPEN, a question with some of the required answers is PARTIAL, and a question with all of
them is CLOSED. From the first millisecond of `expires_at_s`, readers see the status EXPIRED, whether or not a sweep has
stored it. The time after which a question can be deleted (`ttl_s`) differs from the deadline, because a closed question
is kept longer.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from keyplan_systems.ask_a_human.domain.refusals import (
    IdempotencyKeyReusedError,
    InvalidRequestError,
    QuestionClosedError,
)
from keyplan_systems.ask_a_human.domain.requests import AnswerRequest, Audience, QuestionRequest, QuestionType
from keyplan_systems.ask_a_human.domain.timestamps import DAY_S, SECOND_MS, ceil_seconds

CLOSED_STAYS_S = 7 * DAY_S
EXPIRED_STAYS_S = DAY_S
RESPONSE_STAYS_S = 30 * DAY_S
KEY_VALID_S = DAY_S


class Status(StrEnum):
    """The status of a question. See the description of this module."""

    OPEN = "OPEN"
    PARTIAL = "PARTIAL"
    CLOSED = "CLOSED"
    EXPIRED = "EXPIRED"

    @property
    def answerable(self) -> bool:
        """Whether a question with this status accepts answers, regardless of its deadline."""
        return self in {Status.OPEN, Status.PARTIAL}


@dataclass(frozen=True, slots=True)
class Question:
    """A question. `status` is the stored status. `status_at` returns the effective status, which is EXPIRED after the
    deadline.
    """

    question_id: str
    agent_id: str
    prompt: str
    type: QuestionType
    options: tuple[str, ...]
    audience: tuple[Audience, ...]
    required_responses: int
    current_responses: int
    status: Status
    created_at_ms: int
    expires_at_s: int
    closed_at_ms: int | None = None
    idempotency_key: str | None = None

    @property
    def category(self) -> Audience:
        """The question's first audience tag. Answers to the question are counted in this category."""
        return self.audience[0]

    @property
    def responses_needed(self) -> int:
        """The number of answers that the question still needs. It is never negative."""
        return max(0, self.required_responses - self.current_responses)

    @property
    def deadline_ms(self) -> int:
        """The first millisecond at which the question no longer accepts answers, in epoch milliseconds."""
        return self.expires_at_s * SECOND_MS


@dataclass(frozen=True, slots=True)
class Response:
    """A user's answer to a question. Exactly one of `answer` and `selected_option` is set."""

    question_id: str
    response_id: str
    fingerprint_hash: str
    answer: str | None
    selected_option: int | None
    confidence: int | None
    response_time_ms: int | None
    created_at_ms: int


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A record that maps an agent's idempotency key to a question."""

    question_id: str
    digest: str
    created_at_ms: int

    def valid_at(self, now_ms: int) -> bool:
        """Return True if the idempotency key is still valid at `now_ms`. A key is valid for 24 hours after the question
        was created.
        """
        return now_ms < self.created_at_ms + KEY_VALID_S * SECOND_MS


def new_question_id(rng: random.Random) -> str:
    """Return a random UUID (version 4) that is generated with `rng`."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def response_id(question_id: str, fingerprint_hash: str) -> str:
    """Return the ID of an answer: the UUIDv5 of the question and the user's fingerprint. A second answer gets the same
    ID, so the table rejects it.
    """
    return str(uuid.uuid5(uuid.UUID(question_id), fingerprint_hash))


def create(request: QuestionRequest, agent: str, question_id: str, key: str | None, now_ms: int) -> Question:
    """Return a new question. `agent` is the agent's ID, and `key` is the idempotency key, or None if the request does
    not contain a key. The deadline is rounded up to a whole second.
    """
    return Question(
        question_id=question_id,
        agent_id=agent,
        prompt=request.prompt,
        type=request.type,
        options=tuple(request.options or ()),
        audience=tuple(request.audience),
        required_responses=request.min_responses,
        current_responses=0,
        status=Status.OPEN,
        created_at_ms=now_ms,
        expires_at_s=ceil_seconds(now_ms) + request.timeout_seconds,
        idempotency_key=key,
    )


def repeated_question_id(record: KeyRecord | None, digest: str, now_ms: int) -> str | None:
    """Return the ID of the question that was created with an idempotency key, or None if the key is unused or expired.
    `record` is the stored record of the key, or None if it does not exist. `digest` is the hash of the request body.

    Raises IdempotencyKeyReusedError if the key was used with a different request body.
    """
    if record is None or not record.valid_at(now_ms):
        return None
    if record.digest != digest:
        details = {"field": "idempotency_key", "question_id": record.question_id}
        raise IdempotencyKeyReusedError("this idempotency key was already used for a different question", details)
    return record.question_id


def status_at(question: Question, now_ms: int) -> Status:
    """Return the effective status of the question at the given time."""
    if question.status.answerable and now_ms >= question.deadline_ms:
        return Status.EXPIRED
    return question.status


def require_answerable(question: Question, now_ms: int) -> None:
    """Raise QuestionClosedError unless the question is answerable at the given time."""
    status = status_at(question, now_ms)
    if not status.answerable:
        word = "closed" if status is Status.CLOSED else "expired"
        raise QuestionClosedError(f"this question is {word} and accepts no more answers", {"status": status.value})


def add_answer(question: Question, now_ms: int) -> Question:
    """Return a copy of the question after one more answer, with an updated answer count, status and closing time.

    The answer that reaches the required number closes the question. Raises QuestionClosedError if the question is not
    answerable. The caller must write the result in the same transaction as the answer, on the condition that the stored
    question has the old value of `current_responses`, an answerable status, and a deadline in the future.
    """
    require_answerable(question, now_ms)
    count = question.current_responses + 1
    if count >= question.required_responses:
        return replace(question, current_responses=count, status=Status.CLOSED, closed_at_ms=now_ms)
    return replace(question, current_responses=count, status=Status.PARTIAL)


def expire(question: Question, now_ms: int) -> Question | None:
    """Return a copy of the question with the status EXPIRED. Return None if the deadline has not passed, or if the
    question is already closed or expired.
    """
    if question.status.answerable and now_ms >= question.deadline_ms:
        return replace(question, status=Status.EXPIRED)
    return None


def need(question: Question) -> str:
    """Return the value of the sort key that orders questions by the percentage of required answers that they have
    received, and then by deadline.
    """
    return f"{100 * question.current_responses // question.required_responses:03d}#{question.expires_at_s:011d}"


def ttl_s(question: Question) -> int:
    """Return the time after which the question can be deleted, in epoch seconds.

    This is 7 days after the question is closed, or 24 hours after it expires.
    """
    if question.closed_at_ms is not None:
        return ceil_seconds(question.closed_at_ms) + CLOSED_STAYS_S
    return question.expires_at_s + EXPIRED_STAYS_S


def is_removable(question: Question, now_ms: int) -> bool:
    """Return True if the question can be deleted. Readers treat such a question as deleted even if it is
    still stored.
    """
    return now_ms >= ttl_s(question) * SECOND_MS


def response_ttl_s(created_at_ms: int) -> int:
    """Return the time after which a response can be deleted, in epoch seconds: 30 days after its creation."""
    return ceil_seconds(created_at_ms) + RESPONSE_STAYS_S


def key_ttl_s(created_at_ms: int) -> int:
    """Return the time after which the record of an idempotency key can be deleted, in epoch seconds.

    The time is rounded up to a whole second, so the key itself can become invalid slightly earlier.
    """
    return ceil_seconds(created_at_ms) + KEY_VALID_S


def create_response(
    question: Question, request: AnswerRequest, person: str, now_ms: int, *, fingerprint: str | None = None
) -> Response:
    """Convert the body of an answer request to a response. Raises InvalidRequestError if the body does not match the
    question.

    `person` is the ID of the user. The ID of the response is derived from `fingerprint`, or from `person` if
    `fingerprint` is None, because a question can be answered only once per fingerprint.
    """
    if question.type is QuestionType.TEXT:
        _check_text(request)
    else:
        _check_choice(question, request)
    return Response(
        question_id=question.question_id,
        response_id=response_id(question.question_id, fingerprint or person),
        fingerprint_hash=person,
        answer=request.answer,
        selected_option=request.selected_option,
        confidence=request.confidence,
        response_time_ms=request.response_time_ms,
        created_at_ms=now_ms,
    )


def same_content(first: Response | AnswerRequest, other: Response | AnswerRequest) -> bool:
    """Return True if two answers have the same content, ignoring their response times."""
    return (first.answer, first.selected_option, first.confidence) == (
        other.answer,
        other.selected_option,
        other.confidence,
    )


def _check_text(request: AnswerRequest) -> None:
    if request.answer is None:
        raise _invalid_request("answer", "required", "answer is required for a text question")
    if request.selected_option is not None:
        raise _invalid_request("selected_option", "unexpected", "a text question has no options to select")


def _check_choice(question: Question, request: AnswerRequest) -> None:
    last = len(question.options) - 1
    if request.selected_option is None:
        raise _invalid_request(
            "selected_option", "required", "selected_option is required for a multiple choice question"
        )
    if request.selected_option > last:
        raise _invalid_request("selected_option", "range", f"selected_option must be 0 to {last}")
    if request.answer is not None:
        raise _invalid_request("answer", "unexpected", "a multiple choice question does not accept text")


def _invalid_request(field: str, constraint: str, problem: str) -> InvalidRequestError:
    return InvalidRequestError(problem, {"field": field, "constraint": constraint})


def tally(question: Question, responses: Iterable[Response]) -> dict[str, int]:
    """Return the number of votes for each option, in the order of the question's options. An option without votes has
    the value 0.
    """
    counts = dict.fromkeys(question.options, 0)
    for response in responses:
        if response.selected_option is not None:
            counts[question.options[response.selected_option]] += 1
    return counts
