"""The exceptions for rejected requests, with error code, HTTP status and details.

The class hierarchy is:

    RefusedError
    ├── InvalidRequestError          VALIDATION_ERROR           400
    ├── AgentQuotaError              AGENT_QUOTA_EXCEEDED       403
    ├── AddressQuotaError            ADDRESS_QUOTA_EXCEEDED     403
    ├── QuestionNotFoundError        QUESTION_NOT_FOUND         404
    ├── SubscriptionNotFoundError    SUBSCRIPTION_NOT_FOUND     404
    ├── AlreadyAnsweredError         ALREADY_ANSWERED           409
    ├── AgentIdTakenError            AGENT_ID_TAKEN             409
    ├── QuestionClosedError          QUESTION_CLOSED            410
    ├── IdempotencyKeyReusedError    IDEMPOTENCY_KEY_REUSED     422
    └── RateLimitedError             RATE_LIMITED               429
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class RefusedError(Exception):
    """Base class of the exceptions for rejected requests."""

    code: ClassVar[str]
    status: ClassVar[int]

    def __init__(self, message: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = dict(details) if details is not None else None


class InvalidRequestError(RefusedError):
    """Raised if a value in a request is invalid."""

    code = "VALIDATION_ERROR"
    status = 400


class AgentQuotaError(RefusedError):
    """Raised if the agent has the maximum number of open questions."""

    code = "AGENT_QUOTA_EXCEEDED"
    status = 403


class AddressQuotaError(RefusedError):
    """Raised if the maximum number of answers to a question from one network address is reached."""

    code = "ADDRESS_QUOTA_EXCEEDED"
    status = 403


class QuestionNotFoundError(RefusedError):
    """Raised if a question does not exist or was removed."""

    code = "QUESTION_NOT_FOUND"
    status = 404


class SubscriptionNotFoundError(RefusedError):
    """Raised if a push subscription does not exist or belongs to another device."""

    code = "SUBSCRIPTION_NOT_FOUND"
    status = 404


class AlreadyAnsweredError(RefusedError):
    """Raised if the question has already been answered with the same fingerprint."""

    code = "ALREADY_ANSWERED"
    status = 409


class AgentIdTakenError(RefusedError):
    """Raised if an agent ID is already in use."""

    code = "AGENT_ID_TAKEN"
    status = 409


class QuestionClosedError(RefusedError):
    """Raised if a question is closed or past its deadline."""

    code = "QUESTION_CLOSED"
    status = 410


class IdempotencyKeyReusedError(RefusedError):
    """Raised if an idempotency key was already used with a different request body."""

    code = "IDEMPOTENCY_KEY_REUSED"
    status = 422


class RateLimitedError(RefusedError):
    """Raised if a caller exceeds a rate limit. `retry_after_s` is the number of seconds until the next window."""

    code = "RATE_LIMITED"
    status = 429

    def __init__(self, message: str, details: Mapping[str, object], retry_after_s: int) -> None:
        super().__init__(message, details)
        self.retry_after_s = retry_after_s
