"""Formatting and order of names in messages, which follow the Java code of DynamoDB."""

from __future__ import annotations

from collections.abc import Iterable

_SMALLEST_TABLE = 16
_FILL = 0.75


def hash_order(names: Iterable[str], hidden_count: int = 0) -> list[str]:
    """Return the names in the iteration order of a Java hash map that contains these and `hidden_count` other names.

    A Java hash map is a table whose size is a power of two. The size is 16 and doubles while the table is more than 75%
    full. The names are listed by position, and names with the same position keep their order. DynamoDB does not
    document this order. It was inferred from recorded messages, and matches all of them.
    """
    name_list = list(names)
    table_size = _SMALLEST_TABLE
    while len(name_list) + hidden_count > table_size * _FILL:
        table_size *= 2
    return sorted(name_list, key=lambda name: _spread(name) & (table_size - 1))


def _spread(name: str) -> int:
    """Return Java's hash of a string (s[0]*31^(n-1) + ...), with the upper half XORed into the lower half."""
    code = 0
    for character in name:
        code = (code * 31 + ord(character)) & 0xFFFFFFFF
    return code ^ (code >> 16)


def byte_buffer(length: int) -> str:
    """Return the text that Java prints for a byte buffer of this length."""
    return f"java.nio.HeapByteBuffer[pos=0 lim={length} cap={length}]"
