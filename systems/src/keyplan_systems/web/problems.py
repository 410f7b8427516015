"""The one error shape of an application: code, message, details and request id.

    {"error": {"code": "not_found", "message": "...", "details": [...], "request_id": "..."}}

Rules and services raise `Problem`, or errors of their own that a written-out table translates into
problems. Status codes and code names differ between applications, so they stand in a `ProblemStyle`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias, cast

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketState

from keyplan.client.errors import UnreadableItemError
from keyplan_systems.web.encoding import encoded
from keyplan_systems.web.notes import current_notes
from keyplan_systems.web.rate_limits import TooManyRequestsError

logger = logging.getLogger(__name__)

Details: TypeAlias = Mapping[str, object] | Sequence[object] | None

CLOSE_REASON_BYTES: Final = 123  # what RFC 6455 leaves beside the code in a control frame

LOWER_CODES: Mapping[int, str] = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    410: "gone",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    429: "too_many_requests",
    500: "server_error",
    502: "bad_gateway",
    503: "unavailable",
}
UPPER_CODES: Mapping[int, str] = {status: code.upper() for status, code in LOWER_CODES.items()}


class Problem(HTTPException):
    """An answer that is no success, raised from wherever it is known.

    It is an `HTTPException`, so that the framework lets it through where it would wrap other errors.
    Without a code the style's name for the status is used. `headers` go into the answer.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        details: Details = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status_code=status, detail=message, headers=headers)
        self.code = code
        self.message = message
        self.details = details


Translation: TypeAlias = Callable[[Any], Problem]
Handler: TypeAlias = Callable[[HTTPConnection, Exception], Awaitable[Response | None]]


class ErrorContent(BaseModel):
    """What an error answer says; only documentation is made from it."""

    code: str
    message: str
    details: dict[str, Any] | list[Any] | None = None
    request_id: str | None = None


class ErrorAnswer(BaseModel):
    """The shape of every error answer, for the OpenAPI document."""

    error: ErrorContent


@dataclass(frozen=True)
class ProblemStyle:
    """The status codes and names in which one application answers.

    `invalid_status` and `invalid_code` are for input that is readable but breaks a rule, `malformed_status`
    for a body that is no JSON. `codes` names every other status.
    """

    invalid_status: int = 422
    invalid_code: str = "invalid"
    malformed_status: int = 400
    malformed_code: str = "malformed"
    server_code: str = "server_error"
    unreadable_code: str = "unreadable_item"
    codes: Mapping[int, str] = field(default_factory=lambda: LOWER_CODES)

    def code_of(self, status: int) -> str:
        """The name of a status for which the problem itself brings none."""
        return self.codes.get(status, f"http_{status}")


def problem_body(code: str, message: str, details: Details, request_id: str | None) -> dict[str, object]:
    """The body of an error answer, before it becomes JSON; empty details are left out."""
    error: dict[str, object] = {"code": code, "message": message}
    if details:
        error["details"] = details
    if request_id is not None:
        error["request_id"] = request_id
    return {"error": error}


def problem_response(problem: Problem, style: ProblemStyle) -> Response:
    """The answer that a problem becomes."""
    notes = current_notes()
    code = problem.code or style.code_of(problem.status_code)
    body = problem_body(code, problem.message, problem.details, notes.request_id if notes else None)
    return Response(encoded(body), problem.status_code, dict(problem.headers or {}), "application/json")


def server_problem(style: ProblemStyle) -> Problem:
    """What a client learns of an error nobody expected: that it happened, and the id to ask about it."""
    return Problem(500, "The server could not answer this request.", code=style.server_code)


def unreadable_problem(error: UnreadableItemError, style: ProblemStyle) -> Problem:
    """Which item it is: sending the request again does not help, and its owner or an operator can look for it."""
    told = f"What is stored as {error.entity} cannot be read: another program wrote it, or has changed it."
    return Problem(500, told, code=style.unreadable_code, details={"entity": error.entity, "key": error.key})


