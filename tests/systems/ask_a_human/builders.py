"""Values for tests of the domain: a question, an answer and its facts, each with changes of the test."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from keyplan_systems.ask_a_human.domain.questions import Question, Response, create, create_response
from keyplan_systems.ask_a_human.domain.requests import AnswerRequest, Audience, QuestionRequest, QuestionType
from keyplan_systems.ask_a_human.domain.scoring import AnswerFacts

PERSON = "a" * 64
QUESTION_ID = "6f1b3c1e-7d7e-4a53-9f0e-3f1d4b1c2a55"


def at(text: str) -> int:
    """Return the milliseconds of an ISO text; UTC if it has no offset."""
    time = datetime.fromisoformat(text)
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


NOON = at("2026-02-02T12:00:00")


def question(now_ms: int = NOON, **body: object) -> Question:
    """Return a text question, with changes of the body."""
    full = {"prompt": "Which label is clearer?", "type": "text", **body}
    return create(QuestionRequest.model_validate(full), "agent", QUESTION_ID, None, now_ms)


def choice(**body: Any) -> Question:
    """Return a multiple choice question with three options."""
    full: dict[str, Any] = {"type": "multiple_choice", "options": ["Send", "Submit", "Done"], **body}
    return question(**full)


def response(to: Question, now_ms: int = NOON, person: str = PERSON, **body: object) -> Response:
    """Return an answer to the question."""
    return create_response(to, AnswerRequest.model_validate({"question_id": to.question_id, **body}), person, now_ms)


def text_response(text: str, response_time_ms: int | None = None) -> Response:
    """Return a text answer to its own question."""
    own = replace(question(), question_id=str(uuid.uuid4()))
    return response(own, answer=text, response_time_ms=response_time_ms)


def facts(**changes: object) -> AnswerFacts:
    """Return the facts of a plain text answer late in the life of a question: exactly the 10 base points."""
    plain = AnswerFacts(
        type=QuestionType.TEXT,
        category=Audience.GENERAL,
        text_chars=20,
        confidence=None,
        response_time_ms=None,
        question_created_at_ms=0,
        required_responses=4,
        responses_before=3,
        zone=ZoneInfo("UTC"),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]  # a test names the fields it wants
