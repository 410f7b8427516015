"""Identification of users without accounts: a browser is a device whose token is in a cookie.

A browser registers when it first opens a question. From then on, answers, points and notifications belong to its
device. Its fingerprint is random, because the properties of a browser are not unique, and two users with the same phone
model would otherwise share one. A browser that deletes its cookies is a new user, to whom the limits per network
address apply as to any other.
"""

from __future__ import annotations

import secrets
from zoneinfo import ZoneInfo

from starlette.requests import Request
from starlette.responses import Response

from keyplan_systems.ask_a_human.api_dependencies import address
from keyplan_systems.ask_a_human.devices import Identity
from keyplan_systems.ask_a_human.domain import limits, requests, timestamps
from keyplan_systems.ask_a_human.domain.refusals import InvalidRequestError
from keyplan_systems.ask_a_human.service import Service

DEVICE = "aah_device"
"""Cookie with the device's token."""
ZONE = "aah_zone"
"""Cookie with the browser's time zone, which a script of the pages sets. Streaks follow the user's calendar."""
SKIPPED = "aah_skipped"
"""Cookie with the first characters of the IDs of skipped questions."""
_KEPT_S = 400 * timestamps.DAY_S
"""Lifetime of the device's cookie, which is the longest that browsers accept."""
_SKIPPED_MOST = 50
_ID_START = 8


class Visitors:
    """Identification of browsers."""

    def __init__(self, service: Service, trusted_proxies: int) -> None:
        self._service, self._trusted_proxies = service, trusted_proxies

    def address(self, request: Request) -> str:
        """Return the network address of a request."""
        return address(request, self._trusted_proxies)

    def known(self, request: Request) -> Identity | None:
        """Return the user of a registered browser, or None."""
        token = request.cookies.get(DEVICE)
        return None if not token else self._service.devices.identify(token)

    def reading(self, request: Request) -> Identity | None:
        """Return the user of a registered browser, and count the request. Raises RateLimitedError.

        Requests of a registered browser are counted for its user, and others for their network address.
        """
        person = self.known(request)
        self._service.base.count(limits.HUMAN_READS, self.address(request) if person is None else person.person)
        return person

    def register(self, request: Request) -> str:
        """Register a browser and return its token. Raises TooManyRequestsError."""
        self._service.limits.devices.take(self.address(request))
        return self._service.devices.register(requests.fingerprint_hash(secrets.token_urlsafe(24)))

    def remember(self, request: Request, response: Response, token: str) -> None:
        """Set the cookie of a registered browser."""
        response.set_cookie(
            DEVICE, token, _KEPT_S, path=_path(request), httponly=True, samesite="lax", secure=is_secure(request)
        )


def zone_of(request: Request) -> ZoneInfo:
    """Return the time zone of a browser, or UTC if it is unknown."""
    try:
        return timestamps.zone(request.cookies.get(ZONE))
    except InvalidRequestError:
        return ZoneInfo("UTC")


def was_skipped(request: Request, question_id: str) -> bool:
    """Return True if the browser has skipped a question."""
    return question_id[:_ID_START] in request.cookies.get(SKIPPED, "").split(".")


def skip(request: Request, response: Response, question_id: str) -> None:
    """Store a skipped question for this browser's session."""
    known = [start for start in request.cookies.get(SKIPPED, "").split(".") if start][-_SKIPPED_MOST + 1 :]
    value = ".".join([*known, question_id[:_ID_START]])
    response.set_cookie(SKIPPED, value, path=_path(request), httponly=True, samesite="lax")


def forget_skipped(request: Request, response: Response) -> None:
    """Forget all skipped questions."""
    response.delete_cookie(SKIPPED, path=_path(request))


def _path(request: Request) -> str:
    return f"{request.scope.get('root_path', '')}/app"


def is_secure(request: Request) -> bool:
    """Return True if browsers reach this server over HTTPS only."""
    sessions = getattr(request.state, "sessions", None)
    return request.url.scheme == "https" or bool(getattr(sessions, "is_secure", False))
