"""Browser sessions with signed cookies, and protection against cross-site request forgery (CSRF).

The cookie contains the same claims about the user as a token (subject, roles, email address). It is signed with a key
that all replicas share, so sessions are not stored on the server. The cookie is HttpOnly and SameSite=Lax. A request
that changes data must also contain the session's CSRF token in the form field `csrf` or the header `X-CSRF-Token`. Only
the server's own pages know this token. In addition, the request must not come from another site.

Sources: OWASP Cheat Sheets, "Session Management" and "Cross-Site Request Forgery Prevention" (signed double-submit
values bound to the session, and Fetch Metadata).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from http.cookies import SimpleCookie
from typing import Any, Final
from urllib.parse import urlsplit

import jwt
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keyplan.clock import Clock, SystemClock
from keyplan_systems.web.problems import Problem, ProblemStyle, problem_response
from keyplan_systems.web.tokens import Principal

COOKIE: Final = "keyplan_session"
LIFETIME_S: Final = 12 * 3600
CSRF_HEADER: Final = "X-CSRF-Token"
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_COPIED_CLAIMS: Final = ("email", "email_verified", "name")
"""Token claims that are copied to the session, because the systems use them."""


class Session:
    """A browser's session. `principal` is None if the user is not signed in."""

    def __init__(self, key: bytes, session_id: str, principal: Principal | None, *, is_new: bool = False) -> None:
        self.id, self.principal, self.is_new = session_id, principal, is_new
        self.is_used = False
        """True if a page contains the session's CSRF token, so that the browser must receive the cookie."""
        self._token = hmac.new(key, f"csrf {session_id}".encode(), hashlib.sha256).hexdigest()

    def csrf(self) -> str:
        """Return the session's CSRF token. Forms on the server's pages must contain it."""
        self.is_used = True
        return self._token

    def check_csrf(self, token: str | None) -> None:
        """Raise `Problem` with status 403 unless `token` is the session's CSRF token."""
        if self.is_new or not hmac.compare_digest((token or "").encode(), self._token.encode()):
            raise Problem(403, "This page is out of date. Reload it and try again.", code="csrf")

    @property
    def name(self) -> str:
        """The displayed name of the signed-in user, or an empty string if the user is not signed in."""
        if self.principal is None:
            return ""
        name = self.principal.claims.get("name")
        return name if isinstance(name, str) and name else self.principal.subject


class Sessions:
    """Middleware that reads and sets the session cookie for all applications on the server."""

    def __init__(self, app: ASGIApp, key: bytes, clock: Clock | None = None, *, is_secure: bool = False) -> None:
        """Create the middleware. `key` is the key that signs the cookies. If `is_secure` is True, browsers send the
        cookies only over HTTPS.
        """
        self._app, self._key, self._clock, self.is_secure = app, key, clock or SystemClock(), is_secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Set `request.state.session` and run the application. If a request from another site would change data,
        respond with 403.
        """
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        session = self._read_session(HTTPConnection(scope).cookies.get(COOKIE))
        is_cross_site = not _is_same_origin(scope)
        if scope["type"] == "websocket" and is_cross_site:
            session = self._new_session()  # it can still authenticate with a token in the query string or a message
        state = scope.setdefault("state", {})
        state["session"], state["sessions"] = session, self
        if scope["type"] == "http" and scope["method"] not in _SAFE_METHODS and is_cross_site and not session.is_new:
            problem = Problem(403, "Requests from other sites are not accepted.", code="cross_site")
            await problem_response(problem, ProblemStyle())(scope, receive, send)
            return

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start" and session.is_new and session.is_used:
                message.setdefault("headers", [])
                MutableHeaders(scope=message).append("Set-Cookie", self.cookie(session.id))
            await send(message)

        await self._app(scope, receive, send_with_cookie)

    def cookie(self, session_id: str | None = None, claims: Mapping[str, Any] | None = None) -> str:
        """Return the Set-Cookie header for a session. If `session_id` is None, a new ID is generated.

        If `claims` are given, the user whom they identify is signed in. Otherwise, the session has no user.
        """
        now_s = int(self._clock.now())
        copied_claims = {name: claims[name] for name in _COPIED_CLAIMS if name in claims} if claims else {}
        user_claims = {"sub": claims["sub"], "roles": list(claims.get("roles", [])), **copied_claims} if claims else {}
        content = {
            "sid": session_id or secrets.token_urlsafe(18),
            "iat": now_s,
            "exp": now_s + LIFETIME_S,
            **user_claims,
        }
        return self._header(jwt.encode(content, self._key, algorithm="HS256"), LIFETIME_S)

    def expired_cookie(self) -> str:
        """Return the Set-Cookie header that deletes the session cookie."""
        return self._header("", 0)

    def _header(self, value: str, age_s: int) -> str:
        cookie: SimpleCookie = SimpleCookie({COOKIE: value})
        morsel = cookie[COOKIE]
        morsel["path"], morsel["samesite"], morsel["max-age"] = "/", "Lax", str(age_s)
        morsel["httponly"] = True
        morsel["secure"] = self.is_secure
        return morsel.OutputString()

    def _new_session(self) -> Session:
        return Session(self._key, secrets.token_urlsafe(18), None, is_new=True)

    def _read_session(self, value: str | None) -> Session:
        """Return the session that a cookie value contains, or a new session if the value is missing or invalid."""
        if not value:
            return self._new_session()
        try:
            # The expiry is checked with this clock, because PyJWT can only use the system clock.
            claims = jwt.decode(
                value, self._key, algorithms=["HS256"], options={"verify_exp": False, "verify_iat": False}
            )
        except jwt.InvalidTokenError:
            return self._new_session()
        if claims["exp"] <= self._clock.now():
            return self._new_session()
        subject = claims.get("sub")
        principal = None if subject is None else Principal(subject, claims, frozenset(claims["roles"]))
        return Session(self._key, claims["sid"], principal)


def session_of(connection: HTTPConnection) -> Session | None:
    """Return the session of a request, or None if the server does not support sessions."""
    session = getattr(connection.state, "session", None)
    return session if isinstance(session, Session) else None


def principal_of_session(connection: HTTPConnection) -> Principal | None:
    """Return the signed-in user of the request's session, or None if the user is not signed in. Call this function for
    requests without a bearer token.

    Raises `Problem` with status 403 if the request would change data and its header `X-CSRF-Token` does not contain the
    session's CSRF token.
    """
    session = session_of(connection)
    if session is None or session.principal is None:
        return None
    if connection.scope["type"] == "http" and connection.scope["method"] not in _SAFE_METHODS:
        session.check_csrf(connection.headers.get(CSRF_HEADER))
    return session.principal


def _is_same_origin(scope: Scope) -> bool:
    """Return True unless the headers of the request show that a page of another site sent it."""
    headers = Headers(scope=scope)
    site = headers.get("sec-fetch-site")
    if site is not None and scope["type"] == "http":
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")
