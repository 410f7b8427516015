"""Secrets of agents and tokens of devices, which are random, shown once and stored as hashes.

Each has 256 random bits from the operating system. Dictionary attacks are impossible, so a plain SHA-256 hash is
sufficient.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

_BYTES = 32


def new_secret(kind: str) -> str:
    """Return a new secret that starts with its kind, so that users and scanners can recognize it."""
    return f"aah_{kind}_{secrets.token_urlsafe(_BYTES)}"


def secret_hash(secret: str) -> str:
    """Return the SHA-256 hash of a secret in hexadecimal, which is the stored form."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_secret_of(given_hash: str, stored_hash: str | None) -> bool:
    """Compare two hashes in constant time. The result is False if none is stored."""
    return stored_hash is not None and hmac.compare_digest(given_hash, stored_hash)
