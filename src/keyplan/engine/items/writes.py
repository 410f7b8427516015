"""Functions that apply a change to an item, together with all dependent changes in the same transaction.

The table row, the index entries, the stream record, the expiry entry and the size of the item collection are written
together or not at all. Rows that the change does not affect are not written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from keyplan import limits
from keyplan.dynamodb.messages import items as messages
from keyplan.dynamodb.values import units
from keyplan.dynamodb.values.types import Item, equal_items
from keyplan.engine.backups import copies, history
from keyplan.engine.items import expiry
from keyplan.engine.items.keys import partition_bytes_of
from keyplan.engine.items.receipts import Receipt
from keyplan.engine.items.versions import Version
from keyplan.engine.store.rows import Transaction
from keyplan.engine.streams import records
from keyplan.engine.tables.catalog import Index, Table
from keyplan.errors import ItemCollectionSizeLimitExceededError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


def apply(
    database: Database,
    transaction: Transaction,
    table: Table,
    key: bytes,
    *,
    old: Version | None,
    new: Version | None,
    receipt: Receipt | None = None,
    by_service: bool = False,
    time_s: float | None = None,
) -> None:
    """Replace the `old` version of an item with the `new` version. A version is None if the item does not exist.

    The capacity units of indexes are added to `receipt`. The caller adds the units of the table, which depend on the
    operation. If `by_service` is True, the stream record shows that the service deleted an expired item. Callers pass
    the same `time_s` for changes that belong together, so that a reader of `history` sees all or none of them.
    """
    database.admit(table, key, old, new, by_service=by_service)
    if new is not None:
        transaction.put(table.tree, key, new.size, new.body)
    elif old is not None:
        transaction.delete(table.tree, key)
    else:
        return  # the item did not exist and is not created
    if table.plain:
        return
    for index in table.indexes.values():
        _change_entry(database, transaction, index, key, old=old, new=new, receipt=receipt)
    if table.collections is not None:
        _change_collection(transaction, table, key, old, new)
    if table.expiry is not None:
        expiry.change(transaction, table.expiry, key, old.item if old else None, new.item if new else None)
    if old is None or new is None or old.body != new.body:
        _save_former(database, transaction, table, key, old=old, time_s=time_s)
        if table.stream is not None:
            records.record(database, transaction, table, key, old=old, new=new, by_service=by_service)


def _save_former(
    database: Database,
    transaction: Transaction,
    table: Table,
    key: bytes,
    *,
    old: Version | None,
    time_s: float | None,
) -> None:
    """Save the version `old` of an item before it changes, for unfinished table copies and for point-in-time recovery.

    `time_s` is the time of the change, or None for the current time.
    """
    content = None if old is None else (old.size, old.body)
    if table.recovery is not None:
        history.add_record(
            transaction, table.recovery, key, content, database.clock.now() if time_s is None else time_s
        )
    for tree in table.copies:
        copies.save_version(transaction, tree, key, content)


def _change_entry(
    database: Database,
    transaction: Transaction,
    index: Index,
    key: bytes,
    *,
    old: Version | None,
    new: Version | None,
    receipt: Receipt | None,
) -> None:
    old_prefix = index.key.entry_prefix(old.item) if old is not None else None
    if old is not None and new is not None and index.key.has_same_key(old.item, new.item):
        new_prefix = old_prefix
    else:
        new_prefix = index.key.entry_prefix(new.item) if new is not None else None
    if old_prefix is None and new_prefix is None:
        return
    suffix = index.key.entry_suffix(key)
    old_key = None if old_prefix is None else old_prefix + suffix
    new_key = None if new_prefix is None else new_prefix + suffix
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
    writer = database.index_writer(transaction, index, key)
    if new_key is None or new_row is None:
        assert old_key is not None
        writer.delete(index.tree, old_key)
    elif old_key is None or old_key == new_key:
        writer.put(index.tree, new_key, *new_row)
    else:
        writer.move(index.tree, old_key, new_key, *new_row)


def _same_content(index: Index, old: Version | None, new: Version | None) -> bool:
    """Return True if both versions have the same content in the index. The order of attributes is ignored."""
    return old is not None and new is not None and equal_items(index.project(old.item), index.project(new.item))


def _change_collection(
    transaction: Transaction, table: Table, key: bytes, old: Version | None, new: Version | None
) -> None:
    """Update the stored size of an item collection after one of its items has changed from `old` to `new`. The size
    includes the items and their entries in local indexes.

    Raises ItemCollectionSizeLimitExceededError if the collection becomes too large.
    """
    tree = table.collections
    assert tree is not None
    growth = collection_bytes(table, new) - collection_bytes(table, old)
    if not growth:
        return
    partition = partition_bytes_of(key)
    row = transaction.point(tree, partition)
    total = (row[0] if row else 0) + growth
    if growth > 0 and total > limits.ITEM_COLLECTION_BYTES:
        raise ItemCollectionSizeLimitExceededError(messages.COLLECTION_TOO_LARGE)
    if total:
        transaction.put(tree, partition, total, b"")
    else:
        transaction.delete(tree, partition)


def add_to_collection(transaction: Transaction, table: Table, key: bytes, version: Version) -> None:
    """Add the size of an existing item to the stored size of its item collection. This is necessary for items that were
    written without updating that size.
    """
    _change_collection(transaction, table, key, None, version)


def collection_bytes(table: Table, version: Version | None) -> int:
    """Return the number of bytes that an item and its local index entries add to the size of its item collection."""
    if version is None:
        return 0
    total = version.size
    for index in table.indexes.values():
        if not index.is_global and index.key.entry_key(version.item, b"") is not None:
            total += index.row(version.item, version.size, version.body)[0]
    return total


def check_assigned_types(table: Table, assigned: Sequence[tuple[str, str]]) -> None:
    """Raise ValidationError if an update assigns a value of the wrong type to an index key attribute.

    `assigned` contains attribute names and the types of their new values.
    """
    for index in table.indexes.values():
        for name, kind in assigned:
            index.key.check_type(name, kind)


def check_index_keys(table: Table, item: Item, *, updated: bool = False) -> None:
    """Raise ValidationError if an attribute of the item is not valid as a key attribute of an index.

    If `updated` is True, the error has the message that DynamoDB returns for the result of an update.
    """
    for index in table.indexes.values():
        index.key.check(item, updated=updated)
