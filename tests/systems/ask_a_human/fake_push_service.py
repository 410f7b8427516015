"""Push service of a browser with scripted answers, and a browser's keys, with which its messages are decrypted."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import http_ece
import httpx
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from py_vapid import Vapid02

ENDPOINT = "https://updates.push.services.mozilla.com/wpush/v2/abc"


def text_of(content: bytes) -> str:
    """Return bytes as base64url without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


@dataclass
class FakeBrowser:
    """Browser with a subscription."""

    endpoint: str = ENDPOINT
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    auth: bytes = b"0123456789abcdef"

    @property
    def subscription(self) -> dict[str, Any]:
        """Return the subscription as `PushSubscription.toJSON()` does."""
        point = self.key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )
        return {"endpoint": self.endpoint, "keys": {"p256dh": text_of(point), "auth": text_of(self.auth)}}

    def read(self, sealed: bytes) -> dict[str, Any]:
        """Decrypt a message."""
        plain = http_ece.decrypt(sealed, private_key=self.key, auth_secret=self.auth, version="aes128gcm")
        message: dict[str, Any] = json.loads(plain)
        return message


@dataclass
class FakePushService:
    """Push service; it answers 201 unless the test scripts another answer."""

    answers: list[httpx.Response] = field(default_factory=list)
    requests: list[httpx.Request] = field(default_factory=list)

    def client(self) -> httpx.AsyncClient:
        """Return an HTTP client whose requests arrive here."""
        return httpx.AsyncClient(transport=httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        assert Vapid02.verify(request.headers["Authorization"]), "the signature does not fit its key"
        self.requests.append(request)
        return self.answers.pop(0) if self.answers else httpx.Response(201, headers={"Location": "https://x/m/1"})
