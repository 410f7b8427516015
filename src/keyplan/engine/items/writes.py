"""One change of one item, and everything that must change with it in the same transaction.

The row of the table, the entry of every index, the stream record, the moment of expiry and the size of
the item collection: written together or not at all, and only where something changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.dynamodb.messages import items as messages
from keyplan.dynamodb.values import encoding, units
from keyplan.dynamodb.values.attribute import normalise_item
from keyplan.dynamodb.values.types import Item, same_members
from keyplan.engine.backups import copies, history
from keyplan.engine.items import expiry
from keyplan.engine.items.keys import partition_bytes_of
from keyplan.engine.items.receipts import Receipt
from keyplan.engine.store.rows import Transaction
from keyplan.engine.streams import records
from keyplan.engine.tables.catalog import Index, Table
from keyplan.errors import ItemCollectionSizeLimitExceededError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine


@dataclass(slots=True)
class Version:
    """One version of an item: decoded, measured, encoded."""

    item: Item
    size: int
    body: bytes


def given(item: dict[str, Any], *, wire: bool) -> Version:
    """The version that a request, or a file, gives. Raises ValidationError for its values and its size."""
    canonical, size = normalise_item(item, wire=wire)
    if size > limits.ITEM_BYTES:
        raise ValidationError(messages.ITEM_TOO_LARGE)
    return Version(canonical, size, encoding.encode(canonical))


def load(transaction: Transaction, table: Table, key: bytes) -> Version | None:
    """The item under a key, decoded."""
    row = transaction.point(table.tree, key)
    if row is None:
        return None
    size, body = row
    return Version(encoding.decode(body), size, body)


def put_blindly(transaction: Transaction, table: Table, key: bytes, new: Version) -> None:
    """Write an item of a `blind` table over whatever is there, and its index entries over theirs."""
    transaction.put(table.tree, key, new.size, new.body)
    for index in table.indexes.values():
        entry = index.key.entry(new.item, key)
        if entry is not None:
            transaction.put(index.tree, entry, *index.row(new.item, new.size, new.body))


def delete_blindly(transaction: Transaction, table: Table, key: bytes, item: Item) -> None:
    """Remove an item of a `blind` table, there or not, and its index entries; `item` holds at least its key."""
    transaction.delete(table.tree, key)
    for index in table.indexes.values():
        entry = index.key.entry(item, key)
        if entry is not None:
            transaction.delete(index.tree, entry)


def change_blindly(
    transaction: Transaction, table: Table, changes: Sequence[tuple[bytes, Item, Version | None]]
) -> None:
    """Several changes of items of a `blind` table, no two of the same: for each its key, an item that holds at
    least the key, and the new version or, to remove it, None."""
    puts = [(key, new) for key, _, new in changes if new is not None]
    transaction.put_all(table.tree, [(key, new.size, new.body) for key, new in puts])
    for index in table.indexes.values():
        rows = [(index.key.entry(new.item, key), *index.row(new.item, new.size, new.body)) for key, new in puts]
        transaction.put_all(index.tree, [(key, size, body) for key, size, body in rows if key is not None])
    for key, item, new in changes:
        if new is None:
            delete_blindly(transaction, table, key, item)


def apply(
    engine: Engine,
    transaction: Transaction,
    table: Table,
    key: bytes,
    *,
    old: Version | None,
    new: Version | None,
    receipt: Receipt | None = None,
    by_service: bool = False,
    moment_s: float | None = None,
) -> None:
    """Replace the old version of the item under `key` by the new one; None stands for no item.

    `receipt`, where given, gets the index units; the table's own depend on the operation.
    `by_service` marks the stream record of an expiry. `moment_s` is given by changes of several items
    that must not be told apart by a later reader of `history`.
    """
    if engine.faults is not None:
        engine.faults.admit(table, key, old, new, by_service=by_service)
    if new is not None:
        transaction.put(table.tree, key, new.size, new.body)
    elif old is not None:
        transaction.delete(table.tree, key)
    else:
        return  # nothing was there, and nothing is
    if table.plain:
        return
    for index in table.indexes.values():
        _change_entry(engine, transaction, index, key, old=old, new=new, receipt=receipt)
    if table.collections is not None:
        _change_collection(transaction, table, key, old, new)
    if table.expiry is not None:
        expiry.change(transaction, table.expiry, key, old.item if old else None, new.item if new else None)
    if old is None or new is None or old.body != new.body:
        _keep_former(engine, transaction, table, key, old=old, moment_s=moment_s)
        if table.stream is not None:
            records.record(engine, transaction, table, key, old=old, new=new, by_service=by_service)


def _keep_former(
    engine: Engine, transaction: Transaction, table: Table, key: bytes, *, old: Version | None, moment_s: float | None
) -> None:
    """Keep what an item was before a change for whoever still needs it."""
    content = None if old is None else (old.size, old.body)
    if table.recovery is not None:
        history.note(transaction, table.recovery, key, content, engine.clock.now() if moment_s is None else moment_s)
    for tree in table.copies:
        copies.note(transaction, tree, key, content)


def _change_entry(
    engine: Engine,
    transaction: Transaction,
    index: Index,
    key: bytes,
    *,
    old: Version | None,
    new: Version | None,
    receipt: Receipt | None,
) -> None:
    old_place = index.key.place(old.item) if old is not None else None
    if old is not None and new is not None and index.key.same(old.item, new.item):
        new_place = old_place
    else:
        new_place = index.key.place(new.item) if new is not None else None
    if old_place is None and new_place is None:
        return
    end = index.key.end(key)
    old_key = None if old_place is None else old_place + end
    new_key = None if new_place is None else new_place + end
    old_row = index.row(old.item, old.size, old.body) if old is not None and old_key is not None else None
    new_row = index.row(new.item, new.size, new.body) if new is not None and new_key is not None else None
    same_body = old_row is not None and new_row is not None and old_row[1] == new_row[1]
    if receipt is not None:
        same_size = old_row is not None and new_row is not None and old_row[0] == new_row[0]
        receipt.add_index(
            index,
            units.index_write_units(
                old_row and old_row[0],
                new_row and new_row[0],
                same_key=old_key == new_key,
                same_content=same_body or (same_size and _same_content(index, old, new)),
            ),
        )
    if old_key == new_key and same_body:
        return
    if old_key and new_key and new_row and old_key != new_key and engine.faults is None:
        transaction.move(index.tree, old_key, new_key, *new_row)
        return
    target = transaction if engine.faults is None else engine.faults.index_writer(transaction, index, key)
    if old_key is not None and old_key != new_key:
        target.delete(index.tree, old_key)
    if new_key is not None and new_row is not None:
        target.put(index.tree, new_key, *new_row)


def _same_content(index: Index, old: Version | None, new: Version | None) -> bool:
    """Whether the entries of two versions are equal, though perhaps their attributes come in another order."""
    return old is not None and new is not None and same_members(index.project(old.item), index.project(new.item))


def _change_collection(
    transaction: Transaction, table: Table, key: bytes, old: Version | None, new: Version | None
) -> None:
    """Keep the size of the item collection: the items and their entries in local indexes."""
    tree = table.collections
    assert tree is not None
    grown = collection_bytes(table, new) - collection_bytes(table, old)
    if not grown:
        return
    partition = partition_bytes_of(key)
    row = transaction.point(tree, partition)
    total = (row[0] if row else 0) + grown
    if grown > 0 and total > limits.ITEM_COLLECTION_BYTES:
        raise ItemCollectionSizeLimitExceededError(messages.COLLECTION_TOO_LARGE)
    if total:
        transaction.put(tree, partition, total, b"")
    else:
        transaction.delete(tree, partition)


def add_to_collection(transaction: Transaction, table: Table, key: bytes, version: Version) -> None:
    """Count an item that was there before the sizes of collections were kept."""
    _change_collection(transaction, table, key, None, version)


def collection_bytes(table: Table, version: Version | None) -> int:
    """Size of what one item adds to its collection: itself and its entries in local indexes."""
    if version is None:
        return 0
    total = version.size
    for index in table.indexes.values():
        if not index.is_global and index.key.entry(version.item, b"") is not None:
            total += index.row(version.item, version.size, version.body)[0]
    return total


def check_assigned_types(table: Table, assigned: Sequence[tuple[str, str]]) -> None:
    """Raise ValidationError if an attribute would get a type that an index key cannot have."""
    for index in table.indexes.values():
        for name, kind in assigned:
            index.key.check_type(name, kind)


def check_index_keys(table: Table, item: Item, *, updated: bool = False) -> None:
    """Raise ValidationError if an attribute of the item cannot be the index key that it is.

    `updated`: the item is what an update makes of it, which the service words in its own way.
    """
    for index in table.indexes.values():
        index.key.check(item, updated=updated)
