"""Formatting and order of names in messages, as in the service's Java code."""

from __future__ import annotations

from collections.abc import Iterable

_SMALLEST_TABLE = 16
_FILL = 0.75


def hash_order(names: Iterable[str], hidden: int = 0) -> list[str]:
    """Return the names in the order of a Java hash map that contains them and `hidden` other names.

    The names are distributed over a table whose size is a power of two. The size is 16 and doubles while the table is
    more than three quarters full. The names are listed by position, and names with the same position keep their order.
    This order is inferred from recorded messages, because the service does not document it. It matches all of them.
    """
    listed = list(names)
    table = _SMALLEST_TABLE
    while len(listed) + hidden > table * _FILL:
        table *= 2
    return sorted(listed, key=lambda name: _spread(name) & (table - 1))


def _spread(name: str) -> int:
    """Return Java's hash of a string (s[0]*31^(n-1) + ...) with the high half folded into the low half."""
    code = 0
    for character in name:
        code = (code * 31 + ord(character)) & 0xFFFFFFFF
    return code ^ (code >> 16)


def byte_buffer(length: int) -> str:
    """Return Java's text for a byte buffer of this length."""
    return f"java.nio.HeapByteBuffer[pos=0 lim={length} cap={length}]"
