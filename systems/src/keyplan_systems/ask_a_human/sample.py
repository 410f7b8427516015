"""Sample data: three questions, some answers, a subscriber. Loading it again changes nothing."""

from __future__ import annotations

import logging
from zoneinfo import ZoneInfo

from keyplan_systems.ask_a_human.devices import Identity
from keyplan_systems.ask_a_human.domain.refusals import AlreadyAnsweredError, QuestionClosedError, RefusedError
from keyplan_systems.ask_a_human.domain.requests import QuestionRequest, SubscribeRequest, fingerprint_hash
from keyplan_systems.ask_a_human.service import Service

_log = logging.getLogger(__name__)
AGENT = "sample-agent"
QUESTIONS: tuple[dict[str, object], ...] = (
    {
        "prompt": "Which label is clearer for the last step of an order?",
        "type": "multiple_choice",
        "options": ["Send", "Submit", "Place order"],
        "audience": ["product"],
        "min_responses": 2,
    },
    {"prompt": "What would you want an assistant never to decide by itself?", "type": "text", "audience": ["ethics"]},
    {"prompt": "Name an error message that really helped you.", "type": "text", "audience": ["technical"]},
)
ANSWERS: tuple[tuple[int, str, dict[str, object]], ...] = (
    (0, "sample-ada", {"selected_option": 2, "confidence": 5, "response_time_ms": 6_000}),
    (0, "sample-ben", {"selected_option": 2, "confidence": 3, "response_time_ms": 9_000}),
    (1, "sample-ada", {"answer": "Whom to let go.", "confidence": 5, "response_time_ms": 41_000}),
)


def load_sample(service: Service) -> None:
    """Ask, answer and subscribe, with keys that limit it to once a day.

    Existing data, such as yesterday's sample of another release, may make a part of it fail; the rest is skipped.
    """
    try:
        _load(service)
    except RefusedError as refusal:
        _log.warning("the sample is incomplete: %s", refusal.message)


def _load(service: Service) -> None:
    question_ids = []
    for number, body in enumerate(QUESTIONS):
        request = QuestionRequest.model_validate({**body, "timeout_seconds": 86_400})
        question_ids.append(service.questions.ask(AGENT, request, f"sample-{number}").question)
    for number, person, body in ANSWERS:
        content = {**body, "question_id": question_ids[number].question_id}
        try:
            service.answers.answer(_identity(person), ZoneInfo("UTC"), content)
        except (AlreadyAnsweredError, QuestionClosedError):
            continue  # loaded before
    wish = SubscribeRequest(fcm_token="sample-token", min_interval_minutes=60)  # noqa: S106 - no secret
    service.subscriptions.subscribe(_identity("sample-cleo"), wish)


def _identity(person: str) -> Identity:
    hashed = fingerprint_hash(person)
    return Identity(fingerprint=hashed, person=hashed)
