"""What can go wrong for an agent's client: one tree of exceptions.

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
├── UnreachableError            no answer came, not even after the retries
└── UnexpectedAnswerError       an answer that is not of this interface
"""

from __future__ import annotations

from collections.abc import Mapping

from keyplan_systems.ask_a_human.wire import ErrorBody


class AskError(Exception):
    """Anything the client raises."""


class ApiError(AskError):
    """A refusal of the server, in its own words; `retry_after_s` is the pause it asks for, None if it names none."""

    def __init__(self, body: ErrorBody, status: int, retry_after_s: float | None) -> None:
        super().__init__(f"{body.code} ({status}): {body.message}")
        self.code = body.code
        self.message = body.message
        self.details: Mapping[str, object] = body.details or {}
        self.status = status
        self.retry_after_s = retry_after_s


class ValidationFailedError(ApiError):
    """The request's content is outside the ranges; `details` names the field."""


class NotAuthenticatedError(ApiError):
    """No secret, or not that of the agent."""


class AgentIdTakenError(ApiError):
    """The agent id is registered or in use."""


class AgentQuotaError(ApiError):
    """The agent has as many open questions as it may."""


class QuestionNotFoundError(ApiError):
    """No such question, or one already removed."""


class KeyReusedError(ApiError):
    """The idempotency key stands for another question already."""


class RateLimitedError(ApiError):
    """Too many requests, and the pause asked for is longer than the client may wait."""


class ServerFailedError(ApiError):
    """The server failed, again after each retry."""


class UnreachableError(AskError):
    """No connection, or no answer on it, again after each retry."""


class UnexpectedAnswerError(AskError):
    """An answer that cannot be read: a wrong address, or a proxy in between."""


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
    """The exception for a refusal, by its code; codes not known yet become ApiError itself."""
    kind = BY_CODE.get(body.code, ServerFailedError if status >= 500 else ApiError)
    return kind(body, status, retry_after_s)
