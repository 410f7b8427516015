"""Creates a key pair for local development in a folder, and issues tokens that are signed with it.

Use the key pair only for development, because everyone who can read the folder can sign tokens.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jwt
import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from keyplan.clock import Clock, SystemClock
from keyplan_systems.web.files import private_key
from keyplan_systems.web.secret import Secret

KEY_FILE: Final = "development-key.pem"
DEFAULT_ISSUER: Final = "keyplan-development"


@dataclass(frozen=True)
class DevelopmentKey:
    """An Ed25519 key pair. `key_id` is the RFC 7638 thumbprint of the public key."""

    private_key: Ed25519PrivateKey
    key_id: str

    def jwks(self) -> bytes:
        """Return a JSON Web Key Set (JWKS) with the public key, which can be passed to `StaticKeys` or written to a
        file.
        """
        public_jwk = {**_public_jwk(self.private_key), "kid": self.key_id, "alg": "EdDSA", "use": "sig"}
        return orjson.dumps({"keys": [public_jwk]})

    def derive_key(self, purpose: str) -> bytes:
        """Return 32 secret bytes that are derived from the private key and `purpose`. They are the same on every
        machine that has this key.
        """
        return Secret(self.private_key.private_bytes_raw()).derive_key(purpose)


def development_key(folder: Path) -> DevelopmentKey:
    """Return the key pair in a folder. It is generated if it does not exist.

    Raises KeyFileError if the file cannot be used.
    """
    key = private_key(folder / KEY_FILE)
    return DevelopmentKey(key, _thumbprint(key))


def _public_jwk(key: Ed25519PrivateKey) -> dict[str, str]:
    raw = key.public_key().public_bytes_raw()
    return {"crv": "Ed25519", "kty": "OKP", "x": _base64url(raw)}


def _thumbprint(key: Ed25519PrivateKey) -> str:
    """Return the RFC 7638 thumbprint of a key. It is the SHA-256 hash of the required members of the public key as
    JSON, sorted by name.
    """
    canonical = orjson.dumps(_public_jwk(key), option=orjson.OPT_SORT_KEYS)
    return _base64url(hashlib.sha256(canonical).digest())


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def issue_development_token(
    key: DevelopmentKey,
    subject: str,
    *,
    audience: str,
    issuer: str = DEFAULT_ISSUER,
    roles: Iterable[str] = (),
    roles_claim: str = "roles",
    lifetime_s: int = 3600,
    claims: Mapping[str, Any] | None = None,
    clock: Clock | None = None,
) -> str:
    """Return a signed token for the user whose ID is `subject`. The token is valid for `lifetime_s` seconds from now.

    `claims` are added to the token and can replace any other claim, including `exp`, because tests also need invalid
    tokens. If `claims` contains `email` but not `email_verified`, `email_verified: true` is added.
    """
    now_s = int((clock or SystemClock()).now())
    verified_claim = {"email_verified": True} if claims and claims.get("email") is not None else {}
    payload: dict[str, Any] = {
        "iss": issuer,
        "aud": audience,
        "sub": subject,
        "iat": now_s,
        "exp": now_s + lifetime_s,
        roles_claim: list(roles),
        **verified_claim,
        **(claims or {}),
    }
    return jwt.encode(payload, key.private_key, algorithm="EdDSA", headers={"kid": key.key_id})
