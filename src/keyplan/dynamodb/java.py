"""Display and order of names in messages, as in the service's Java."""

from __future__ import annotations

from collections.abc import Iterable

_SMALLEST_TABLE = 16
_FILL = 0.75


def hash_order(names: Iterable[str], hidden: int = 0) -> list[str]:
    """Return the names in the order of a Java hash map that holds them and `hidden` more.

    The names are spread over a table whose size is a power of two (16, doubled while more than three quarters full)
    and listed by position; names with the same position keep their order. This reproduces every recorded message
    that lists names (inferred from them; the service documents no order).
    """
    listed = list(names)
    table = _SMALLEST_TABLE
    while len(listed) + hidden > table * _FILL:
        table *= 2
    return sorted(listed, key=lambda name: _spread(name) & (table - 1))


def _spread(name: str) -> int:
    """Return Java's hash of a string (s[0]*31^(n-1) + ...), with the high half folded into the low one."""
    code = 0
    for character in name:
        code = (code * 31 + ord(character)) & 0xFFFFFFFF
    return code ^ (code >> 16)


def byte_buffer(length: int) -> str:
    """Return the text of binary content of this length."""
    return f"java.nio.HeapByteBuffer[pos=0 lim={length} cap={length}]"
