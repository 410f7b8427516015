"""Refusals: each code with its HTTP status."""

from __future__ import annotations

from keyplan_systems.ask_a_human.domain.refusals import RefusedError


def test_codes_and_statuses_match_the_documents() -> None:
    assert {kind.code: kind.status for kind in RefusedError.__subclasses__()} == {
        "VALIDATION_ERROR": 400,
        "AGENT_QUOTA_EXCEEDED": 403,
        "ADDRESS_QUOTA_EXCEEDED": 403,
        "QUESTION_NOT_FOUND": 404,
        "SUBSCRIPTION_NOT_FOUND": 404,
        "ALREADY_ANSWERED": 409,
        "AGENT_ID_TAKEN": 409,
        "QUESTION_CLOSED": 410,
        "IDEMPOTENCY_KEY_REUSED": 422,
        "RATE_LIMITED": 429,
    }
