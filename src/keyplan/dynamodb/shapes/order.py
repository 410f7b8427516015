"""The order in which the service lists faulty members.

It is that of a Java hash map of the member names: the names are spread over a table whose size is a
power of two (16, doubled while more than three quarters full) and read out by place; names in one place
stay in the order of their coming. This reproduces every recorded message with several faults (inferred
from them; the service documents no order).
"""

from __future__ import annotations

from collections.abc import Iterable

_SMALLEST_TABLE = 16
_FILL = 0.75


def hash_order(names: Iterable[str], hidden: int = 0) -> list[str]:
    """The names in the order of a Java hash map that holds them and `hidden` more."""
    listed = list(names)
    table = _SMALLEST_TABLE
    while len(listed) + hidden > table * _FILL:
        table *= 2
    return sorted(listed, key=lambda name: _spread(name) & (table - 1))


def _spread(name: str) -> int:
    """Java's hash of a string (s[0]*31^(n-1) + ...), high half folded into the low one."""
    code = 0
    for character in name:
        code = (code * 31 + ord(character)) & 0xFFFFFFFF
    return code ^ (code >> 16)


def camel(name: str) -> str:
    """A member's name as messages show it: the first letter small."""
    return name[:1].lower() + name[1:]
