"""FastAPI dependencies of the routes (authentication and rate limits), and functions that convert exceptions to HTTP
responses.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Annotated, TypeAlias
from zoneinfo import ZoneInfo

from fastapi import Depends, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from keyplan.client.errors import CursorError, ThrottledError, UnavailableError, WriteConflictError
from keyplan_systems.ask_a_human.agents import Agents
from keyplan_systems.ask_a_human.base import Base, BusyError
from keyplan_systems.ask_a_human.devices import Devices, Identity
from keyplan_systems.ask_a_human.domain import limits, requests, timestamps
from keyplan_systems.ask_a_human.domain.limits import Allowance, Limit
from keyplan_systems.ask_a_human.domain.refusals import RateLimitedError, RefusedError
from keyplan_systems.web.authentication import unauthorized
from keyplan_systems.web.problems import UPPER_CODES, Problem, ProblemStyle, Translation, too_many_problem
from keyplan_systems.web.rate_limits import SharedLimit, TooManyRequestsError

AgentHeader: TypeAlias = Annotated[
    str | None,
    Header(alias="X-Agent-Id", description="The agent's ID, as registered: 1 to 128 visible ASCII characters."),
]
AgentSecret: TypeAlias = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(
        HTTPBearer(
            auto_error=False, scheme_name="AgentSecret", description="The agent's secret, from `POST /agent/register`."
        )
    ),
]
FingerprintHeader: TypeAlias = Annotated[
    str | None,
    Header(alias="X-Fingerprint", description="The browser's fingerprint; only its hash is stored."),
]
DeviceToken: TypeAlias = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(
        HTTPBearer(
            auto_error=False, scheme_name="DeviceToken", description="The device's token, from `POST /human/devices`."
        )
    ),
]
ZoneHeader: TypeAlias = Annotated[
    str | None, Header(alias="X-Timezone", description="IANA time zone of the person's calendar. Defaults to UTC.")
]
Cursor: TypeAlias = Annotated[
    str | None, Query(max_length=8000, description="Cursor from the previous page of the same list.")
]


def set_rate_limit_headers(response: Response, allowance: Allowance | None) -> None:
    """Set the response headers that contain the number of requests that the caller may still send. Does nothing if
    `allowance` is None.
    """
    if allowance is not None:
        response.headers.update(allowance.headers())


class AddressRateLimit:
    """FastAPI dependency that limits the requests from each network address, and sets the rate limit headers of the
    response.
    """

    def __init__(self, base: Base, limit: Limit, trusted_proxies: int) -> None:
        self._base, self._limit, self._trusted_proxies = base, limit, trusted_proxies

    def __call__(self, request: Request, response: Response) -> None:
        """Count the request and set the rate limit headers. Raises RateLimitedError if the limit is reached."""
        set_rate_limit_headers(response, self._base.count(self._limit, client_address(request, self._trusted_proxies)))


def client_address(request: Request, trusted_proxies: int) -> str:
    """Return the client's network address. If `trusted_proxies` is 0, this is the address of the connection. Otherwise,
    it is the address that the outermost trusted proxy has reported.

    An IPv6 address is reduced to its /64 network, because a client usually controls all addresses in it. With n trusted
    proxies, the function returns the n-th entry from the right of X-Forwarded-For, because a client can forge all
    entries to the left of it. A proxy may add a second header instead of extending the client's header. Therefore, the
    values of all X-Forwarded-For headers are combined into one list (RFC 9110, section 5.3).
    """
    forwarded_addresses = ",".join(request.headers.getlist("X-Forwarded-For"))
    hops = [hop.strip() for hop in forwarded_addresses.split(",") if hop.strip()]
    if trusted_proxies and len(hops) >= trusted_proxies:
        return _network(hops[-trusted_proxies])
    return _network(request.client.host) if request.client is not None else "unknown"


def _network(address: str) -> str:
    try:
        ip = ip_address(address)
    except ValueError:
        return address[:64]
    if not isinstance(ip, IPv6Address):
        return str(ip)
    return str(ip.ipv4_mapped or IPv6Network((int(ip), 64), strict=False))


class SharedAddressRateLimit:
    """FastAPI dependency that limits the requests from each network address. All server processes share the request
    counters.
    """

    def __init__(self, limit: SharedLimit, trusted_proxies: int) -> None:
        self._limit, self._trusted_proxies = limit, trusted_proxies

    def __call__(self, request: Request) -> None:
        """Count the request. Raises TooManyRequestsError if the limit is reached."""
        self._limit.take(client_address(request, self._trusted_proxies))


class AgentAuthentication:
    """FastAPI dependency that authenticates an agent by its secret and returns the agent's ID."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents

    def __call__(self, secret: AgentSecret, x_agent_id: AgentHeader = None) -> str:
        """Return the agent's ID.

        Raises InvalidRequestError for an invalid header, or `Problem` with status 401 for a missing or wrong secret.
        """
        agent = requests.agent_id(x_agent_id)
        if secret is None:
            message = "Send the agent's secret as a bearer token; POST /agent/register issues one."
            raise Problem(401, message, headers=unauthorized().headers)
        if not self._agents.authenticate(agent, secret.credentials):
            raise unauthorized("The secret is not valid for this agent.")
        return agent


