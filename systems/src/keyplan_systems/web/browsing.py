"""Support for routes that return web pages. It provides the signed-in user, submitted forms, and error pages.

    router = page_router()

    @router.get("/tasks")
    def tasks(request: Request, person: Person) -> Response: ...

    @router.post("/tasks")
    def add(request: Request, person: Person, form: Form) -> Response: ...

If a page requires sign-in and the user is not signed in, the response is a redirect to /sign-in. If a route raises an
application error, the response is a page with the error's message and status. A script that requests JSON receives the
API's error response instead. `Form` verifies that the request was sent by one of the server's own pages.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Any, Final, TypeAlias
from urllib.parse import quote

from fastapi import APIRouter, Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from keyplan.pages import Link, Pages, Viewer, Wording, root_of
from keyplan_systems.web.application import LazyRoute
from keyplan_systems.web.authentication import admit_principal, unauthorized
from keyplan_systems.web.problems import Problem, problem_of
from keyplan_systems.web.sessions import CSRF_HEADER, Session, session_of
from keyplan_systems.web.tokens import Principal

PREFIX: Final = "/app"
"""Path prefix of a system's pages, relative to the path of the system."""
logger = logging.getLogger(__name__)


class SignInNeededError(Exception):
    """Raised if a page requires sign-in and the user is not signed in."""


class FormFields(dict[str, str]):
    """The fields of a submitted form. Surrounding spaces are removed from their values.

    If a field occurs several times, the mapping contains the last value, and `all` returns all values.
    """

    def __init__(self, data: FormData) -> None:
        texts = [(name, value) for name, value in data.multi_items() if not isinstance(value, UploadFile)]
        super().__init__({name: value.strip() for name, value in texts})
        self._texts = texts

    def all(self, name: str) -> list[str]:
        """Return all values of a field, for example of checkboxes with the same name."""
        return [value for field, value in self._texts if field == name]


def current_session(request: Request) -> Session:
    """Return the browser session of the request. Raises `Problem` with status 401 if the server does not support
    sign-in.
    """
    session = session_of(request)
    if session is None:
        raise unauthorized("This server has no sign-in: run the system with `keyplan up`.")
    return session


def current_person(request: Request) -> Principal:
    """Return the signed-in user.

    Raises SignInNeededError if the user is not signed in. The response is then a redirect to the sign-in page.
    """
    principal = current_session(request).principal
    if principal is None:
        raise SignInNeededError
    return admit_principal(request, principal)


async def checked_form(request: Request) -> FormFields:
    """Return the submitted form. Raises `Problem` with status 403 if it does not contain the session's CSRF token."""
    fields = FormFields(await request.form())
    current_session(request).check_csrf(fields.pop("csrf", None) or request.headers.get(CSRF_HEADER))
    return fields


Person: TypeAlias = Annotated[Principal, Depends(current_person)]
Form: TypeAlias = Annotated[FormFields, Depends(checked_form)]
CurrentSession: TypeAlias = Annotated[Session, Depends(current_session)]
"""Dependency that returns the visitor's session, for pages that do not require sign-in."""


def system_pages(
    package: str,
    title: str,
    nav: Sequence[Link],
    *,
    accent: str,
    scripts: Sequence[str] = (),
    wording: Callable[[Request], Wording] = lambda _request: Wording(),
) -> Pages:
    """Return a `Pages` object that renders the pages of a system. The layout of the pages shows the signed-in user."""
    return Pages(package, title, nav=nav, accent=accent, viewer=viewer_of, scripts=scripts, wording=wording)


def page_router(
    pages: Pages, problem: Callable[[Request, Exception], Problem | None] = lambda _request, _error: None
) -> APIRouter:
    """Return a router for pages below `PREFIX`. If a route raises an error, the response is an HTML page that shows the
    error.

    `problem` converts an exception to a `Problem` with a message for users. If it returns None, the page shows the
    message of the API's error response.
    """

    class PageRoute(LazyRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def handler(request: Request) -> Response:
                try:
                    return await handle(request)
                except SignInNeededError:
                    return _to_sign_in(request)
                except Exception as error:
                    if "text/html" not in request.headers.get("accept", "") and not isinstance(error, HTTPException):
                        raise
                    return _error_page(pages, request, error, problem(request, error))

            return handler

    return APIRouter(prefix=PREFIX, route_class=PageRoute, include_in_schema=False)


def install_pages(app: FastAPI, pages: Pages, router: APIRouter) -> None:
    """Add pages and their static files to the application of a system. The system's root path redirects to its first
    page.
    """

    @app.get("/", include_in_schema=False)
    def start(request: Request) -> Response:
        return RedirectResponse(f"{request.scope.get('root_path', '')}{PREFIX}/", 307)

    app.mount(f"{PREFIX}/static", pages.assets(), name="static")
    app.router.routes.extend(router.routes)


def viewer_of(request: Request) -> Viewer:
    """Return the user who views the page, with the session's CSRF token. The result is an empty `Viewer` if the server
    does not support sign-in.
    """
    session = session_of(request)
    if session is None:
        return Viewer()
    roles = frozenset[str]() if session.principal is None else session.principal.roles
    return Viewer(session.name, session.csrf, roles)


def _to_sign_in(request: Request) -> Response:
    if request.method != "GET" or "application/json" in request.headers.get("accept", ""):
        raise unauthorized("Sign in first.")
    path = quote(request.url.path + (f"?{request.url.query}" if request.url.query else ""), safe="")
    return RedirectResponse(f"{root_of(request)}/sign-in?next={path}", 303)


def _error_page(pages: Pages, request: Request, error: Exception, problem: Problem | None) -> Response:
    problem = problem or problem_of(request.app, error)
    if problem is None:
        logger.error("unhandled error in a page", exc_info=error)
        problem = Problem(500, "The server failed to show this page.")
    elif isinstance(error, RequestValidationError):
        problem = Problem(422, "The address of this page is not valid.")
    return pages.error(request, problem.status_code, problem.message, problem.headers)
