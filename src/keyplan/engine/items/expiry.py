"""Time to live (TTL): the expiry times of items, and the stored entries that list items by expiry time.

An item expires only if its TTL attribute is a Number, which is interpreted as epoch seconds. `sweep` deletes expired
items.

Source: developer guide, "Using time to live (TTL)".
"""

from __future__ import annotations

from keyplan.dynamodb.values import numbers
from keyplan.dynamodb.values.types import Item
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables.catalog import Expiry

_TIME_BYTES = 8
_LATEST = (1 << (8 * _TIME_BYTES)) - 1


def expires_at(expiry: Expiry, item: Item | None) -> int | None:
    """Return the expiry time of an item in whole epoch seconds, or None if the item does not expire."""
    value = item.get(expiry.attribute) if item is not None else None
    text = value.get("N") if value is not None else None
    if text is None:
        return None
    number = numbers.as_decimal(text)
    return int(number) if 0 <= number <= _LATEST else None


def expiry_key(expiry_time: int, key: bytes) -> bytes:
    """Return the stored key of an expiry entry, which consists of the expiry time and the item's key."""
    return expiry_time.to_bytes(_TIME_BYTES, "big") + key


def split_expiry_key(stored_key: bytes) -> tuple[int, bytes]:
    """Split the stored key of an expiry entry into the expiry time and the item's key."""
    return int.from_bytes(stored_key[:_TIME_BYTES], "big"), stored_key[_TIME_BYTES:]


def span(low: int, high: int) -> tuple[bytes, bytes]:
    """Return the range of stored keys that contains all expiry entries with low <= expiry time < high.

    The result is a pair: the lowest key of the range, and an exclusive upper bound.
    """
    return low.to_bytes(_TIME_BYTES, "big"), high.to_bytes(_TIME_BYTES, "big")


def change(transaction: Transaction, expiry: Expiry, key: bytes, old: Item | None, new: Item | None) -> None:
    """Update the stored expiry entries after an item with the stored key `key` has changed from `old` to `new`."""
    old_at, new_at = expires_at(expiry, old), expires_at(expiry, new)
    if old_at == new_at:
        return
    if old_at is not None:
        transaction.delete(expiry.tree, expiry_key(old_at, key))
    if new_at is not None:
        transaction.put(expiry.tree, expiry_key(new_at, key), 0, b"")
