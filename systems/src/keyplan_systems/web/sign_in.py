"""Sign-in to the web pages, either as a sample user or with an OpenID provider.

Sign-in with a provider uses the authorization code flow with PKCE, `state` and `nonce`, according to OpenID Connect
Core 1.0 (section 3.1) and RFC 9700. Tokens are transferred only in the response of the provider's token endpoint, and
never in a URL. The session cookie contains only the claims that the systems use.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import quote, urlencode, urlsplit

import httpx
import jwt
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from keyplan.clock import Clock, SystemClock
from keyplan.pages import Pages, Wording, redirect, root_of
from keyplan_systems.web.browsing import checked_form, viewer_of
from keyplan_systems.web.keys import KeysUnavailableError
from keyplan_systems.web.sessions import Sessions
from keyplan_systems.web.system import SamplePerson
from keyplan_systems.web.tokens import TokenError, TokenVerifier

_FLOW_COOKIE: Final = "keyplan_sign_in"
_FLOW_S: Final = 600
_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True)
class Provider:
    """An OpenID provider, and the settings of this server as a client of the provider."""

    issuer: str
    client_id: str
    verifier: TokenVerifier
    """Verifier for the ID tokens that the provider issues. The audience of these tokens is the client ID."""
    public_url: str
    """URL at which browsers reach this server, without a trailing slash. After sign-in, the provider redirects browsers
    to this URL.
    """
    client_secret: str | None = None
    scope: str = "openid profile email"


class _RefusedError(Exception):
    """Raised if the provider rejects an authorization code. The message is the error code that the provider
    returned.
    """


class SignIn(Protocol):
    """Interface of a sign-in method, which provides routes for signing in and out."""

    def routes(self) -> Sequence[Route]:
        """Return the routes for signing in and out. Their paths are relative to the root of the server."""


def system_at(request: Request) -> str:
    """Return the name of the system to whose page the user returns after sign-in, or an empty string if the request
    does not specify a page.
    """
    return local_path(request.query_params.get("next")).lstrip("/").partition("/")[0]


class _SignInRoutes:
    """Base class with the routes that all sign-in methods share."""

    def __init__(self, wording: Callable[[Request], Wording]) -> None:
        self._pages = Pages("keyplan_systems.web", "keyplan", viewer=viewer_of, wording=wording)

    def _sign_out_route(self) -> Route:
        return Route("/sign-out", self._sign_out, methods=["POST"])

    async def _sign_out(self, request: Request) -> Response:
        target = local_path((await checked_form(request)).get("next"))
        path = f"{root_of(request)}/sign-in" + (f"?next={quote(target, safe='')}" if target != "/" else "")
        response = redirect(path, "You are signed out.")
        response.headers.append("Set-Cookie", _sessions(request).expired_cookie())
        return response


class SampleSignIn(_SignInRoutes):
    """Sign-in as a sample user with one click. It is meant for servers that can be reached only from the
    same machine.
    """

    def __init__(
        self,
        people: Mapping[str, tuple[str, Sequence[SamplePerson]]],
        is_local: Callable[[str], bool],
        wording: Callable[[Request], Wording] = lambda _request: Wording(),
    ) -> None:
        """Create the sign-in method. `people` maps the name of each system to its title and its sample users.

        `is_local` returns True for the host names of this machine. `wording` returns the language and the texts of the
        sign-in page.
        """
        super().__init__(wording)
        self._people, self._is_local = dict(people), is_local

    def routes(self) -> Sequence[Route]:
        """Return the routes of the sign-in page, of the form on this page, and of sign-out."""
        return [
            Route("/sign-in", self._page, methods=["GET"]),
            Route("/sign-in", self._start, methods=["POST"]),
            self._sign_out_route(),
        ]

    async def _page(self, request: Request) -> Response:
        if (refusal := self._refusal(request)) is not None:
            return refusal
        target = local_path(request.query_params.get("next"))
        system = system_at(request)
        groups = sorted(self._people.items(), key=lambda entry: entry[0] != system)
        return self._pages.render(request, "sign_in.html.j2", groups=groups, next=target, provider="", system=system)

    async def _start(self, request: Request) -> Response:
        if (refusal := self._refusal(request)) is not None:
            return refusal
        form = await checked_form(request)
        _, people = self._people.get(form.get("system", ""), ("", ()))
        person = next((person for person in people if person.subject == form.get("subject")), None)
        if person is None:
            return self._pages.error(request, 400, "This person is not a sample person.")
        claims = {"sub": person.subject, "name": person.name, "roles": list(person.roles), **person.claims}
        target = local_path(form.get("next"))
        system_path = f"/{form['system']}/"
        return _sign_in_response(request, claims, target if target != "/" else system_path)

    def _refusal(self, request: Request) -> Response | None:
        """Return a page with status 403 if the host name in the request is not a name of this machine, or None
        otherwise.

        This check is needed because an attacker can make the host name of another site resolve to this machine (DNS
        rebinding).
        """
        if self._is_local(request.url.hostname or ""):
            return None
        message = "Sample people can sign in at this machine's own address only, such as http://127.0.0.1."
        return self._pages.error(request, 403, message)


class ProviderSignIn(_SignInRoutes):
    """Sign-in with an OpenID provider."""

    def __init__(
        self,
        provider: Provider,
        flow_key: bytes,
        clock: Clock | None = None,
        wording: Callable[[Request], Wording] = lambda _request: Wording(),
    ) -> None:
        """Create the sign-in method.

        `flow_key` signs the cookie that contains the state of a sign-in in progress. `wording` returns the language and
        the texts of the sign-in page.
        """
        super().__init__(wording)
        self._provider, self._key, self._clock = provider, flow_key, clock or SystemClock()
        self._redirect_uri = f"{provider.public_url}/sign-in/callback"
        self._metadata: dict[str, Any] | None = None

    def routes(self) -> Sequence[Route]:
        """Return the routes of the sign-in page, of the two steps of the authorization code flow, and of sign-out."""
        return [
            Route("/sign-in", self._page, methods=["GET"]),
            Route("/sign-in/start", self._start, methods=["GET"]),
            Route("/sign-in/callback", self._finish, methods=["GET"]),
            self._sign_out_route(),
        ]

    async def _page(self, request: Request) -> Response:
        target = local_path(request.query_params.get("next"))
        host = urlsplit(self._provider.issuer).netloc or self._provider.issuer
        return self._pages.render(request, "sign_in.html.j2", groups=(), next=target, provider=host, system="")

    async def _start(self, request: Request) -> Response:
        try:
            metadata = await self._load_metadata()
        except (httpx.HTTPError, ValueError) as error:
            return self._pages.error(request, 503, f"The sign-in service cannot be reached: {error}")
        flow = {
            "state": secrets.token_urlsafe(24),
            "nonce": secrets.token_urlsafe(24),
            "verifier": secrets.token_urlsafe(48),
            "next": local_path(request.query_params.get("next")),
        }
        url = f"{metadata['authorization_endpoint']}?{urlencode(self._authorization_parameters(flow))}"
        response = RedirectResponse(url, 303)
        content = jwt.encode({**flow, "exp": int(self._clock.now()) + _FLOW_S}, self._key, algorithm="HS256")
        response.set_cookie(
            _FLOW_COOKIE,
            content,
            max_age=_FLOW_S,
            path="/sign-in",
            secure=self._provider.public_url.startswith("https://"),
            httponly=True,
            samesite="lax",
        )
        return response

    async def _finish(self, request: Request) -> Response:
        flow = self._read_flow(request.cookies.get(_FLOW_COOKIE))
        state = request.query_params.get("state", "")
        if flow is None or not hmac.compare_digest(state.encode(), flow["state"].encode()):
            return self._pages.error(request, 400, "This sign-in has expired. Start it again.")
        if "error" in request.query_params:
            reason = request.query_params.get("error_description") or request.query_params["error"]
            return self._pages.error(request, 403, f"The sign-in service rejected the sign-in: {reason}")
        try:
            metadata = await self._load_metadata()
            token = await self._id_token(metadata, request.query_params.get("code", ""), flow["verifier"])
            principal = await run_in_threadpool(self._provider.verifier.verify, token)
        except (httpx.HTTPError, KeysUnavailableError, ValueError) as error:
            return self._pages.error(request, 503, f"The sign-in service cannot be reached: {error}")
        except (_RefusedError, TokenError) as error:
            return self._pages.error(request, 403, f"The sign-in failed: {error}")
        if principal.claims.get("nonce") != flow["nonce"]:
            return self._pages.error(request, 403, "The sign-in failed: its token belongs to another sign-in.")
        claims = {**principal.claims, "roles": sorted(principal.roles)}
        response = _sign_in_response(request, claims, local_path(flow["next"]))
        response.delete_cookie(_FLOW_COOKIE, path="/sign-in")
        return response

    def _authorization_parameters(self, flow: Mapping[str, str]) -> dict[str, str]:
        """Return the parameters of the authorization request for a sign-in with the state `flow` (OpenID Connect Core
        1.0, section 3.1.2.1; RFC 7636, section 4.3).
        """
        challenge = hashlib.sha256(flow["verifier"].encode()).digest()
        return {
            "response_type": "code",
            "client_id": self._provider.client_id,
            "redirect_uri": self._redirect_uri,
            "scope": self._provider.scope,
            "state": flow["state"],
            "nonce": flow["nonce"],
            "code_challenge": urlsafe_b64encode(challenge).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }

    async def _id_token(self, metadata: Mapping[str, Any], code: str, verifier: str) -> str:
        """Exchange an authorization code for an ID token, and return the token. `verifier` is the PKCE code verifier.

        Raises _RefusedError if the provider rejects the code, and httpx.HTTPError if the provider fails.
        """
        provider = self._provider
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_uri,
            "client_id": provider.client_id,
            "code_verifier": verifier,
        }
        # RFC 6749, section 2.3.1: both parts are encoded like form values.
        secret = provider.client_secret
        auth = () if secret is None else (quote(provider.client_id, safe=""), quote(secret, safe=""))
        async with httpx.AsyncClient(timeout=_TIMEOUT_S, auth=auth or None) as client:
            response = await client.post(metadata["token_endpoint"], data=form)
        if response.status_code in (400, 401):
            raise _RefusedError(str(response.json().get("error", "the code was refused")))
        return str(response.raise_for_status().json().get("id_token", ""))

    async def _load_metadata(self) -> dict[str, Any]:
        """Return the provider's metadata. Raises httpx.HTTPError if the metadata cannot be fetched, and ValueError if
        it belongs to a different issuer.
        """
        if self._metadata is None:
            url = f"{self._provider.issuer.rstrip('/')}/.well-known/openid-configuration"
            async with httpx.AsyncClient(timeout=_TIMEOUT_S) as client:
                metadata = (await client.get(url)).raise_for_status().json()
            if metadata.get("issuer") != self._provider.issuer:
                raise ValueError(f"its metadata has the issuer {metadata.get('issuer')!r}")
            self._metadata = metadata
        return self._metadata

    def _read_flow(self, cookie: str | None) -> dict[str, Any] | None:
        try:
            flow: dict[str, Any] = jwt.decode(
                cookie or "", self._key, algorithms=["HS256"], options={"verify_exp": False}
            )
        except jwt.InvalidTokenError:
            return None
        return flow if flow["exp"] > self._clock.now() else None


class NoSignIn(_SignInRoutes):
    """Sign-in page of a server on which users cannot sign in. The page shows the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(lambda _request: Wording())
        self._reason = reason

    def routes(self) -> Sequence[Route]:
        """Return the routes of this sign-in page and of sign-out."""
        return [Route("/sign-in", self._page, methods=["GET"]), self._sign_out_route()]

    async def _page(self, request: Request) -> Response:
        return self._pages.error(request, 403, self._reason)


def local_path(path: str | None) -> str:
    """Return `path` if it is a path on this server. For other values, such as URLs, return "/". A redirect to the
    result never leads to another server.
    """
    if not path or not path.startswith("/") or path.startswith(("//", "/\\")) or not path.isprintable():
        return "/"
    return path


def _sign_in_response(request: Request, claims: Mapping[str, Any], path: str) -> Response:
    """Return the response that signs the user in and redirects to `path`. It sets a new session ID, so that an attacker
    who knows the old ID cannot use it.
    """
    response = RedirectResponse(path, 303)
    response.headers.append("Set-Cookie", _sessions(request).cookie(claims=claims))
    return response


def _sessions(request: Request) -> Sessions:
    sessions = request.state.sessions
    assert isinstance(sessions, Sessions), "the host wraps every application in Sessions"
    return sessions
