"""Errors of an agent's client: one tree of exceptions.

AskError
├── ApiError                    the server refused; has code, status, details and retry_after_s
│   ├── ValidationFailedError   VALIDATION_ERROR, 400
│   ├── NotAuthenticatedError   UNAUTHORIZED, 401
│   ├── AgentQuotaError         AGENT_QUOTA_EXCEEDED, 403
│   ├── QuestionNotFoundError   QUESTION_NOT_FOUND, 404
│   ├── AgentIdTakenError       AGENT_ID_TAKEN, 409
│   ├── KeyReusedError          IDEMPOTENCY_KEY_REUSED, 422
│   ├── RateLimitedError        RATE_LIMITED, 429
│   └── ServerFailedError       SERVER_ERROR, and any other answer of 500 and above
├── UnreachableError            no response, even after the retries
└── UnexpectedAnswerError       a response that does not follow this interface
"""

from __future__ import annotations

from collections.abc import Mapping

from keyplan_systems.ask_a_human.wire import ErrorBody


class AskError(Exception):
    """Base class of the client's errors."""


class ApiError(AskError):
    """Error response with the server's message; `retry_after_s` is the pause that it requests, or None."""

    def __init__(self, body: ErrorBody, status: int, retry_after_s: float | None) -> None:
        super().__init__(f"{body.code} ({status}): {body.message}")
        self.code = body.code
        self.message = body.message
        self.details: Mapping[str, object] = body.details or {}
        self.status = status
        self.retry_after_s = retry_after_s


class ValidationFailedError(ApiError):
    """Request with values outside the ranges; `details` names the field."""


class NotAuthenticatedError(ApiError):
    """Missing or wrong secret."""


class AgentIdTakenError(ApiError):
    """Agent ID that is registered or in use."""


class AgentQuotaError(ApiError):
    """Agent with the maximum number of open questions."""


class QuestionNotFoundError(ApiError):
    """Unknown or removed question."""


class KeyReusedError(ApiError):
    """Idempotency key that belongs to another question."""


class RateLimitedError(ApiError):
    """Too many requests, with a requested pause longer than the client may wait."""


class ServerFailedError(ApiError):
    """Failure of the server, also after the retries."""


class UnreachableError(AskError):
    """Failed connection or missing response, also after the retries."""


class UnexpectedAnswerError(AskError):
    """Unreadable response: a wrong address, or a proxy in between."""


BY_CODE: Mapping[str, type[ApiError]] = {
    "VALIDATION_ERROR": ValidationFailedError,
    "UNAUTHORIZED": NotAuthenticatedError,
    "AGENT_ID_TAKEN": AgentIdTakenError,
    "AGENT_QUOTA_EXCEEDED": AgentQuotaError,
    "QUESTION_NOT_FOUND": QuestionNotFoundError,
    "IDEMPOTENCY_KEY_REUSED": KeyReusedError,
    "RATE_LIMITED": RateLimitedError,
    "SERVER_ERROR": ServerFailedError,
}


def api_error(body: ErrorBody, status: int, retry_after_s: float | None) -> ApiError:
    """Return the exception for a refusal, by its code; unknown codes become ApiError itself."""
    kind = BY_CODE.get(body.code, ServerFailedError if status >= 500 else ApiError)
    return kind(body, status, retry_after_s)
