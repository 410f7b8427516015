"""A key pair for local work: made on the first start into a folder, and tokens signed with it.

For development only: whoever can read the folder can sign tokens. Several processes may start at once; the
first to put its file in place wins and all use that one.
"""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jwt
import orjson
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from keyplan.clock import Clock, SystemClock

KEY_FILE: Final = "development-key.pem"
DEFAULT_ISSUER: Final = "keyplan-development"


class DevelopmentKeyError(Exception):
    """The folder's key file cannot be used; the message says what to do."""


@dataclass(frozen=True)
class DevelopmentKey:
    """An Ed25519 key pair; `key_id` is its RFC 7638 thumbprint."""

    private_key: Ed25519PrivateKey
    key_id: str

    def jwks(self) -> bytes:
        """The public half as a JWKS document, for `StaticKeys` or a file."""
        public = {**_public_jwk(self.private_key), "kid": self.key_id, "alg": "EdDSA", "use": "sig"}
        return orjson.dumps({"keys": [public]})

    def derived(self, purpose: str) -> bytes:
        """32 secret bytes for another purpose: the same wherever this key is, and telling nothing of it."""
        derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose.encode())
        return derivation.derive(self.private_key.private_bytes_raw())


def development_key(folder: Path) -> DevelopmentKey:
    """The folder's key pair, made if there is none yet.

    The file is readable by its owner only. DevelopmentKeyError if it cannot be made, is open to others, or is no
    Ed25519 key.
    """
    path = folder / KEY_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            _create(path)
        return _load(path)
    except OSError as error:
        raise DevelopmentKeyError(f"cannot make or read {path}: {error.strerror}") from error


def _create(path: Path) -> None:
    """Write a new key completely under another name, then link it into place unless another process was faster."""
    pem = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(draft)
    except FileExistsError:
        return
    finally:
        draft.unlink()


def _load(path: Path) -> DevelopmentKey:
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        raise DevelopmentKeyError(f"{path} can be read by others (mode {mode:o}): run chmod 600 on it, or delete it")
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise DevelopmentKeyError(f"{path} is no private key: delete it, and a new one is made") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise DevelopmentKeyError(f"{path} is no Ed25519 key: delete it, and a new one is made")
    return DevelopmentKey(key, _thumbprint(key))


def _public_jwk(key: Ed25519PrivateKey) -> dict[str, str]:
    raw = key.public_key().public_bytes_raw()
    return {"crv": "Ed25519", "kty": "OKP", "x": _base64url(raw)}


def _thumbprint(key: Ed25519PrivateKey) -> str:
    """RFC 7638: SHA-256 over the required members in alphabetical order."""
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
    """A signed token for this subject, valid from now for `lifetime_s` seconds.

    `claims` may add to or replace what stands in it, also `exp` and the like: tests need wrong tokens too.
    """
    now_s = int((clock or SystemClock()).now())
    payload: dict[str, Any] = {
        "iss": issuer,
        "aud": audience,
        "sub": subject,
        "iat": now_s,
        "exp": now_s + lifetime_s,
        roles_claim: list(roles),
        **(claims or {}),
    }
    return jwt.encode(payload, key.private_key, algorithm="EdDSA", headers={"kid": key.key_id})
