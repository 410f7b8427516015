"""The caller of a route: a dependency that verifies the bearer token and answers 401 or 403 without one.

    @router.get("/me")
    async def me(caller: Caller) -> ...

    @router.post("/close", dependencies=[Depends(require_role("administrators"))])

The verifier lies in the application's state, where `web_application` puts it, so routes need no globals.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Final, TypeAlias, cast

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection

from keyplan_systems.web.keys import KeysUnavailableError
from keyplan_systems.web.notes import note_user
from keyplan_systems.web.problems import Problem
from keyplan_systems.web.rate_limits import Buckets
from keyplan_systems.web.tokens import Principal, TokenError, TokenVerifier

REALM: Final = "keyplan"
_NOT_IN_CHALLENGE = re.compile(r"[^ !#-\[\]-~]")

_bearer = HTTPBearer(auto_error=False, description="A JSON Web Token of the configured issuer.")


def install_verifier(app: Starlette, verifier: TokenVerifier) -> None:
    """Make this the verifier of the application's routes."""
    app.state.token_verifier = verifier


def install_limiter(app: Starlette, limiter: Buckets) -> None:
    """Make this the limiter of the requests that the application's callers send."""
    app.state.request_limiter = limiter


def admit(connection: HTTPConnection, subject: str) -> None:
    """Count a request of a verified user. Raises TooManyRequestsError; an application without a limiter admits all."""
    limiter: Buckets | None = getattr(connection.app.state, "request_limiter", None)
    if limiter is not None:
        limiter.take(subject)


def verifier_of(connection: HTTPConnection) -> TokenVerifier:
    """The application's verifier; a programming error if it has none."""
    verifier = getattr(connection.app.state, "token_verifier", None)
    if verifier is None:
        raise RuntimeError("the application has no token verifier: give one to web_application")
    return cast("TokenVerifier", verifier)


async def authenticate(connection: HTTPConnection, token: str) -> Principal:
    """Return the principal of a token, which came in a header or in the query string of a websocket.

    Raises problem 401 or 503, and TooManyRequestsError for a user who has sent too many requests.
    """
    verifier = verifier_of(connection)
    try:
        principal = await run_in_threadpool(verifier.verify, token) if verifier.may_block else verifier.verify(token)
    except TokenError as error:
        raise unauthorized(str(error)) from error
    except KeysUnavailableError as error:
        raise Problem(503, "Tokens cannot be verified at the moment.", headers={"Retry-After": "30"}) from error
    note_user(principal.subject)
    admit(connection, principal.subject)
    return principal


async def current_principal(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Principal:
    """Who sent the request; problem 401 without a good bearer token."""
    if credentials is None:
        raise unauthorized()
    return await authenticate(request, credentials.credentials)


async def principal_of(request: Request) -> Principal:
    """Return who sent a request that no route of FastAPI handles; raises as `current_principal` does."""
    return await current_principal(request, await _bearer(request))


Caller: TypeAlias = Annotated[Principal, Depends(current_principal)]


def require_role(role: str) -> Callable[..., Awaitable[Principal]]:
    """A dependency that passes callers with this role and answers 403 to others."""

    async def principal_with_role(caller: Annotated[Principal, Depends(current_principal)]) -> Principal:
        if not caller.has_role(role):
            raise forbidden(role)
        return caller

    return principal_with_role


def unauthorized(reason: str | None = None) -> Problem:
    """Problem 401 with the challenge of RFC 6750; the reason is left out when no token was sent.

    In the header stands of the reason what may stand there: no quotes, no ends of lines, nothing but ASCII.
    """
    challenge = f'Bearer realm="{REALM}"'
    if reason is not None:
        challenge += f', error="invalid_token", error_description="{_NOT_IN_CHALLENGE.sub("?", reason)}"'
    return Problem(401, reason or "Send a bearer token.", headers={"WWW-Authenticate": challenge})


def forbidden(role: str) -> Problem:
    """Problem 403: the token is good, but lacks the role."""
    challenge = f'Bearer realm="{REALM}", error="insufficient_scope"'
    return Problem(403, f"This needs the role {role}.", headers={"WWW-Authenticate": challenge})
