"""Secrets of agents and tokens of devices: random, shown once, stored as a hash.

Each has 256 random bits from the operating system. Dictionary attacks are impossible, so a plain SHA-256 is stored.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

_BYTES = 32


def new_secret(kind: str) -> str:
    """Return a new secret that starts with its kind, so that people and scanners recognize it."""
    return f"aah_{kind}_{secrets.token_urlsafe(_BYTES)}"


def secret_hash(secret: str) -> str:
    """Return the SHA-256 of a secret in hexadecimal digits: the stored form."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_secret_of(given_hash: str, stored_hash: str | None) -> bool:
    """Compare two hashes in constant time; False if none is stored."""
    return stored_hash is not None and hmac.compare_digest(given_hash, stored_hash)
