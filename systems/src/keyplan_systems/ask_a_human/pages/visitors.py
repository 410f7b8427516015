"""Identifies users without accounts. Each browser is registered as a device, and the device's token is stored in a
cookie.

A browser is registered when it opens a question for the first time. From then on, answers, points and notifications
belong to this device. The device's fingerprint is random, because the properties of a browser are not unique: two users
with the same phone model would otherwise share a fingerprint. If a user deletes the cookies, the browser is registered
as a new user. The limits per network address still apply.
"""

from __future__ import annotations

import secrets
from zoneinfo import ZoneInfo

from starlette.requests import Request
from starlette.responses import Response

from keyplan_systems.ask_a_human.api_dependencies import client_address
from keyplan_systems.ask_a_human.devices import Identity
from keyplan_systems.ask_a_human.domain import limits, requests, timestamps
from keyplan_systems.ask_a_human.domain.refusals import InvalidRequestError
from keyplan_systems.ask_a_human.service import Service

DEVICE = "aah_device"
"""Name of the cookie with the device's token."""
ZONE = "aah_zone"
"""Name of the cookie with the browser's time zone, which a script on the pages sets. The service computes streaks in
this time zone.
"""
SKIPPED = "aah_skipped"
"""Name of the cookie that lists the questions that the user has skipped. Each question is listed by the first
characters of its ID.
"""
_COOKIE_LIFETIME_S = 400 * timestamps.DAY_S
"""Lifetime of the device cookie in seconds. Browsers limit the lifetime of cookies to 400 days."""
_MAX_SKIPPED = 50
_ID_START = 8


class Visitors:
    """Identifies and registers browsers by their cookies."""

    def __init__(self, service: Service, trusted_proxies: int) -> None:
        self._service, self._trusted_proxies = service, trusted_proxies

    def address(self, request: Request) -> str:
        """Return the network address from which a request was sent."""
        return client_address(request, self._trusted_proxies)

    def identify(self, request: Request) -> Identity | None:
        """Return the identity of a registered browser's user, or None if the browser is not registered."""
        token = request.cookies.get(DEVICE)
        return None if not token else self._service.devices.identify(token)

    def identify_reader(self, request: Request) -> Identity | None:
        """Count the request against the limit for reads, and return the identity of the browser's user, or None if the
        browser is not registered.

        The limit applies per user, or per network address if the browser is not registered. Raises RateLimitedError if
        the limit is reached.
        """
        person = self.identify(request)
        self._service.base.count(limits.HUMAN_READS, self.address(request) if person is None else person.person)
        return person

    def register(self, request: Request) -> str:
        """Register a browser and return the token of the new device. Raises TooManyRequestsError if too many devices
        have been registered from the network address.
        """
        self._service.limits.devices.take(self.address(request))
        return self._service.devices.register(requests.fingerprint_hash(secrets.token_urlsafe(24)))

    def store_token(self, request: Request, response: Response, token: str) -> None:
        """Store a registered browser's token in a cookie."""
        response.set_cookie(
            DEVICE,
            token,
            _COOKIE_LIFETIME_S,
            path=_path(request),
            httponly=True,
            samesite="lax",
            secure=is_secure(request),
        )


def zone_of(request: Request) -> ZoneInfo:
    """Return the browser's time zone, or UTC if it is unknown."""
    try:
        return timestamps.zone(request.cookies.get(ZONE))
    except InvalidRequestError:
        return ZoneInfo("UTC")


def is_skipped(request: Request, question_id: str) -> bool:
    """Return True if the user has skipped the question in this browser."""
    return question_id[:_ID_START] in request.cookies.get(SKIPPED, "").split(".")


def skip(request: Request, response: Response, question_id: str) -> None:
    """Store in a cookie that the user has skipped a question. The cookie is deleted at the end of the
    browser session.
    """
    skipped = [start for start in request.cookies.get(SKIPPED, "").split(".") if start][-_MAX_SKIPPED + 1 :]
    value = ".".join([*skipped, question_id[:_ID_START]])
    response.set_cookie(SKIPPED, value, path=_path(request), httponly=True, samesite="lax")


def delete_skipped(request: Request, response: Response) -> None:
    """Delete the cookie that lists the skipped questions."""
    response.delete_cookie(SKIPPED, path=_path(request))


def _path(request: Request) -> str:
    return f"{request.scope.get('root_path', '')}/app"


def is_secure(request: Request) -> bool:
    """Return True if the request was sent over HTTPS or the server is configured to be accessible only over HTTPS."""
    sessions = getattr(request.state, "sessions", None)
    return request.url.scheme == "https" or bool(getattr(sessions, "is_secure", False))
