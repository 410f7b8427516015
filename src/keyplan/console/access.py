"""Access control of the console: a token in the printed URL, a session cookie, and checks of Host, Origin and forms.

The token in the URL is exchanged for a cookie, as in Jupyter. The cookie is signed with the token, so a restart with a
new token ends all sessions. A page of another site can neither read a response nor submit a form: the cookie is
SameSite=Strict, the Host header must name this machine, the Origin of a form must be the console itself, and each form
must contain a CSRF token that only the console's pages contain.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keyplan.clock import Clock, SystemClock
from keyplan.server.hosts import LocalHosts, is_loopback

SESSION_S: Final = 12 * 3600
TOKEN_VARIABLE: Final = "KEYPLAN_CONSOLE_TOKEN"  # noqa: S105 - a name, not a token
"""The environment variable that contains the token. It is required if the server listens on a non-loopback address."""
TOKEN_CHARACTERS: Final = 16
"""The minimum length of a token that the user has chosen."""
_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_READS: Final = frozenset(
    {
        "BatchGetItem",
        "DescribeBackup",
        "DescribeContinuousBackups",
        "DescribeContributorInsights",
        "DescribeEndpoints",
        "DescribeExport",
        "DescribeGlobalTable",
        "DescribeGlobalTableSettings",
        "DescribeImport",
        "DescribeKinesisStreamingDestination",
        "DescribeLimits",
        "DescribeStream",
        "DescribeTable",
        "DescribeTableReplicaAutoScaling",
        "DescribeTimeToLive",
        "GetItem",
        "GetRecords",
        "GetResourcePolicy",
        "GetShardIterator",
        "ListBackups",
        "ListContributorInsights",
        "ListExports",
        "ListGlobalTables",
        "ListImports",
        "ListStreams",
        "ListTables",
        "ListTagsOfResource",
        "Query",
        "Scan",
        "TransactGetItems",
    }
)
_SELECT: Final = re.compile(r"\s*select\b", re.IGNORECASE)


def is_read(operation: str, request: Mapping[str, Any]) -> bool:
    """Return True if a request changes nothing. For PartiQL, this means that all statements are SELECT statements."""
    if operation == "ExecuteStatement":
        return _is_select(request.get("Statement"))
    if operation in {"BatchExecuteStatement", "ExecuteTransaction"}:
        statements = request.get("Statements" if operation[0] == "B" else "TransactStatements", ())
        return all(_is_select(statement.get("Statement")) for statement in statements)
    return operation in _READS


def _is_select(statement: Any) -> bool:
    return isinstance(statement, str) and _SELECT.match(statement) is not None


class ErrorPages(Protocol):
    """The interface of an object that renders the error pages for rejected requests."""

    def error_page(self, request: Request, status: int, title: str, message: str) -> Response:
        """Return the error page for a rejected request, with a title and a message for the user."""


class Access:
    """The access checks for all requests to the console."""

    def __init__(
        self,
        token: str | None = None,
        *,
        host: str = "127.0.0.1",
        names: Iterable[str] = (),
        clock: Clock | None = None,
    ) -> None:
        """Create the access checks.

        `token` is the access token. By default, a random token is generated. `host` is the address that the server
        listens on. `names` are additional names that are accepted in Host and Origin headers. Raises ValueError if
        `token` is too short, or if it is None for a non-loopback address.
        """
        if token is None and not is_loopback(host):
            raise ValueError(
                f"listening on {host} makes the console reachable from other machines: set a token in "
                f"{TOKEN_VARIABLE}, or listen on 127.0.0.1"
            )
        if token is not None and len(token) < TOKEN_CHARACTERS:
            raise ValueError(f"{TOKEN_VARIABLE} must have at least {TOKEN_CHARACTERS} characters, got {len(token)}")
        self.token = token if token is not None else secrets.token_urlsafe(24)
        self._clock: Clock = clock if clock is not None else SystemClock()
        self._names = frozenset(name.lower() for name in names)
        self._local = LocalHosts(self._names) if is_loopback(host) else None

    def guard(self, pages: ErrorPages, app: ASGIApp) -> ASGIApp:
        """Return an application that runs the access checks before each request to `app`.

        `pages` renders the error pages for rejected requests.
        """

        async def guarded_app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            refusal = self._refusal(Request(scope), pages)
            await (refusal or app)(scope, receive, _with_headers(send))

        return guarded_app

    def _refusal(self, request: Request, pages: ErrorPages) -> Response | None:
        """Return the response to send instead of the requested page, or None if the request is allowed.

        If the URL contains a token, the response is the result of `_exchange_token`. Otherwise, it is an error page.
        """
        reason = self._cross_site_reason(request)
        if reason is not None:
            return pages.error_page(request, 403, "The request was rejected", reason)
        if "token" in request.query_params and request.method == "GET":
            return self._exchange_token(request, pages)
        if _is_static(request) or self.is_admitted(request) or self.has_bearer_token(request):
            return None
        return pages.error_page(
            request,
            401,
            "Open the console with its link",
            "The session has expired, or the console was restarted. Open the link with the token that the console "
            "printed in its terminal.",
        )

    def _cross_site_reason(self, request: Request) -> str | None:
        """Return the reason why the Host or Origin header is rejected, or None if it is accepted."""
        headers = {name: value for name, value in request.scope["headers"] if name in {b"host", b"origin"}}
        if self._local is not None:
            reason = self._local.refusal({b"host": headers.get(b"host", b"")})
            if reason is not None:
                return reason
        elif not self._is_known_name(headers.get(b"host", b"").decode("latin-1")):
            return "The Host header is neither an IP address nor a name passed with --allow-host."
        if request.method in {"GET", "HEAD"}:
            return None
        origin = headers.get(b"origin", b"").partition(b"://")[2]
        site = request.headers.get("sec-fetch-site", "same-origin")
        if (origin and origin != headers.get(b"host")) or headers.get(b"origin") == b"null" or site != "same-origin":
            return "The form was submitted from another site."
        return None

    def _is_known_name(self, authority: str) -> bool:
        name = re.sub(r":[0-9]*$", "", authority.lower()).strip("[]")
        if name in self._names or name == "localhost":
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _exchange_token(self, request: Request, pages: ErrorPages) -> Response:
        """Return a redirect that sets a session cookie in exchange for the token in the URL.

        If the token is wrong, return an error page.
        """
        if not hmac.compare_digest(request.query_params["token"].encode(), self.token.encode()):
            return pages.error_page(
                request,
                401,
                "This link is no longer valid",
                "The console was restarted with a new token. Open the link that it printed in its terminal.",
            )
        query = urlencode([pair for pair in parse_qsl(request.url.query) if pair[0] != "token"])
        response = RedirectResponse(request.url.path + (f"?{query}" if query else ""), 303)
        expires = str(int(self._clock.now()) + SESSION_S)
        response.set_cookie(
            _cookie_name(request),
            f"{expires}.{self._sign('session', expires)}",
            max_age=SESSION_S,
            path=str(request.scope.get("root_path", "")) or "/",
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return response

    def is_admitted(self, request: Request) -> bool:
        """Return True if the request contains the cookie of a session that has not expired."""
        expires, _, signature = request.cookies.get(_cookie_name(request), "").partition(".")
        expected = self._sign("session", expires)
        if not expires.isdecimal() or not hmac.compare_digest(signature.encode(), expected.encode()):
            return False
        return self._clock.now() < int(expires)

    def has_bearer_token(self, request: Request) -> bool:
        """Return True if the Authorization header contains the token. Pages of other sites cannot send this header."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self.token.encode())

    def csrf(self, request: Request) -> str:
        """Return the CSRF token that forms in this session must contain."""
        return self._sign("csrf", request.cookies.get(_cookie_name(request), ""))

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self.token.encode(), f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


def _cookie_name(request: Request) -> str:
    """Return the name of the session cookie. It contains the port, because all ports of a host share cookies."""
    return f"keyplan_console_{request.url.port or 0}"


def _is_static(request: Request) -> bool:
    return str(request.scope["path"]).removeprefix(str(request.scope.get("root_path", ""))).startswith("/static/")


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            missing_headers = [pair for pair in _HEADERS if pair[0] not in present]
            if b"cache-control" not in present:
                missing_headers.append((b"cache-control", b"no-store"))
            message["headers"] = [*message["headers"], *missing_headers]
        await send(message)

    return send_with_headers
