"""Verification of email addresses with codes: hashing, comparison and limits.

Only hashes of codes are stored. A code is generated when its email is sent, so if the email is sent again, it contains
a different code. The codes in the most recent emails are accepted.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

CODE_VALID: Final = timedelta(hours=1)
MAX_TRIES: Final = 5
HASHES_KEPT: Final = 3
"""Number of most recent verification codes that are accepted for an email address.

If the delivery of an email is not confirmed, the email is sent again with a different code, so a user may receive
several codes.
"""
_MISREAD: Final = str.maketrans({"O": "0", "I": "1", "L": "1", "-": None, " ": None})
_COST: Final = 2**13
"""Cost parameter N of scrypt. With this value, each hash requires 8 MB of memory and about ten milliseconds."""


def hash_code(code: str, salt: str) -> str:
    """Return the hash of a verification code, as it is stored. Case and dashes are ignored, and the letter O is treated
    as the digit 0.
    """
    normalized_code = code.upper().translate(_MISREAD)
    return hashlib.scrypt(normalized_code.encode(), salt=salt.encode(), n=_COST, r=8, p=1, dklen=32).hex()


def code_matches(text: str, salt: str, hashes: Sequence[str]) -> bool:
    """Return True if the entered text matches one of the hashes of verification codes.

    The comparison takes the same time for every text.
    """
    candidate = hash_code(text, salt).encode()
    matches = [hmac.compare_digest(candidate, stored_hash.encode()) for stored_hash in hashes]
    return any(matches)
