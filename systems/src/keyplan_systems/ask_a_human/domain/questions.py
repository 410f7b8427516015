"""Questions and answers: states, what an answer does, how long records stay, ids, and what a key repeats.

A question is OPEN without an answer, PARTIAL with one, CLOSED with as many as it needs. EXPIRED is what any reader sees
from the first millisecond of `expires_at_s` on, whether or not a sweep has stored it yet. The deadline and the moment a
record may be removed (`ttl_s`) are two attributes: a closed question outlives its deadline.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from keyplan_systems.ask_a_human.domain.moments import DAY_S, SECOND_MS, ceil_seconds
from keyplan_systems.ask_a_human.domain.refusals import (
    IdempotencyKeyReusedError,
    InvalidRequestError,
    QuestionClosedError,
)
from keyplan_systems.ask_a_human.domain.requests import AnswerRequest, Audience, QuestionRequest, QuestionType

CLOSED_STAYS_S = 7 * DAY_S
EXPIRED_STAYS_S = DAY_S
RESPONSE_STAYS_S = 30 * DAY_S
KEY_VALID_S = DAY_S


class Status(StrEnum):
    """Where a question is in its life."""

    OPEN = "OPEN"
    PARTIAL = "PARTIAL"
    CLOSED = "CLOSED"
    EXPIRED = "EXPIRED"

    @property
    def answerable(self) -> bool:
        """Whether answers are still taken, as far as the status alone can say."""
        return self in {Status.OPEN, Status.PARTIAL}


@dataclass(frozen=True, slots=True)
class Question:
    """One question as stored; `status` is the stored one, `status_at` what a reader is told."""

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
        """The first audience tag: what an answer counts for."""
        return self.audience[0]

    @property
    def responses_needed(self) -> int:
        """Answers still missing, never below 0."""
        return max(0, self.required_responses - self.current_responses)

    @property
    def deadline_ms(self) -> int:
        """The first millisecond at which the question takes no more answers."""
        return self.expires_at_s * SECOND_MS


@dataclass(frozen=True, slots=True)
class Response:
    """One person's answer as stored; exactly one of `answer` and `selected_option` is there."""

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
    """What an agent's idempotency key stands for, from the creation of its question on."""

    question_id: str
    digest: str
    created_at_ms: int

    def valid_at(self, now_ms: int) -> bool:
        """Whether the key still repeats: for 24 hours, the last millisecond before them included."""
        return now_ms < self.created_at_ms + KEY_VALID_S * SECOND_MS


def new_question_id(chance: random.Random) -> str:
    """A random UUID (version 4)."""
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


def response_id(question_id: str, fingerprint_hash: str) -> str:
    """UUIDv5 of question and fingerprint: a second answer has the same key, so the table itself refuses it."""
    return str(uuid.uuid5(uuid.UUID(question_id), fingerprint_hash))


def create(request: QuestionRequest, agent: str, question_id: str, key: str | None, now_ms: int) -> Question:
    """A new question; its deadline is a whole second and never earlier than asked for."""
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


def repeated(record: KeyRecord | None, digest: str, now_ms: int) -> str | None:
    """The question id a key repeats, None if the key is free; IdempotencyKeyReusedError for another body."""
    if record is None or not record.valid_at(now_ms):
        return None
    if record.digest != digest:
        details = {"field": "idempotency_key", "question_id": record.question_id}
        raise IdempotencyKeyReusedError("this idempotency key already stands for another question", details)
    return record.question_id


def status_at(question: Question, now_ms: int) -> Status:
    """The status a reader is told at this moment."""
    if question.status.answerable and now_ms >= question.deadline_ms:
        return Status.EXPIRED
    return question.status


def require_answerable(question: Question, now_ms: int) -> None:
    """QuestionClosedError unless the question takes an answer at this moment."""
    status = status_at(question, now_ms)
    if not status.answerable:
        word = "closed" if status is Status.CLOSED else "expired"
        raise QuestionClosedError(f"this question is {word} and takes no more answers", {"status": status.value})


def answered(question: Question, now_ms: int) -> Question:
    """The question after one more answer: counter, status and closing time; QuestionClosedError if it takes none.

    To be written under the condition that `current_responses` is still the old one, the stored status answerable and
    the deadline ahead, in one transaction with the response: the answer that reaches the target closes.
    """
    require_answerable(question, now_ms)
    count = question.current_responses + 1
    if count >= question.required_responses:
        return replace(question, current_responses=count, status=Status.CLOSED, closed_at_ms=now_ms)
    return replace(question, current_responses=count, status=Status.PARTIAL)


def expired(question: Question, now_ms: int) -> Question | None:
    """The question with EXPIRED stored, for the sweep; None if there is nothing to store."""
    if question.status.answerable and now_ms >= question.deadline_ms:
        return replace(question, status=Status.EXPIRED)
    return None


def ttl_s(question: Question) -> int:
    """When the question may be removed, epoch seconds: 7 days after closing, else 24 hours after its deadline."""
    if question.closed_at_ms is not None:
        return ceil_seconds(question.closed_at_ms) + CLOSED_STAYS_S
    return question.expires_at_s + EXPIRED_STAYS_S


def removable(question: Question, now_ms: int) -> bool:
    """Whether the record is past its time: a reader treats it as gone even if it was not removed yet."""
    return now_ms >= ttl_s(question) * SECOND_MS


def response_ttl_s(created_at_ms: int) -> int:
    """When a response may be removed, epoch seconds: 30 days after it was given."""
    return ceil_seconds(created_at_ms) + RESPONSE_STAYS_S


def key_ttl_s(created_at_ms: int) -> int:
    """When a key record may be removed, epoch seconds; that it repeats nothing by then is `valid_at`'s business."""
    return ceil_seconds(created_at_ms) + KEY_VALID_S


def respond(
    question: Question, request: AnswerRequest, person: str, now_ms: int, *, fingerprint: str | None = None
) -> Response:
    """Return the response that a valid request makes. Raises InvalidRequestError if it does not fit the question.

    `fingerprint` can answer the question once; without it, the person.
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


def same_content(one: Response | AnswerRequest, other: Response | AnswerRequest) -> bool:
    """Return whether two answers say the same, however long each took."""
    return (one.answer, one.selected_option, one.confidence) == (other.answer, other.selected_option, other.confidence)


def _check_text(request: AnswerRequest) -> None:
    if request.answer is None:
        raise _misfit("answer", "required", "answer is required for a text question")
    if request.selected_option is not None:
        raise _misfit("selected_option", "unexpected", "a text question has no options to select")


def _check_choice(question: Question, request: AnswerRequest) -> None:
    last = len(question.options) - 1
    if request.selected_option is None:
        raise _misfit("selected_option", "required", "selected_option is required for a multiple choice question")
    if request.selected_option > last:
        raise _misfit("selected_option", "range", f"selected_option must be 0 to {last}")
    if request.answer is not None:
        raise _misfit("answer", "unexpected", "a multiple choice question takes no text")


def _misfit(field: str, constraint: str, problem: str) -> InvalidRequestError:
    return InvalidRequestError(problem, {"field": field, "constraint": constraint})


def tally(question: Question, responses: Iterable[Response]) -> dict[str, int]:
    """How often each option was chosen, by its text, in the question's order; options nobody chose count 0."""
    counts = dict.fromkeys(question.options, 0)
    for response in responses:
        if response.selected_option is not None:
            counts[question.options[response.selected_option]] += 1
    return counts
