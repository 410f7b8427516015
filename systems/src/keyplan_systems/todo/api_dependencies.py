"""Common parts of the API routes: authentication, idempotency keys, and conversion of results and errors to HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeAlias

import orjson
from fastapi import Depends, Header, Query, Response
from fastapi import Request as HttpRequest
from pydantic import TypeAdapter, ValidationError

from keyplan.client.errors import CursorError, KeyValueError, ThrottledError, UnavailableError, WriteConflictError
from keyplan_systems.todo.bodies import task_body
from keyplan_systems.todo.domain import fingerprint
from keyplan_systems.todo.entities import Task, UserId
from keyplan_systems.todo.idempotency import Answer, Request
from keyplan_systems.todo.refusals import ConflictError, InvalidError, KeyReusedError, MissingError
from keyplan_systems.todo.service_users import Person
from keyplan_systems.web.authentication import Caller, unauthorized
from keyplan_systems.web.problems import Problem, Translation
from keyplan_systems.web.request_context import add_log_field, with_unreadable
from keyplan_systems.web.tokens import Principal

PREFIX = "/api/v1"
_USER_ID: TypeAdapter[str] = TypeAdapter(UserId)


def person_of(caller: Caller) -> Person:
    """Return the user that the caller's token identifies.

    The user's name is the first of these claims that the token contains: `name`, `preferred_username`, `username` and
    `email`. Raises `Problem` with status 401 if the token's subject is not a valid user ID.
    """
    try:
        user_id = _USER_ID.validate_python(caller.subject)
    except ValidationError:
        raise unauthorized("The subject of the token cannot be a user of this application.") from None
    email = _text(caller, "email")
    name = _text(caller, "name") or _text(caller, "preferred_username", "username") or email
    return Person(user_id, email, name, email_is_verified=caller.verified_email is not None)


def _text(caller: Principal, *names: str) -> str | None:
    values = (caller.claims.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and value), None)


CurrentPerson: TypeAlias = Annotated[Person, Depends(person_of)]
Key: TypeAlias = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=128,
        pattern=r"^[!-~]+$",
        description="Send the same key with every attempt of a request: it takes effect once within 24 hours.",
        examples=["3f1c0e52-7f5d-4c56-9a43-0d3c7b0a9f11"],
    ),
]
SeenVersion: TypeAlias = Annotated[
    str | None,
    Header(
        alias="If-Match",
        pattern=r'^"?[0-9]{1,18}"?$',
        description="Change the item only if it has this version.",
    ),
]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=100, description="Maximum number of results per page.")]
Text: TypeAlias = Annotated[
    str, Query(alias="q", min_length=1, max_length=200, description="Text to find. The search is case-sensitive.")
]
Cursor: TypeAlias = Annotated[
    str | None, Query(max_length=4000, description="Cursor from the previous page of the same list.")
]


def request_of(
    http: HttpRequest, person: Person, key: str, body: Any = None, seen_version: str | None = None
) -> Request:
    """Return the service's `Request` for an HTTP request.

    It contains the idempotency key and a fingerprint of the method, path, body and expected version. The fingerprint
    shows whether the key is reused for a different request.
    """
    return Request(person.user_id, key, fingerprint(http.method, http.url.path, [body, seen_version]))


def version_of(seen_version: str | None) -> int | None:
    """Return the version number in an If-Match header, or None if the header is missing."""
    return None if seen_version is None else int(seen_version.strip('"'))


def answer_response(answer: Answer) -> Response:
    """Return the HTTP response for an `Answer` object from the service. The response to a repeated request has the same
    bytes as the first response.
    """
    add_log_field("replayed", answer.replayed)
    headers = {"Idempotency-Replayed": "true"} if answer.replayed else None
    media = "application/json" if answer.body else None
    return Response(answer.body, answer.status, headers, media)


def json_response(body: object) -> Response:
    """Return an HTTP response whose body is `body` as JSON."""
    return Response(orjson.dumps(body), 200, {"Cache-Control": "no-store"}, "application/json")


def page_response(tasks: tuple[Task, ...], cursor: str | None) -> Response:
    """Return the HTTP response that contains a page of tasks and the cursor of the next page, which is null on the last
    page.
    """
    return json_response(with_unreadable({"tasks": [task_body(task) for task in tasks], "cursor": cursor}))


def _refusal(status: int, code: str | None = None) -> Callable[[Any], Problem]:
    return lambda error: Problem(status, str(error), code=code)


def _busy(_error: Exception) -> Problem:
    return Problem(
        503, "The tables cannot be reached or are busy; send the request again.", headers={"Retry-After": "1"}
    )


TRANSLATIONS: Mapping[type[Exception], Translation] = {
    MissingError: _refusal(404),
    ConflictError: _refusal(409),
    InvalidError: _refusal(422),
    KeyReusedError: _refusal(422, "idempotency_key_reused"),
    CursorError: lambda _error: Problem(422, "The cursor does not belong to this list.", code="invalid_cursor"),
    KeyValueError: lambda _error: Problem(422, "A value cannot be part of a key."),
    ThrottledError: _busy,
    WriteConflictError: _busy,
    UnavailableError: _busy,
}
"""Functions that convert an exception to an error response, by exception type."""
