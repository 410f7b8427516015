"""Sends push messages with Firebase Cloud Messaging (FCM).

Errors are distinguished as described in the FCM reference (firebase.google.com, FCM REST v1, ErrorCode). The specific
error code is in a detail of type FcmError; the status of the response is less specific. A token is treated as invalid
only if the response refers to the token itself. INVALID_ARGUMENT can also mean a malformed message, and
SENDER_ID_MISMATCH means that the credentials belong to a different project. In these two cases, users must keep their
subscriptions. Links must be https URLs, because FCM does not accept other links.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import httpx
from google.auth import exceptions as google_errors
from google.auth import transport as google_transport
from google.auth.credentials import Credentials
from google.oauth2 import service_account
from pydantic import BaseModel, ConfigDict, ValidationError

from keyplan.clock import Clock
from keyplan_systems.ask_a_human.domain.notifications import DeadToken, Delivered, Outcome, Rejected, TryLater
from keyplan_systems.ask_a_human.domain.timestamps import retry_after_s

FCM_URL = "https://fcm.googleapis.com"
FCM_SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
TIMEOUT_S = 10.0
QUOTA_PAUSE_S = 60.0  # the quota refills each minute; used if the response contains no time
LONGEST_PAUSE_S = 30 * 86_400.0  # longer than the lifetime of any question; longer values are ignored


@dataclass(frozen=True, slots=True)
class PushMessage:
    """A push message to one browser. It expires after `lives_s` seconds, at the deadline of its question."""

    token: str
    question_id: str
    title: str
    body: str
    link: str
    lives_s: int


class Notifier(Protocol):
    """Interface for sending push messages. Errors of the push service are returned as outcomes and not raised."""

    async def send(self, message: PushMessage) -> Outcome:
        """Send a message and return the outcome."""

    async def close(self) -> None:
        """Close all connections and files."""


class HttpxTransport(google_transport.Request):
    """HTTP transport for google-auth that uses httpx, so that a second HTTP library is not needed."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_: object,
    ) -> _TransportResponse:
        """Send a request. Raises google-auth's TransportError if no response is received."""
        try:
            response = self._client.request(
                method, url, content=body, headers=dict(headers or {}), timeout=timeout or TIMEOUT_S
            )
        except httpx.HTTPError as error:
            raise google_errors.TransportError(error) from error  # type: ignore[no-untyped-call]  # has no annotations
        return _TransportResponse(response)


class _TransportResponse(google_transport.Response):
    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    @property
    def status(self) -> int:
        return self._response.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    @property
    def data(self) -> bytes:
        return self._response.content


class FcmNotifier:
    """Sends push messages with the HTTP v1 API of Firebase Cloud Messaging."""

    def __init__(self, credentials: Credentials, project_id: str, clock: Clock, *, base_url: str = FCM_URL) -> None:
        self._credentials = credentials
        self._clock = clock
        self._url = f"{base_url}/v1/projects/{project_id}/messages:send"
        self._client = httpx.AsyncClient(timeout=TIMEOUT_S)
        self._token_client = httpx.Client(timeout=TIMEOUT_S)
        self._refreshing = threading.Lock()

    @classmethod
    def from_file(cls, path: Path, clock: Clock, *, base_url: str = FCM_URL) -> FcmNotifier:
        """Return a notifier for the service account in a JSON key file.

        Raises ValueError for an invalid key file, and OSError for an unreadable one.
        """
        load = service_account.Credentials.from_service_account_file
        credentials = load(str(path), scopes=[FCM_SCOPE])  # type: ignore[no-untyped-call]  # has no annotations
        if not credentials.project_id:
            raise ValueError(f"{path} has no project_id: it is not a service account key for Firebase")
        return cls(credentials, credentials.project_id, clock, base_url=base_url)

    async def send(self, message: PushMessage) -> Outcome:
        """Send a message and return the outcome.

        If the response is lost or invalid, the outcome is TryLater. In rare cases, a message is therefore delivered
        twice.
        """
        try:
            response = await self._post(message, await self._token(rejected_token=None))
            if response.status_code == httpx.codes.UNAUTHORIZED and not _is_push_key_error(response):
                stale_token = response.request.headers["Authorization"].removeprefix("Bearer ")
                response = await self._post(message, await self._token(rejected_token=stale_token))
        except httpx.TransportError as error:
            return TryLater(f"FCM cannot be reached: {error!r}")
        except httpx.DecodingError as error:
            return TryLater(f"the response from FCM cannot be read: {error!r}")
        except google_errors.TransportError as error:
            return TryLater(f"the token service cannot be reached: {error}")
        except google_errors.RefreshError as error:
            return _token_error_outcome(error)
        return outcome(response, self._clock.now())

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()
        self._token_client.close()

    async def _post(self, message: PushMessage, token: str) -> httpx.Response:
        return await self._client.post(self._url, json=payload(message), headers={"Authorization": f"Bearer {token}"})

    async def _token(self, rejected_token: str | None) -> str:
        """Return a valid access token. If necessary, a new token is fetched in a thread. `rejected_token` is a token
        that FCM has rejected and that must not be returned again, or None.
        """
        if self._credentials.valid and self._credentials.token != rejected_token:
            return str(self._credentials.token)
        await asyncio.to_thread(self._refresh, rejected_token)
        return str(self._credentials.token)

    def _refresh(self, rejected_token: str | None) -> None:
        with self._refreshing:  # a concurrent task has fetched the token already
            if not self._credentials.valid or self._credentials.token == rejected_token:
                transport = HttpxTransport(self._token_client)
                self._credentials.refresh(transport)  # type: ignore[no-untyped-call]  # has no annotations


