"""Confirmation codes of eight characters in Crockford's base 32, which are easy to read aloud and to type.

The alphabet excludes I, L, O and U, which can be confused with other characters.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Final

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
CODE_CHARACTERS: Final = 8
_BITS_PER_CHARACTER: Final = 5
_CODE_BYTES: Final = CODE_CHARACTERS * _BITS_PER_CHARACTER // 8


def new_code(random_bytes: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """Return a new code with 40 random bits.

    `random_bytes` must be cryptographically secure, because a code grants access.
    """
    number = int.from_bytes(random_bytes(_CODE_BYTES), "big")
    shifts = range((CODE_CHARACTERS - 1) * _BITS_PER_CHARACTER, -1, -_BITS_PER_CHARACTER)
    return "".join(ALPHABET[number >> shift & 31] for shift in shifts)


def readable_code(code: str) -> str:
    """Return a stored code in the format in which it is displayed: two halves separated by a dash."""
    return f"{code[:4]}-{code[4:]}"
