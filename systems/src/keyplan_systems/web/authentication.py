"""Dependencies that authenticate callers. They verify the bearer token, and respond with 401 or 403 if the caller is
rejected.

If a request from the server's own pages does not contain a token, it is authenticated by the session cookie.

    @router.get("/me")
    async def me(caller: Caller) -> ...

    @router.post("/close", dependencies=[Depends(require_role("administrators"))])

`web_application` stores the verifier in the application's state, so routes do not need global variables.
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
from keyplan_systems.web.problems import Problem
from keyplan_systems.web.rate_limits import Buckets
from keyplan_systems.web.request_context import set_user
from keyplan_systems.web.sessions import principal_of_session
from keyplan_systems.web.tokens import Principal, TokenError, TokenVerifier

REALM: Final = "keyplan"
_NOT_IN_CHALLENGE = re.compile(r"[^ !#-\[\]-~]")

_bearer = HTTPBearer(auto_error=False, description="A JSON Web Token from the configured issuer.")


def install_verifier(app: Starlette, verifier: TokenVerifier) -> None:
    """Set the token verifier for the routes of an application."""
    app.state.token_verifier = verifier


def install_limiter(app: Starlette, limiter: Buckets) -> None:
    """Set the rate limiter for the requests of authenticated users."""
    app.state.request_limiter = limiter


def admit(connection: HTTPConnection, subject: str) -> None:
    """Count a request against the rate limit of an authenticated user.

    Raises TooManyRequestsError if the limit is exceeded. If the application has no rate limiter, all requests are
    accepted.
    """
    limiter: Buckets | None = getattr(connection.app.state, "request_limiter", None)
    if limiter is not None:
        limiter.take(subject)


def admit_principal(connection: HTTPConnection, principal: Principal) -> Principal:
    """Count a request against the user's rate limit, add the user to the request's log line, and return `principal`.

    Raises TooManyRequestsError if the limit is exceeded.
    """
    set_user(principal.subject)
    admit(connection, principal.subject)
    return principal


def verifier_of(connection: HTTPConnection) -> TokenVerifier:
    """Return the application's token verifier. Raises RuntimeError if none is installed."""
    verifier = getattr(connection.app.state, "token_verifier", None)
    if verifier is None:
        raise RuntimeError("the application has no token verifier: pass one to web_application")
    return cast("TokenVerifier", verifier)


async def authenticate(connection: HTTPConnection, token: str) -> Principal:
    """Verify a token and return the user that it identifies. The token comes from a header or from the query string of
    a WebSocket connection.

    Raises `Problem` with status 401 if the token is invalid, `Problem` with status 503 if the issuer's keys are
    unavailable, and TooManyRequestsError if the user exceeds the rate limit.
    """
    verifier = verifier_of(connection)
    try:
        principal = await run_in_threadpool(verifier.verify, token) if verifier.may_block else verifier.verify(token)
    except TokenError as error:
        raise unauthorized(str(error)) from error
    except KeysUnavailableError as error:
        raise Problem(
            503, "Tokens cannot be verified: the issuer's keys are unavailable.", headers={"Retry-After": "30"}
        ) from error
    return admit_principal(connection, principal)


async def current_principal(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Principal:
    """Return the user who sent the request.

    Raises `Problem` with status 401 if the request has neither a valid bearer token nor a signed-in session.
    """
    if credentials is None:
        principal = principal_of_session(request)
        if principal is None:
            raise unauthorized()
        return admit_principal(request, principal)
    return await authenticate(request, credentials.credentials)


async def principal_of(request: Request) -> Principal:
    """Return the user who sent a request, for code outside FastAPI routes. Raises the same errors as
    `current_principal`.
    """
    return await current_principal(request, await _bearer(request))


Caller: TypeAlias = Annotated[Principal, Depends(current_principal)]


def require_role(role: str) -> Callable[..., Awaitable[Principal]]:
    """Return a FastAPI dependency that returns the user if the user has the role, and responds with 403 otherwise."""

    async def principal_with_role(caller: Annotated[Principal, Depends(current_principal)]) -> Principal:
        if not caller.has_role(role):
            raise forbidden(role)
        return caller

    return principal_with_role


def unauthorized(reason: str | None = None) -> Problem:
    """Return a `Problem` (an error response) with status 401 and the challenge header of RFC 6750. Omit `reason` if the
    request has no token.

    Only ASCII characters other than quotes and line breaks are copied from the reason to the header.
    """
    challenge = f'Bearer realm="{REALM}"'
    if reason is not None:
        challenge += f', error="invalid_token", error_description="{_NOT_IN_CHALLENGE.sub("?", reason)}"'
    return Problem(401, reason or "Send a bearer token.", headers={"WWW-Authenticate": challenge})


def forbidden(role: str) -> Problem:
    """Return a `Problem` (an error response) with status 403, for a user without the required role."""
    challenge = f'Bearer realm="{REALM}", error="insufficient_scope"'
    return Problem(403, f"Missing role: {role}.", headers={"WWW-Authenticate": challenge})
