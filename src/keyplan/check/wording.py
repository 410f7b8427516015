"""Words of messages."""

from __future__ import annotations

from keyplan.design.schema import Index


def a(name: str) -> str:
    """The name with its article: an Event, a Booking."""
    return f"{'an' if name[:1] in 'AEIOaeio' else 'a'} {name}"


def where(table: str, index: Index | None) -> str:
    """A table, or one of its indexes, in a sentence."""
    return f"table {table}" if index is None else f"index {index.name}"
