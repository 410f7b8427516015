"""Rounding rules for capacity units, shared by the engine's metering and by cost predictions.

Source: developer guide, "Read and write capacity": one read capacity unit is a strongly consistent read of up to 4 KB.
Eventually consistent reads cost half as much, and transactional reads twice as much. One write capacity unit is a write
of up to 1 KB, and transactional writes cost twice as much.
"""

from __future__ import annotations

from keyplan import limits

TRANSACTIONAL = 2
"""The factor by which the capacity units of transactional reads and writes are multiplied. The factor does not apply to
the capacity units of indexes.
"""


def read_units(size_bytes: int, *, consistent: bool) -> float:
    """Return the read capacity units for one item, or for one page of this total size. A missing item has size 0."""
    blocks = max(1, -(-size_bytes // limits.READ_UNIT_BYTES))
    return float(blocks) if consistent else blocks / 2


def transactional_read_units(size_bytes: int) -> float:
    """Return the read capacity units for one item that is read in a transaction."""
    return TRANSACTIONAL * read_units(size_bytes, consistent=True)


def write_units(size_bytes: int) -> float:
    """Return the write capacity units, at least 1, for the write of one item.

    `size_bytes` is the larger of the item's sizes before and after the write.
    """
    return float(max(1, -(-size_bytes // limits.WRITE_UNIT_BYTES)))


def index_write_units(old_bytes: int | None, new_bytes: int | None, *, same_key: bool, same_content: bool) -> float:
    """Return the write capacity units that a write of an item consumes in an index, given the sizes of the old and the
    new index entry.

    A size of None means that the entry does not exist, because the index is sparse or the item does not exist.
    `same_key` is True if both entries have the same key, and `same_content` is True if they have the same content. If
    the index key changes, the cost is that of a delete and a put. If the entry does not change, the cost is 0.
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
