"""Routes, templates, forms and error pages that all groups of pages of the console share."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from keyplan.client.errors import NoAnswerError
from keyplan.console.load.state import RecordedLoad
from keyplan.console.source import Source, receipts_of_page, record_calls
from keyplan.errors import KeyplanError, ServiceError, UnknownOperationError
from keyplan.pages import Link, Pages, Viewer

if TYPE_CHECKING:
    from keyplan.console.access import Access
    from keyplan.console.watching import WatchedDesign
    from keyplan.design.declaring.design import Design

PATH: Final = "/console"
FORM_BYTES: Final = 16 * 1024 * 1024
"""The maximum size of a form in bytes. An item of 400 KB can be much larger as JSON, because of escape sequences."""
_NAV: Final = (
    Link("Home", "", "list", is_exact=True),
    Link("Data", "data/", "table"),
    Link("Design", "design/", "bulb"),
    Link("Load", "load/", "chart"),
)


class PostedForm:
    """The fields of a posted form. The value of a missing field is an empty string."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs
        self._fields = dict(pairs)

    def __getitem__(self, name: str) -> str:
        return self._fields.get(name, "")

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def all(self, name: str) -> list[str]:
        """Return the values of all fields with the given name, in order."""
        return [value for field, value in self._pairs if field == name]

    def items(self) -> list[tuple[str, str]]:
        """Return the names and values of all fields in order."""
        return list(self._pairs)


