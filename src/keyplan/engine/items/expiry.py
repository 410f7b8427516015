"""Time to live: which items expire when.

Only a Number counts, as epoch seconds; `sweep` removes what has expired.
Source: developer guide, "Using time to live (TTL)".
"""

from __future__ import annotations

from keyplan.dynamodb.values import numbers
from keyplan.dynamodb.values.types import Item
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables.catalog import Expiry

_MOMENT_BYTES = 8
_LATEST = (1 << (8 * _MOMENT_BYTES)) - 1


def moment(expiry: Expiry, item: Item | None) -> int | None:
    """When the item expires, in epoch seconds without their fraction; None if never."""
    value = item.get(expiry.attribute) if item is not None else None
    text = value.get("N") if value is not None else None
    if text is None:
        return None
    number = numbers.as_decimal(text)
    return int(number) if 0 <= number <= _LATEST else None


def expiry_key(at: int, key: bytes) -> bytes:
    """Stored key of an expiry: the moment, then the item's key."""
    return at.to_bytes(_MOMENT_BYTES, "big") + key


def key_moment(stored: bytes) -> tuple[int, bytes]:
    """The moment and the item's key in the stored key of an expiry."""
    return int.from_bytes(stored[:_MOMENT_BYTES], "big"), stored[_MOMENT_BYTES:]


def moments(low: int, high: int) -> tuple[bytes, bytes]:
    """The span of expiries at low <= moment < high."""
    return low.to_bytes(_MOMENT_BYTES, "big"), high.to_bytes(_MOMENT_BYTES, "big")


def change(transaction: Transaction, expiry: Expiry, key: bytes, old: Item | None, new: Item | None) -> None:
    """Keep the tree of expiries in step with one item's change."""
    old_at, new_at = moment(expiry, old), moment(expiry, new)
    if old_at == new_at:
        return
    if old_at is not None:
        transaction.delete(expiry.tree, expiry_key(old_at, key))
    if new_at is not None:
        transaction.put(expiry.tree, expiry_key(new_at, key), 0, b"")
