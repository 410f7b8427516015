"""Words of messages."""

from __future__ import annotations


def a(name: str) -> str:
    """The name with its article: an Event, a Booking."""
    return f"{'an' if name[:1] in 'AEIOaeio' else 'a'} {name}"
