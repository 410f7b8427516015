"""Words of messages."""

from __future__ import annotations


def counted(count: int, one: str, several: str) -> str:
    """A number of things: 1 index, 2 indexes."""
    return f"{count:,} {one if count == 1 else several}"


def a(name: str) -> str:
    """The name with its article: an Event, a Booking."""
    return f"{'an' if name[:1] in 'AEIOaeio' else 'a'} {name}"