def payload(message: PushMessage) -> dict[str, object]:
    """Return the JSON body of the FCM request that sends the message as a web push message. FCM discards the message
    after the deadline of the question.
    """
    return {
        "message": {
            "token": message.token,
            "data": {"question_id": message.question_id, "url": message.link},
            "webpush": {
                "headers": {"TTL": str(max(0, message.lives_s))},
                "notification": {"title": message.title, "body": message.body, "tag": message.question_id},
                "fcm_options": {"link": message.link},
            },
        }
    }


class _Violation(BaseModel):
    model_config = ConfigDict(extra="ignore")
    field: str = ""


class _Detail(BaseModel):
    model_config = ConfigDict(extra="ignore")
    errorCode: str | None = None  # noqa: N815 - the service's own name
    fieldViolations: tuple[_Violation, ...] = ()  # noqa: N815 - the service's own name


class _FcmError(BaseModel):
    model_config = ConfigDict(extra="ignore")
    message: str = ""
    status: str = ""
    details: tuple[_Detail, ...] = ()

    @property
    def code(self) -> str:
        """The FCM-specific error code, or the general status if the response does not contain an FCM-specific code."""
        return next((detail.errorCode for detail in self.details if detail.errorCode), self.status)

    @property
    def is_token_error(self) -> bool:
        """Whether the push token, and not another part of the message, caused the error."""
        fields = [violation.field for detail in self.details for violation in detail.fieldViolations]
        return "message.token" in fields if fields else "registration token" in self.message


class _FcmErrorBody(BaseModel):
    model_config = ConfigDict(extra="ignore")
    error: _FcmError


class _FcmResult(BaseModel):
    name: str


def outcome(response: httpx.Response, now_s: float) -> Outcome:
    """Convert a response from FCM to the outcome of sending a message. `now_s` is the current time in epoch seconds."""
    if response.is_success:
        try:
            return Delivered(_FcmResult.model_validate_json(response.content).name)
        except ValidationError:
            return Rejected(f"the response from FCM with status {response.status_code} has no message name")
    fcm_error = _fcm_error(response)
    reason = f"{response.status_code} {fcm_error.code}: {fcm_error.message}"
    if fcm_error.code == "UNREGISTERED" or (fcm_error.code == "INVALID_ARGUMENT" and fcm_error.is_token_error):
        return DeadToken(reason)
    requested_s = retry_after_s(response.headers.get("Retry-After"), now_s)
    pause_s = None if requested_s is None else min(requested_s, LONGEST_PAUSE_S)
    if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
        return TryLater(reason, QUOTA_PAUSE_S if pause_s is None else pause_s)
    if response.is_server_error:
        return TryLater(reason, pause_s)
    return Rejected(reason)


def _fcm_error(response: httpx.Response) -> _FcmError:
    """Return the error that a response body contains. If the body is not in FCM's format, the error contains only the
    reason phrase of the response.
    """
    try:
        return _FcmErrorBody.model_validate_json(response.content).error
    except ValidationError:
        return _FcmError(message=response.reason_phrase)


def _is_push_key_error(response: httpx.Response) -> bool:
    return _fcm_error(response).code == "THIRD_PARTY_AUTH_ERROR"


def _token_error_outcome(error: google_errors.RefreshError) -> Outcome:
    reason = f"no access token: {error}"
    return TryLater(reason) if error.retryable else Rejected(reason)