def too_many_problem(error: TooManyRequestsError) -> Problem:
    """Return problem 429, with the seconds after which the request can succeed."""
    return Problem(429, str(error), headers={"Retry-After": str(error.retry_after_s)})


def validation_details(errors: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Where and why input was refused; never the refused value, which may be private."""
    return [_validation_detail(error) for error in errors]


def _validation_detail(error: Mapping[str, Any]) -> dict[str, str]:
    location = [str(step) for step in error.get("loc", ())]
    return {
        "in": location[0] if location else "body",
        "field": ".".join(location[1:]),
        "message": str(error.get("msg", "")),
        "type": str(error.get("type", "")),
    }


def validation_problem(errors: Sequence[Mapping[str, Any]], style: ProblemStyle) -> Problem:
    """The problem for what pydantic found; a body that is no JSON counts as malformed."""
    details = validation_details(errors)
    if any(error.get("type") == "json_invalid" for error in errors):
        message = "The body is not valid JSON."
        return Problem(style.malformed_status, message, code=style.malformed_code, details=details)
    places = ", ".join(sorted({detail["field"] or detail["in"] for detail in details}))
    return Problem(style.invalid_status, f"Invalid input: {places}.", code=style.invalid_code, details=details)


def install_problems(
    app: FastAPI, style: ProblemStyle, translations: Mapping[type[Exception], Translation] | None = None
) -> None:
    """Give every error of this application the one shape.

    `translations` names the application's own exception classes, subclasses included, and the function that makes a
    `Problem` of each. Unreadable items and rate limits are translated for every application. `RequestMiddleware`
    answers all other exceptions.
    """
    told: dict[type[Exception], Translation] = {
        UnreadableItemError: partial(unreadable_problem, style=style),
        TooManyRequestsError: too_many_problem,
        **(translations or {}),
    }

    async def on_http_error(connection: HTTPConnection, error: Exception) -> Response | None:
        problem = error if isinstance(error, Problem) else framework_problem(cast("HTTPException", error))
        return await _answer(connection, problem, style)

    async def on_invalid(connection: HTTPConnection, error: Exception) -> Response | None:
        found = cast("RequestValidationError | WebSocketRequestValidationError", error).errors()
        return await _answer(connection, validation_problem(found, style), style)

    app.add_exception_handler(HTTPException, cast("Any", on_http_error))
    app.add_exception_handler(RequestValidationError, cast("Any", on_invalid))
    app.add_exception_handler(WebSocketRequestValidationError, cast("Any", on_invalid))
    for kind, translate in told.items():
        app.add_exception_handler(kind, cast("Any", _translated(translate, style)))


def _translated(translate: Translation, style: ProblemStyle) -> Handler:
    async def on_error(connection: HTTPConnection, error: Exception) -> Response | None:
        problem = translate(error)
        if problem.status_code >= 500:
            logger.error("failed request", exc_info=error)
        return await _answer(connection, problem, style)

    return on_error


async def _answer(connection: HTTPConnection, problem: Problem, style: ProblemStyle) -> Response | None:
    """The problem as an answer; a websocket that is already open can only be closed with a reason."""
    if isinstance(connection, WebSocket) and connection.application_state is not WebSocketState.CONNECTING:
        code = 1011 if problem.status_code >= 500 else 1008
        await connection.close(
            code, problem.message.encode(errors="replace")[:CLOSE_REASON_BYTES].decode(errors="ignore")
        )
        return None
    return problem_response(problem, style)


_FRAMEWORK_MESSAGES: Mapping[int, str] = {
    404: "There is nothing at this address.",
    405: "This address does not know the method.",
}


def framework_problem(error: HTTPException) -> Problem:
    """What the framework raised by itself: no such route, wrong method, unreadable form."""
    message = _FRAMEWORK_MESSAGES.get(error.status_code, str(error.detail))
    return Problem(error.status_code, message, headers=error.headers)
