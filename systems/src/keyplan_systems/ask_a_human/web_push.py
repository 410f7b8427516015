"""Sends encrypted Web Push messages to browsers (RFC 8291), signed with the server's key (VAPID, RFC 8292).

A browser's subscription is stored in place of a Firebase token, as JSON with its endpoint and keys. The endpoint URL
comes from the browser. Therefore, the server sends messages only to hosts of known push services and never to hosts in
its own network.
"""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from py_vapid import Vapid02
from pywebpush import WebPusher

from keyplan.clock import Clock
from keyplan_systems.ask_a_human.domain.notifications import DeadToken, Delivered, Outcome, Rejected, TryLater
from keyplan_systems.ask_a_human.domain.refusals import InvalidRequestError
from keyplan_systems.ask_a_human.domain.timestamps import retry_after_s
from keyplan_systems.ask_a_human.notifier import LONGEST_PAUSE_S, QUOTA_PAUSE_S, TIMEOUT_S, Notifier, PushMessage
from keyplan_systems.web.files import KeyFileError, write_if_missing
from keyplan_systems.web.secret import Secret

CONTACT_VARIABLE: Final = "KEYPLAN_ASK_A_HUMAN_PUSH_CONTACT"
"""Environment variable with the operator's contact address for push services, such as mailto:ops@example.org."""
DEFAULT_CONTACT: Final = "mailto:operator@ask-a-human.example"
SERVICES: Final = (
    "fcm.googleapis.com",
    "updates.push.services.mozilla.com",
    ".push.services.mozilla.com",
    ".notify.windows.com",
    ".push.apple.com",
)
"""Hosts of push services that browsers use. A leading dot matches all subdomains."""
KEY_FILE: Final = "web-push.pem"
_SIGNED_FOR_S: Final = 12 * 3600
_POINT_BYTES, _AUTH_BYTES = 65, 16
_ENDPOINT_CHARACTERS: Final = 2000
_P256_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@dataclass(frozen=True, slots=True)
class PushTarget:
    """A browser's push subscription: its endpoint at a push service, and the keys for encrypting messages to the
    browser.
    """

    endpoint: str
    p256dh: str
    auth: str

    @classmethod
    def parse(cls, subscription: object) -> PushTarget:
        """Parse a value from `PushSubscription.toJSON()`. Raises InvalidRequestError if it is invalid."""
        try:
            keys = subscription["keys"]  # type: ignore[index]  # whatever a client sends
            target = cls(str(subscription["endpoint"]), keys["p256dh"], keys["auth"])  # type: ignore[index]
            point, auth = _bytes_of(target.p256dh), _bytes_of(target.auth)
            ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _invalid("is not a push subscription of a browser") from error
        if len(auth) != _AUTH_BYTES or len(point) != _POINT_BYTES:
            raise _invalid("has keys of the wrong length")
        if len(target.endpoint) > _ENDPOINT_CHARACTERS or not _is_https(target.endpoint):
            raise _invalid("has an endpoint that is not an https URL")
        return target

    @property
    def text(self) -> str:
        """The text form in which the push subscription is stored. Equal subscriptions have the same text."""
        keys = {"auth": self.auth, "p256dh": self.p256dh}
        return json.dumps({"endpoint": self.endpoint, "keys": keys}, separators=(",", ":"))


def is_target(token: str) -> bool:
    """Return True if a stored push token is a browser's Web Push subscription, and False if it is a Firebase token."""
    return token.startswith("{")


