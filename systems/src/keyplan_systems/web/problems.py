"""The common format of error responses, which contain a code, a message, details and the request ID.

{"error": {"code": "not_found", "message": "...", "details": [...], "request_id": "..."}}

Application code raises `Problem`, or its own exceptions, which are converted to `Problem`. `ProblemStyle` contains the
status codes and error codes, which differ between applications.
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
from keyplan_systems.web.encoding import encode_json
from keyplan_systems.web.rate_limits import TooManyRequestsError
from keyplan_systems.web.request_context import current_context

logger = logging.getLogger(__name__)

Details: TypeAlias = Mapping[str, object] | Sequence[object] | None

CLOSE_REASON_BYTES: Final = 123  # maximum size of the reason in a close frame (RFC 6455)

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
    """An error response that can be raised as an exception.

    It is an `HTTPException`, so that the framework passes it through unchanged. If `code` is None, the application's
    `ProblemStyle` determines the code from the status. `headers` are added to the response.
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
    """The object `error` in an error response, as declared in the OpenAPI document."""

    code: str
    message: str
    details: dict[str, Any] | list[Any] | None = None
    request_id: str | None = None


class ErrorAnswer(BaseModel):
    """The format of error responses, as declared in the OpenAPI document."""

    error: ErrorContent


ERROR_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    "default": {"model": ErrorAnswer, "description": "Any problem"}
}
"""The error responses that every route declares in the OpenAPI document."""


@dataclass(frozen=True)
class ProblemStyle:
    """The status codes and error codes that an application uses.

    `invalid_status` and `invalid_code` are used for well-formed input that violates a rule. `malformed_status` is used
    for a body that is not JSON. `codes` maps all other statuses to error codes.
    """

    invalid_status: int = 422
    invalid_code: str = "invalid"
    malformed_status: int = 400
    malformed_code: str = "malformed"
    server_code: str = "server_error"
    unreadable_code: str = "unreadable_item"
    codes: Mapping[int, str] = field(default_factory=lambda: LOWER_CODES)

    def code_of(self, status: int) -> str:
        """Return the error code for an HTTP status. It is used for a `Problem` whose code is None."""
        return self.codes.get(status, f"http_{status}")


def problem_body(code: str, message: str, details: Details, request_id: str | None) -> dict[str, object]:
    """Return the body of an error response. Empty details are omitted."""
    error: dict[str, object] = {"code": code, "message": message}
    if details:
        error["details"] = details
    if request_id is not None:
        error["request_id"] = request_id
    return {"error": error}


def problem_response(problem: Problem, style: ProblemStyle) -> Response:
    """Return the HTTP response for a problem. If the problem does not have an error code, `style`
    determines the code.
    """
    context = current_context()
    code = problem.code or style.code_of(problem.status_code)
    body = problem_body(code, problem.message, problem.details, context.request_id if context else None)
    return Response(encode_json(body), problem.status_code, dict(problem.headers or {}), "application/json")


def server_problem(style: ProblemStyle) -> Problem:
    """Return the `Problem` (error response) for an unexpected error. It does not contain any details about
    the error.
    """
    return Problem(500, "The server failed to process this request.", code=style.server_code)


def unreadable_problem(error: UnreadableItemError, style: ProblemStyle) -> Problem:
    """Return the `Problem` (error response) for an unreadable item. Its details contain the item's key, so that an
    operator can find the item.

    Clients should not retry the request, because it would fail again.
    """
    message = f"A stored {error.entity} item cannot be read: another program wrote or changed it."
    return Problem(500, message, code=style.unreadable_code, details={"entity": error.entity, "key": error.key})


def too_many_problem(error: TooManyRequestsError) -> Problem:
    """Return a `Problem` (error response) with status 429 and the number of seconds after which the client can retry
    the request.
    """
    return Problem(429, str(error), headers={"Retry-After": str(error.retry_after_s)})


