"""Refusals: each code with its HTTP status, in the one shape of all errors."""

from __future__ import annotations

import pytest

from keyplan_systems.ask_a_human.domain import refusals
from keyplan_systems.ask_a_human.domain.refusals import RateLimitedError, RefusedError


def test_codes_and_statuses_are_those_of_the_documents() -> None:
    assert {kind.code: kind.status for kind in RefusedError.__subclasses__()} == {
        "VALIDATION_ERROR": 400,
        "AGENT_QUOTA_EXCEEDED": 403,
        "QUESTION_NOT_FOUND": 404,
        "SUBSCRIPTION_NOT_FOUND": 404,
        "ALREADY_ANSWERED": 409,
        "QUESTION_CLOSED": 410,
        "IDEMPOTENCY_KEY_REUSED": 422,
        "RATE_LIMITED": 429,
    }


@pytest.mark.parametrize(
    ("refusal", "body"),
    [
        (refusals.AlreadyAnsweredError("once only"), {"code": "ALREADY_ANSWERED", "message": "once only"}),
        (
            RateLimitedError("slow down", {"limit": 30}, 12),
            {"code": "RATE_LIMITED", "message": "slow down", "details": {"limit": 30}},
        ),
    ],
)
def test_a_refusal_has_one_shape_and_details_only_if_there_are_any(
    refusal: RefusedError, body: dict[str, object]
) -> None:
    assert refusal.body() == {"error": body}
    assert str(refusal) == body["message"]
