"""Item versions: functions that create them from requests, load them from tables, and write them without reading the
earlier version.

A table is `blind` if its items can be written without reading their earlier versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keyplan import limits
from keyplan.dynamodb.messages import items as messages
from keyplan.dynamodb.values import encoding
from keyplan.dynamodb.values.attribute import normalise_item
from keyplan.dynamodb.values.types import Item
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables.catalog import Table
from keyplan.errors import ValidationError


@dataclass(slots=True)
class Version:
    """One version of an item: its attributes, its size in bytes and its stored body."""

    item: Item
    size: int
    body: bytes


def from_item(item: dict[str, Any], *, wire: bool) -> Version:
    """Create the item version for an item in a request or file. Raises ValidationError if a value is invalid or the
    item is too large.

    If `wire` is True, binary values are base64 text. Otherwise, binary values are bytes or strings.
    """
    canonical, size = normalise_item(item, wire=wire)
    if size > limits.ITEM_BYTES:
        raise ValidationError(messages.ITEM_TOO_LARGE)
    return Version(canonical, size, encoding.encode(canonical))


def load(transaction: Transaction, table: Table, key: bytes) -> Version | None:
    """Return the current version of the item with this stored key, or None if the item does not exist."""
    row = transaction.point(table.tree, key)
    if row is None:
        return None
    size, body = row
    return Version(encoding.decode(body), size, body)


def put_blindly(transaction: Transaction, table: Table, key: bytes, new: Version) -> None:
    """Write an item and its index entries without reading the earlier version. The table must be `blind` (see
    `Table.blind`).
    """
    transaction.put(table.tree, key, new.size, new.body)
    for index in table.indexes.values():
        entry = index.key.entry_key(new.item, key)
        if entry is not None:
            transaction.put(index.tree, entry, *index.row(new.item, new.size, new.body))


def delete_blindly(transaction: Transaction, table: Table, key: bytes, item: Item) -> None:
    """Delete an item and its index entries, if they exist, without reading the item. The table must be `blind` (see
    `Table.blind`).

    `item` contains at least the key attributes.
    """
    transaction.delete(table.tree, key)
    for index in table.indexes.values():
        entry = index.key.entry_key(item, key)
        if entry is not None:
            transaction.delete(index.tree, entry)


def change_blindly(
    transaction: Transaction, table: Table, changes: Sequence[tuple[bytes, Item, Version | None]]
) -> None:
    """Write or delete several items without reading their earlier versions. The table must be `blind` (see
    `Table.blind`).

    Each change consists of the stored key, an item that contains at least the key attributes, and the new version,
    which is None to delete the item. All changes must affect different items.
    """
    puts = [(key, new) for key, _, new in changes if new is not None]
    transaction.put_all(table.tree, [(key, new.size, new.body) for key, new in puts])
    for index in table.indexes.values():
        rows = [(index.key.entry_key(new.item, key), *index.row(new.item, new.size, new.body)) for key, new in puts]
        transaction.put_all(index.tree, [(key, size, body) for key, size, body in rows if key is not None])
    for key, item, new in changes:
        if new is None:
            delete_blindly(transaction, table, key, item)