class PollingAgent:
    """FastAPI dependency that authenticates an agent, counts the request against the agent's limit on polls, and
    returns the agent's ID.
    """

    def __init__(self, base: Base, authentication: AgentAuthentication) -> None:
        self._base, self._authentication = base, authentication

    def __call__(self, response: Response, secret: AgentSecret, x_agent_id: AgentHeader = None) -> str:
        """Return the agent's ID, and set the rate limit headers.

        Raises InvalidRequestError for an invalid header, RateLimitedError if the limit is reached, or `Problem` with
        status 401 for a missing or wrong secret.
        """
        agent = self._authentication(secret, x_agent_id)
        set_rate_limit_headers(response, self._base.count(limits.POLLS, agent))
        return agent


class DeviceIdentity:
    """FastAPI dependency that returns the identity of the user whose device token is in the request."""

    def __init__(self, devices: Devices) -> None:
        self._devices = devices

    def __call__(self, token: DeviceToken) -> Identity:
        """Return the user's identity. Raises `Problem` with status 401 for a missing or unknown token."""
        if token is None:
            message = "Send the device's token as a bearer token; POST /human/devices issues one."
            raise Problem(401, message, headers=unauthorized().headers)
        identity = self._devices.identify(token.credentials)
        if identity is None:
            raise unauthorized("The device token is unknown.")
        return identity


class PersonIdentity:
    """FastAPI dependency that returns a user's identity. The request must contain a fingerprint and a device token that
    was issued for this fingerprint.
    """

    def __init__(self, device_identity: DeviceIdentity) -> None:
        self._device_identity = device_identity

    def __call__(self, token: DeviceToken, x_fingerprint: FingerprintHeader = None) -> Identity:
        """Return the user's identity.

        Raises InvalidRequestError for an invalid fingerprint, or `Problem` with status 401 if the token was not issued
        for the fingerprint.
        """
        fingerprint = requests.fingerprint_hash(x_fingerprint)
        identity = self._device_identity(token)
        if identity.fingerprint != fingerprint:
            raise unauthorized("The device token was issued for another fingerprint: register the device again.")
        return identity


class OptionalIdentity:
    """FastAPI dependency that returns a user's identity, or None if the request does not contain a fingerprint."""

    def __init__(self, person_identity: PersonIdentity) -> None:
        self._person_identity = person_identity

    def __call__(self, token: DeviceToken, x_fingerprint: FingerprintHeader = None) -> Identity | None:
        """Return the user's identity, or None if the request does not contain a fingerprint.

        Raises InvalidRequestError for an invalid fingerprint, or `Problem` with status 401 if the token was not issued
        for the fingerprint.
        """
        return None if x_fingerprint is None else self._person_identity(token, x_fingerprint)


def fingerprint(x_fingerprint: FingerprintHeader = None) -> str:
    """Return the hash of the fingerprint header. Raises InvalidRequestError if the header is invalid."""
    return requests.fingerprint_hash(x_fingerprint)


def zone(x_timezone: ZoneHeader = None) -> ZoneInfo:
    """Return the user's time zone from the request header. Raises InvalidRequestError if the header is invalid."""
    return timestamps.zone(x_timezone)


Fingerprint: TypeAlias = Annotated[str, Depends(fingerprint)]
Zone: TypeAlias = Annotated[ZoneInfo, Depends(zone)]

STYLE = ProblemStyle(
    invalid_status=400,
    invalid_code="VALIDATION_ERROR",
    malformed_status=400,
    malformed_code="VALIDATION_ERROR",
    server_code="SERVER_ERROR",
    unreadable_code="SERVER_ERROR",
    codes=UPPER_CODES,
)


def _refusal_problem(error: RefusedError) -> Problem:
    headers: dict[str, str] = {}
    if isinstance(error, RateLimitedError) and error.details is not None:
        allowance = Allowance(int(str(error.details["limit"])), 0, int(str(error.details["reset"])))
        headers = {**allowance.headers(), "Retry-After": str(error.retry_after_s)}
    return Problem(error.status, error.message, code=error.code, details=error.details, headers=headers)


def _rate_limit_problem(error: TooManyRequestsError) -> Problem:
    problem = too_many_problem(error)
    return Problem(problem.status_code, problem.message, code=RateLimitedError.code, headers=problem.headers)


def _busy_problem(_error: Exception) -> Problem:
    message = "The tables cannot be reached or are busy; send the request again."
    return Problem(503, message, code="SERVER_ERROR", headers={"Retry-After": "1"})


def _validation_problem(error: RequestValidationError) -> Problem:
    """Convert FastAPI's validation errors to a response in the error format of this API."""
    errors = error.errors()
    if any(entry["type"] == "json_invalid" for entry in errors):
        errors = [{"loc": (), "msg": "is not valid JSON", "type": "json_invalid"}]
    else:
        errors = [{**entry, "loc": entry["loc"][1:]} for entry in errors]
    return _refusal_problem(requests.refusal(errors))


def _cursor_problem(_error: CursorError) -> Problem:
    details = {"field": "cursor", "constraint": "cursor"}
    return Problem(400, "cursor: does not belong to this list", code="VALIDATION_ERROR", details=details)


TRANSLATIONS: Mapping[type[Exception], Translation] = {
    RefusedError: _refusal_problem,
    TooManyRequestsError: _rate_limit_problem,
    RequestValidationError: _validation_problem,
    CursorError: _cursor_problem,
    BusyError: _busy_problem,
    ThrottledError: _busy_problem,
    WriteConflictError: _busy_problem,
    UnavailableError: _busy_problem,
}
"""Mapping from each exception class that routes can raise to the function that converts the exception to an HTTP
response.
"""
