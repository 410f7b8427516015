"""Capacity units: the one rounding rule, for what the engine measures and for what is predicted.

Source: developer guide, "Read and write capacity": a read unit is one strongly consistent read of up
to 4 KB, eventual reads cost half, transactional ones twice; a write unit is one write of up to 1 KB,
transactional ones cost twice.
"""

from __future__ import annotations

from keyplan import limits

TRANSACTIONAL = 2
"""How many times the units of a single read or write a transactional one costs; indexes cost the same."""


def read_units(size_bytes: int, *, consistent: bool) -> float:
    """Read units of one item, or of one page whose sizes were summed. A missing item counts as size 0."""
    blocks = max(1, -(-size_bytes // limits.READ_UNIT_BYTES))
    return float(blocks) if consistent else blocks / 2


def transactional_read_units(size_bytes: int) -> float:
    """Read units of one item read in a transaction."""
    return TRANSACTIONAL * read_units(size_bytes, consistent=True)


def write_units(size_bytes: int) -> float:
    """Write units of one item whose larger version, before or after, has this size; at least 1."""
    return float(max(1, -(-size_bytes // limits.WRITE_UNIT_BYTES)))


def index_write_units(old_bytes: int | None, new_bytes: int | None, *, same_key: bool, same_content: bool) -> float:
    """Write units of one index for one write, from the sizes of its old and new entry.

    None stands for an absent entry (a sparse index, or the item itself was or will be absent).
    """
    if old_bytes is None:
        return 0.0 if new_bytes is None else write_units(new_bytes)
    if new_bytes is None:
        return write_units(old_bytes)
    if not same_key:
        return write_units(old_bytes) + write_units(new_bytes)
    if same_content:
        return 0.0
    return write_units(max(old_bytes, new_bytes))