class Frame:
    """The state and the functions that all pages of the console share."""

    def __init__(
        self,
        source: Source,
        access: Access,
        design: Design | None = None,
        *,
        load: RecordedLoad | None = None,
        designs: Mapping[str, Design] = MappingProxyType({}),
        overview: Callable[[Request], Awaitable[Any]] | None = None,
        depth: int = 0,
        against: Mapping[str, Design] = MappingProxyType({}),
        watched: WatchedDesign | None = None,
    ) -> None:
        """Prepare the pages of the console, or of one of its designs.

        `load` is the recorded load of the database, if it is recorded elsewhere. `designs` contains the designs with
        their own pages, and `against` contains other versions of `design`. `overview` returns the systems for the home
        page. `depth` is the number of path segments between the console's root and these pages. `watched` is the design
        that is loaded again when a file changes.
        """
        self.source, self.access, self.design = source, access, design
        self.designs, self.root_path = designs, "../" * depth
        """The designs with their own pages, by name, and the relative path from these pages to the console's root."""
        self.against = against
        """The other versions of the design with which it can be compared, by name."""
        self.watched = watched
        """The design with the error of its latest change, or None if its files are not watched."""
        self.stop_work: Callable[[], None] = lambda: None
        """A function that stops the background work on the design before another design is shown."""
        self.overview = overview
        """A function that returns the systems for the home page, or None if the home page shows only the source."""
        self.load = load if load is not None else RecordedLoad(source, () if design is None else (design,))
        """The state of the Load pages, which the pages of several designs share."""
        self.pages = Pages(
            "keyplan.console",
            "keyplan",
            nav=_NAV if not depth else (replace(_NAV[0], path=self.root_path), *_NAV[1:]),
            static="static",
            viewer=lambda request: Viewer(csrf=lambda: access.csrf(request)),
        )

    def route(
        self, path: str, endpoint: Callable[[Request], Response], *, methods: tuple[str, ...] = ("GET",)
    ) -> Route:
        """Return a route that calls its endpoint in a separate thread, so that the endpoint can wait for the database.

        A POST request is accepted only if it contains the CSRF token of the session. The endpoint reads the fields with
        `posted_form(request)`.
        """

        async def serve(request: Request) -> Response:
            if request.method == "POST":
                request.state.form = form = await _parse_form(request)
                token = request.headers.get("x-csrf-token") or form["csrf"]
                if not hmac.compare_digest(token.encode(), self.access.csrf(request).encode()):
                    raise HTTPException(403, "The form has expired. Open the page again and repeat the change.")
            with record_calls():
                try:
                    return await run_in_threadpool(endpoint, request)
                except KeyplanError as error:
                    return self.database_error_page(request, error)

        return Route(path, serve, methods=list(methods), name=f"{endpoint.__module__}.{endpoint.__qualname__}")

    def render(
        self,
        request: Request,
        template: str,
        status: int = 200,
        /,
        headers: Mapping[str, str] | None = None,
        **context: Any,
    ) -> Response:
        """Return a page. Its template must extend console.html.j2, and can use `source`, `design` and `receipts`.

        `receipts` contains the duration and consumed capacity of each database call that was made for this page.
        """
        shared = {
            "source": self.source,
            "design": self.design,
            "designs": self.designs,
            "watched": self.watched,
            "receipts": receipts_of_page(),
        }
        return self.pages.render(request, template, status, headers=headers, **{**shared, **context})

    def database_error_page(self, request: Request, error: KeyplanError) -> Response:
        """Return the error page for a failed database call, such as a rejected request or an unreachable endpoint."""
        code = error.code if isinstance(error, ServiceError) else type(error).__name__
        if isinstance(error, NoAnswerError):
            status, title = 502, f"{self.source.name} cannot be reached"
        elif isinstance(error, UnknownOperationError):
            status, title = 501, f"{self.source.name} does not support this"
        elif isinstance(error, ServiceError):
            status, title = (404, "Not found") if "NotFound" in code else (400, "The database rejected the request")
        else:
            status, title = 500, "The database request failed"
        return self.error_page(request, status, title, str(error), code)

    def error_page(self, request: Request, status: int, title: str, message: str, code: str = "") -> Response:
        """Return an error page, or a JSON response if the request was sent by a script that accepts JSON.

        `title` is the heading of the page, `message` explains the error, and `code` is an error code or an empty
        string.
        """
        if "application/json" in request.headers.get("accept", ""):
            return JSONResponse({"error": {"code": code or title, "message": message}}, status)
        return self.render(request, "failed.html.j2", status, code=code, failure=title, message=message, status=status)

    def exception_handlers(self) -> dict[Any, Any]:
        """Return the handlers for exceptions that the routes do not catch."""

        def on_http(request: Request, error: Exception) -> Response:
            status = error.status_code if isinstance(error, HTTPException) else 500
            detail = error.detail if isinstance(error, HTTPException) else ""
            phrase = HTTPStatus(status).phrase
            message = detail if detail != phrase else "This page does not exist."
            return self.error_page(request, status, phrase, message)

        def on_failure(request: Request, error: Exception) -> Response:
            message = f"{type(error).__name__}: {error}. The console's terminal shows the traceback."
            return self.error_page(request, 500, "The console failed", message)

        return {HTTPException: on_http, Exception: on_failure}


def posted_form(request: Request) -> PostedForm:
    """Return the fields of the posted form in a request."""
    form: PostedForm = request.state.form
    return form


def error_text(error: ServiceError) -> str:
    """Return the error code and message of a rejected request as text. If the database cannot be reached, raise
    `error`.
    """
    if isinstance(error, NoAnswerError):
        raise error
    return f"{error.code}: {error.message}" if error.message else error.code


def utc(text: str) -> datetime:
    """Convert a time in ISO 8601 format to a datetime. A time without an offset is in UTC.

    Raises ValueError if the text is invalid.
    """
    time = datetime.fromisoformat(text.strip())
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


async def read_body(request: Request, max_bytes: int, message: str) -> bytes:
    """Return the body of a request.

    Raises HTTPException with status 413 and the text `message` if the body has more than `max_bytes` bytes.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise HTTPException(413, message)
    return bytes(body)


async def _parse_form(request: Request) -> PostedForm:
    """Parse the URL-encoded form in the body of a request.

    Raises HTTPException if the form is too large or is not encoded as UTF-8.
    """
    body = await read_body(request, FORM_BYTES, f"The form is larger than {FORM_BYTES // 1024 // 1024} MiB.")
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise HTTPException(400, "The form is not UTF-8.") from None
    return PostedForm(parse_qsl(text, keep_blank_values=True, max_num_fields=20_000))
