"""A secret that replicas share. Separate keys for cursors and tokens are derived from it.

    KEYPLAN_SECRET="$(openssl rand -base64 48)" keyplan up ...

Without the secret, the keys are stored in the data folder, so replicas with different data folders reject each other's
cursors and tokens.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

SECRET_VARIABLE: Final = "KEYPLAN_SECRET"  # noqa: S105 - a name, not a password
SHORTEST_CHARACTERS: Final = 32
_KEY_BYTES: Final = 32


@dataclass(frozen=True)
class Secret:
    """A secret from which keys are derived with HKDF (RFC 5869). A derived key does not reveal the other keys."""

    material: bytes = field(repr=False)

    def derive_key(self, purpose: str) -> bytes:
        """Return 32 secret bytes that are derived from the secret and `purpose`. They are the same for all replicas."""
        return HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=purpose.encode()).derive(self.material)

    def signing_key(self, purpose: str) -> Ed25519PrivateKey:
        """Return a private key for signatures that is derived from the secret and `purpose`. It is the same for all
        replicas.
        """
        return Ed25519PrivateKey.from_private_bytes(self.derive_key(purpose))


def secret_from(environment: Mapping[str, str] | None = None) -> Secret | None:
    """Return the secret in the environment variable KEYPLAN_SECRET, or None if the variable is unset or empty.

    Raises ValueError if the secret is too short.
    """
    text = (os.environ if environment is None else environment).get(SECRET_VARIABLE)
    if not text:
        return None
    if len(text) < SHORTEST_CHARACTERS:
        raise ValueError(
            f"{SECRET_VARIABLE} has {len(text)} characters; at least {SHORTEST_CHARACTERS} are needed:"
            " generate one with `openssl rand -base64 48`"
        )
    return Secret(text.encode())
