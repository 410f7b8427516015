"""Sets of text, numbers and binary: the order in which the service keeps their members.

Seen on the service, October 2026: however a set was written, it comes back in order, text and binary by
bytes and numbers by value.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from decimal import Decimal


def in_order(kind: str, members: list[str]) -> list[str]:
    """The canonical members of a set of kind SS, NS or BS, as the service keeps them."""
    if len(members) == 1:
        return members
    if kind == "SS":
        # Code points sort as their UTF-8 does.
        return sorted(members)
    return sorted(members, key=Decimal if kind == "NS" else b64decode)


def listed_with_duplicates(kind: str, members: Sequence[str]) -> list[str]:
    """Members as a message about duplicates lists them: in order up to the first repeat, then it and the rest."""
    repeat = next(place for place, member in enumerate(members) if member in members[:place])
    return [*in_order(kind, list(members[:repeat])), *members[repeat:]]
