"""Verification of email addresses by codes, which are hashed, compared and limited.

Only hashes are stored. A code is generated when its email is sent, so an email that is sent again contains another
code. The codes of the most recent emails are accepted.
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
"""Number of accepted codes. Several are accepted, because an email whose delivery was not confirmed is sent again with
another code."""
_MISREAD: Final = str.maketrans({"O": "0", "I": "1", "L": "1", "-": None, " ": None})
_COST: Final = 2**13
"""Cost parameters of scrypt. Each comparison takes 8 MB and about ten milliseconds."""


def hashed_code(code: str, salt: str) -> str:
    """Return the stored hash of a code. It ignores case and dashes, and treats O as 0."""
    written = code.upper().translate(_MISREAD)
    return hashlib.scrypt(written.encode(), salt=salt.encode(), n=_COST, r=8, p=1, dklen=32).hex()


def is_code(text: str, salt: str, hashes: Sequence[str]) -> bool:
    """Return True if the text is one of the hashed codes. The duration does not depend on the text."""
    candidate = hashed_code(text, salt).encode()
    matches = [hmac.compare_digest(candidate, stored.encode()) for stored in hashes]
    return any(matches)