def validation_details(errors: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the location and the reason of each validation error. Rejected values are omitted, because they can be
    private.
    """
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
    """Return the `Problem` (error response) for pydantic's validation errors. The status is `malformed_status` if the
    request body is not JSON, and `invalid_status` otherwise.
    """
    details = validation_details(errors)
    if any(error.get("type") == "json_invalid" for error in errors):
        message = "The body is not valid JSON."
        return Problem(style.malformed_status, message, code=style.malformed_code, details=details)
    fields = ", ".join(sorted({detail["field"] or detail["in"] for detail in details}))
    return Problem(style.invalid_status, f"Invalid input: {fields}.", code=style.invalid_code, details=details)


def install_problems(
    app: FastAPI, style: ProblemStyle, translations: Mapping[type[Exception], Translation] | None = None
) -> None:
    """Convert all errors of an application to responses in the common error format.

    `translations` maps exception classes of the application to functions that return a `Problem`. A function is also
    used for the subclasses of its exception class. Errors for unreadable items and exceeded rate limits are converted
    in every application. All other exceptions are handled by `RequestMiddleware`.
    """
    handlers: dict[type[Exception], Translation] = {
        UnreadableItemError: partial(unreadable_problem, style=style),
        TooManyRequestsError: too_many_problem,
        **(translations or {}),
    }

    async def on_http_error(connection: HTTPConnection, error: Exception) -> Response | None:
        problem = error if isinstance(error, Problem) else framework_problem(cast("HTTPException", error))
        return await _respond(connection, problem, style)

    async def on_invalid(connection: HTTPConnection, error: Exception) -> Response | None:
        errors = cast("RequestValidationError | WebSocketRequestValidationError", error).errors()
        return await _respond(connection, validation_problem(errors, style), style)

    app.state.problem_style, app.state.translations = style, handlers
    app.add_exception_handler(HTTPException, cast("Any", on_http_error))
    app.add_exception_handler(RequestValidationError, cast("Any", on_invalid))
    app.add_exception_handler(WebSocketRequestValidationError, cast("Any", on_invalid))
    for kind, translate in handlers.items():
        app.add_exception_handler(kind, cast("Any", _error_handler(translate, style)))


def problem_of(app: FastAPI, error: Exception) -> Problem | None:
    """Return the `Problem` to which an application converts an exception, or None if it does not convert this
    exception. See `install_problems`.
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        return framework_problem(error)
    if isinstance(error, RequestValidationError):
        return validation_problem(error.errors(), app.state.problem_style)
    translations: Mapping[type[Exception], Translation] = app.state.translations
    translation = next((kind for kind in type(error).__mro__ if kind in translations), None)
    return None if translation is None else translations[translation](error)


def _error_handler(translate: Translation, style: ProblemStyle) -> Handler:
    async def on_error(connection: HTTPConnection, error: Exception) -> Response | None:
        problem = translate(error)
        if problem.status_code >= 500:
            logger.error("failed request", exc_info=error)
        return await _respond(connection, problem, style)

    return on_error


async def _respond(connection: HTTPConnection, problem: Problem, style: ProblemStyle) -> Response | None:
    """Return the HTTP response for the problem.

    For an open WebSocket connection, close the connection with the problem's message as the reason, and return None.
    """
    if isinstance(connection, WebSocket) and connection.application_state is not WebSocketState.CONNECTING:
        code = 1011 if problem.status_code >= 500 else 1008
        await connection.close(
            code, problem.message.encode(errors="replace")[:CLOSE_REASON_BYTES].decode(errors="ignore")
        )
        return None
    return problem_response(problem, style)


_FRAMEWORK_MESSAGES: Mapping[int, str] = {
    404: "No resource exists at this address.",
    405: "This address does not support the method.",
}


def framework_problem(error: HTTPException) -> Problem:
    """Return the `Problem` (error response) for an error of the web framework, such as an unknown route, a wrong method
    or an unreadable form.
    """
    message = _FRAMEWORK_MESSAGES.get(error.status_code, str(error.detail))
    return Problem(error.status_code, message, headers=error.headers)