class WebPushNotifier:
    """Sends Web Push messages to browsers."""

    def __init__(
        self,
        key: ec.EllipticCurvePrivateKey,
        clock: Clock,
        *,
        contact: str = DEFAULT_CONTACT,
        services: tuple[str, ...] = SERVICES,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        """Create a notifier that signs messages with `key` and sends them only to the hosts in `services`. `contact` is
        the operator's address for push services. If `client` is given, it is used instead of a new HTTP client.
        """
        self._vapid = Vapid02(private_key=key)
        self._clock, self._contact, self._services = clock, contact, services
        self._client = client or httpx.AsyncClient(timeout=TIMEOUT_S, follow_redirects=False, trust_env=False)

    async def send(self, message: PushMessage) -> Outcome:
        """Send a message and return the outcome.

        If the response is lost, the outcome is TryLater. In rare cases, a message is therefore delivered twice.
        """
        try:
            target = PushTarget.parse(json.loads(message.token))
        except (InvalidRequestError, ValueError) as error:
            return DeadToken(f"not a push subscription of a browser: {error}")
        host = urlsplit(target.endpoint).hostname or ""
        if not _is_known_service(host, self._services):
            return DeadToken(f"{host} is not a known push service")
        body = json.dumps({"title": message.title, "body": message.body, "question_id": message.question_id})
        keys = {"p256dh": target.p256dh, "auth": target.auth}
        encrypted_body = WebPusher({"endpoint": target.endpoint, "keys": keys}).encode(body.encode())["body"]
        headers = {
            "TTL": str(max(0, message.lives_s)),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "Urgency": "normal",
            **self._signature(target.endpoint),
        }
        try:
            response = await self._client.post(target.endpoint, content=encrypted_body, headers=headers)
        except httpx.HTTPError as error:
            return TryLater(f"{host} cannot be reached: {error!r}")
        return _outcome(response, self._clock.now())

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    def _signature(self, endpoint: str) -> Mapping[str, str]:
        parts = urlsplit(endpoint)
        claims = {
            "sub": self._contact,
            "aud": f"{parts.scheme}://{parts.netloc}",
            "exp": int(self._clock.now()) + _SIGNED_FOR_S,
        }
        signature_headers: Mapping[str, str] = self._vapid.sign(claims)
        return signature_headers


class Dispatcher:
    """Sends messages to browsers with Web Push, and messages to all other push tokens with a second notifier."""

    def __init__(self, browsers: Notifier, fallback: Notifier) -> None:
        self._browsers, self._fallback = browsers, fallback

    async def send(self, message: PushMessage) -> Outcome:
        """Send a message with the notifier that supports its push token."""
        return await (self._browsers if is_target(message.token) else self._fallback).send(message)

    async def close(self) -> None:
        """Close both notifiers."""
        await self._browsers.close()
        await self._fallback.close()


def contact_from(environment: Mapping[str, str] | None = None) -> str:
    """Return the operator's contact address from the environment.

    Raises ValueError if it is not a mailto: or https: URL.
    """
    contact = (os.environ if environment is None else environment).get(CONTACT_VARIABLE) or DEFAULT_CONTACT
    if not contact.startswith(("mailto:", "https://")):
        raise ValueError(f"{CONTACT_VARIABLE} must be a mailto: or https: URL, got {contact!r}")
    return contact


def server_key(folder: Path, secret: Secret | None = None) -> ec.EllipticCurvePrivateKey:
    """Return the server's signing key for Web Push. It is derived from `secret` if a shared secret is given. Otherwise,
    it is read from a file in `folder`. If the file does not exist, a new key is generated and stored in it.

    Raises KeyFileError if the file cannot be created, is readable by other users, or does not contain a P-256 key.
    """
    if secret is not None:
        number = int.from_bytes(secret.derive_key("web push"), "big") % (_P256_ORDER - 1) + 1
        return ec.derive_private_key(number, ec.SECP256R1())
    path = folder / KEY_FILE
    try:
        if not path.exists():
            private_key = ec.generate_private_key(ec.SECP256R1())
            write_if_missing(
                path,
                private_key.private_bytes(
                    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
                ),
            )
        mode = stat.S_IMODE(path.stat().st_mode)
        if os.name == "posix" and mode & 0o077:
            raise KeyFileError(f"{path} is readable by other users (mode {mode:o}): run chmod 600 on it, or delete it")
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise KeyFileError(f"cannot create or read {path}: {error.strerror}") from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyFileError(f"{path} is not a private key: delete the file to generate a new key") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise KeyFileError(f"{path} is not a P-256 key: delete the file to generate a new key")
    return key


def public_key_text(key: ec.EllipticCurvePrivateKey) -> str:
    """Return the public key in the format that `PushManager.subscribe` expects: base64url without padding."""
    point = key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    return base64.urlsafe_b64encode(point).rstrip(b"=").decode()


def _outcome(response: httpx.Response, now_s: float) -> Outcome:
    reason = f"{response.status_code}: {response.text[:200]}"
    if response.is_success:
        return Delivered(response.headers.get("Location", "accepted"))
    if response.status_code in (httpx.codes.NOT_FOUND, httpx.codes.GONE):
        return DeadToken(reason)
    requested_s = retry_after_s(response.headers.get("Retry-After"), now_s)
    pause_s = None if requested_s is None else min(requested_s, LONGEST_PAUSE_S)
    if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
        return TryLater(reason, QUOTA_PAUSE_S if pause_s is None else pause_s)
    return TryLater(reason, pause_s) if response.is_server_error else Rejected(reason)


def _is_known_service(host: str, services: tuple[str, ...]) -> bool:
    return any(host.endswith(service) if service.startswith(".") else host == service for service in services)


def _is_https(endpoint: str) -> bool:
    parts = urlsplit(endpoint)
    return parts.scheme == "https" and bool(parts.hostname) and parts.username is None


def _bytes_of(text: str) -> bytes:
    return base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))


def _invalid(problem: str) -> InvalidRequestError:
    return InvalidRequestError(f"subscription: {problem}", {"field": "subscription", "constraint": "format"})
