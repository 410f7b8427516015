"""Sample data: the questions of `seed`, some answers, and a push subscription. If the data is loaded a second time,
nothing changes.
"""

from __future__ import annotations

import logging
from zoneinfo import ZoneInfo

from keyplan_systems.ask_a_human.devices import Identity
from keyplan_systems.ask_a_human.domain.refusals import AlreadyAnsweredError, QuestionClosedError, RefusedError
from keyplan_systems.ask_a_human.domain.requests import QuestionRequest, SubscribeRequest, fingerprint_hash
from keyplan_systems.ask_a_human.seed import QUESTIONS
from keyplan_systems.ask_a_human.service import Service

_log = logging.getLogger(__name__)
AGENT = "sample-agent"
ANSWERS: tuple[tuple[int, str, dict[str, object]], ...] = (
    (0, "sample-ada", {"selected_option": 2, "confidence": 5, "response_time_ms": 6_000}),
    (0, "sample-ben", {"selected_option": 2, "confidence": 3, "response_time_ms": 9_000}),
    (1, "sample-ada", {"answer": "Whom to let go.", "confidence": 5, "response_time_ms": 41_000}),
    (3, "sample-ada", {"selected_option": 0, "confidence": 4, "response_time_ms": 12_000}),
    (3, "sample-cleo", {"selected_option": 0, "confidence": 5, "response_time_ms": 15_000}),
    (3, "sample-dan", {"selected_option": 2, "response_time_ms": 8_000}),
    (4, "sample-ben", {"selected_option": 1, "confidence": 5, "response_time_ms": 7_000}),
    (6, "sample-dan", {"selected_option": 1, "confidence": 4, "response_time_ms": 11_000}),
    (
        8,
        "sample-cleo",
        {
            "answer": "That it does not know, and who does. Then that it has asked, and when the answer will arrive."
            " A guess costs me a wet walk home.",
            "confidence": 4,
            "response_time_ms": 63_000,
        },
    ),
    (8, "sample-ada", {"answer": '"I am not sure. The label inside says it."', "response_time_ms": 30_000}),
    (11, "sample-eve", {"answer": "It showed the full price on the first page.", "response_time_ms": 22_000}),
    (13, "sample-eve", {"selected_option": 2, "confidence": 3, "response_time_ms": 9_000}),
    (13, "sample-ben", {"selected_option": 2, "confidence": 5, "response_time_ms": 10_000}),
)


def load_sample(service: Service) -> None:
    """Ask questions, answer some of them, and add a push subscription.

    Idempotency keys ensure that the data is created at most once a day. If existing data causes a step to fail, the
    remaining steps are skipped. For example, another release may have loaded different sample data on the previous day.
    """
    try:
        _load(service)
    except RefusedError as refusal:
        _log.warning("the sample data is incomplete: %s", refusal.message)


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
            continue  # already loaded
    subscription = SubscribeRequest(fcm_token="sample-token", min_interval_minutes=60)  # noqa: S106 - not a secret
    service.subscriptions.subscribe(_identity("sample-cleo"), subscription)


def _identity(person: str) -> Identity:
    fingerprint = fingerprint_hash(person)
    return Identity(fingerprint=fingerprint, person=fingerprint)
