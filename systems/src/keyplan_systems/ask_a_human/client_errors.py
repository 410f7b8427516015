"""The exceptions of the client for agents.

The class hierarchy is:

    AskError
    ├── ApiError                     an error response; has code, status, details and retry_after_s
    │   ├── ValidationFailedError    VALIDATION_ERROR, 400
    │   ├── NotAuthenticatedError    UNAUTHORIZED, 401
    │   ├── AgentQuotaError          AGENT_QUOTA_EXCEEDED, 403
    │   ├── QuestionNotFoundError    QUESTION_NOT_FOUND, 404
    │   ├── AgentIdTakenError        AGENT_ID_TAKEN, 409
    │   ├── KeyReusedError           IDEMPOTENCY_KEY_REUSED, 422
    │   ├── RateLimitedError         RATE_LIMITED, 429
    │   └── ServerFailedError        SERVER_ERROR, and any other status of 500 or higher
    ├── UnreachableError             no response, even after the retries
    └── UnexpectedAnswerError        a response that does not follow the API
"""

from __future__ import annotations

from collections.abc import Mapping

from keyplan_systems.ask_a_human.wire import ErrorBody


class AskError(Exception):
    """Base class of the client's errors."""


class ApiError(AskError):
    """Raised for an error response. `retry_after_s` is the pause in seconds that the server requests, or None if it
    does not request a pause.
    """

    def __init__(self, body: ErrorBody, status: int, retry_after_s: float | None) -> None:
        super().__init__(f"{body.code} ({status}): {body.message}")
        self.code = body.code
        self.message = body.message
        self.details: Mapping[str, object] = body.details or {}
        self.status = status
        self.retry_after_s = retry_after_s


class ValidationFailedError(ApiError):
    """Raised if a value in the request is invalid. `details` contains the name of the field."""


class NotAuthenticatedError(ApiError):
    """Raised for a missing or wrong secret."""


class AgentIdTakenError(ApiError):
    """Raised if the agent ID is already registered."""


class AgentQuotaError(ApiError):
    """Raised if the agent has the maximum number of open questions."""


class QuestionNotFoundError(ApiError):
    """Raised if the question does not exist or was removed."""


class KeyReusedError(ApiError):
    """Raised if the idempotency key was already used for a different question."""


class RateLimitedError(ApiError):
    """Raised if the agent exceeds a rate limit, and either all retries fail or the server requests a longer pause than
    `client_flow.Retries` allows.
    """


class ServerFailedError(ApiError):
    """Raised if the server returns an error with status 500 or higher and all retries fail."""


class UnreachableError(AskError):
    """Raised if the connection fails or a response is not received, and all retries fail."""


class UnexpectedAnswerError(AskError):
    """Raised if a response does not conform to the API, for example because the URL is wrong or a proxy sent the
    response.
    """


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
    """Return the exception for an error response, depending on the error code in `body`. For an unknown code, return an
    ApiError.
    """
    kind = BY_CODE.get(body.code, ServerFailedError if status >= 500 else ApiError)
    return kind(body, status, retry_after_s)
