"""Secrets of agents and tokens of devices. They are random, shown once, and stored as hashes.

Each secret has 256 random bits from the operating system. Such a secret cannot be guessed with a dictionary attack, so
a plain SHA-256 hash is sufficient.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

_BYTES = 32


def new_secret(kind: str) -> str:
    """Return a new random secret. It starts with `kind`, so that users and secret scanners can recognize it."""
    return f"aah_{kind}_{secrets.token_urlsafe(_BYTES)}"


def secret_hash(secret: str) -> str:
    """Return the hash of a secret in the form in which it is stored: SHA-256 as a hexadecimal string."""
    return hashlib.sha256(secret.encode()).hexdigest()


def hashes_match(secret_hash: str, stored_hash: str | None) -> bool:
    """Return True if the two hashes are equal. Return False if they differ or `stored_hash` is None.

    The comparison takes constant time, so that response times do not reveal parts of the stored hash.
    """
    return stored_hash is not None and hmac.compare_digest(secret_hash, stored_hash)
