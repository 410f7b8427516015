"""Index lag, which makes writes visible in global indexes only after a delay.

A delayed write is stored in the transaction of the change that causes it, so it is as durable as the item. Delayed
writes are stored in two trees (sorted sets of rows in the store). A stored document names these trees. The document is
created when an index lags for the first time. Keys and values of the trees:

    waiting   due time, number -> the index entry and its content when the write was scheduled
    latest    index, entry     -> number and due time of the last delayed write to the entry

The delayed writes to one entry are made in order. Each of them, except for the last, writes the entry as of the time
when the write was scheduled. The last write derives the entry from the current item, even if an engine without lag has
changed the item since. Therefore, indexes match their table after all delayed writes have been made, even after a
crash. An engine without lag makes all delayed writes when it opens the database.
"""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import orjson

from keyplan.engine.items import versions
from keyplan.engine.store import statements
from keyplan.engine.store.rows import Row, StoreView, Transaction, Tree
from keyplan.engine.tables.catalog import Index, Table

if TYPE_CHECKING:
    from keyplan.engine.database import Database, IndexWriter

DOCUMENT = "index lag"
BATCH_WRITES = 100
_NUMBERS = "index lag"
_WAITING = struct.Struct(">QQ")  # due time in microseconds, and number
_LATEST = struct.Struct(">Q")  # tree of the index
_MICROSECONDS = 1_000_000


class Trees(NamedTuple):
    """The trees (sorted sets of rows) that contain delayed writes."""

    waiting: Tree
    latest: Tree


def find(view: StoreView) -> Trees | None:
    """Return the trees that contain delayed writes, or None if no index has lagged in this database."""
    body = view.document(DOCUMENT)
    if body is None:
        return None
    numbers = orjson.loads(body)
    return Trees(statements.tree(numbers["waiting"]), statements.tree(numbers["latest"]))


def _create_trees(transaction: Transaction) -> Trees:
    trees = Trees(transaction.create_tree(), transaction.create_tree())
    numbers = {"waiting": trees.waiting.number, "latest": trees.latest.number}
    transaction.put_document(DOCUMENT, orjson.dumps(numbers))
    return trees


class LaggingWriter:
    """Delays all writes to the index entries of one item."""

    __slots__ = ("_due", "_item_key", "_transaction")

    def __init__(self, transaction: Transaction, item_key: bytes, due: float) -> None:
        self._transaction = transaction
        self._item_key = item_key
        self._due = due

    def put(self, tree: Tree, key: bytes, size: int, body: bytes) -> None:
        """Schedule the write of an index entry."""
        self._schedule(tree, key, size, body)

    def delete(self, tree: Tree, key: bytes) -> None:
        """Schedule the removal of an index entry."""
        self._schedule(tree, key, None, b"")

    def move(self, tree: Tree, old: bytes, new: bytes, size: int, body: bytes) -> None:
        """Schedule the removal of one index entry and the write of another."""
        self._schedule(tree, old, None, b"")
        self._schedule(tree, new, size, body)

    def _schedule(self, tree: Tree, key: bytes, size: int | None, body: bytes) -> None:
        transaction = self._transaction
        trees = find(transaction) or _create_trees(transaction)
        due = int(self._due * _MICROSECONDS)
        latest_key = _LATEST.pack(tree.number) + key
        earlier_row = transaction.point(trees.latest, latest_key)
        if earlier_row is not None:
            due = max(due, _WAITING.unpack(earlier_row[1])[0])
        waiting_key = _WAITING.pack(due, transaction.next_sequence(_NUMBERS))
        write = {
            "tree": tree.number,
            "item": b64encode(self._item_key).decode(),
            "entry": b64encode(key).decode(),
            "size": size,
            "body": body.decode(),
        }
        transaction.put(trees.waiting, waiting_key, 0, orjson.dumps(write))
        transaction.put(trees.latest, latest_key, 0, waiting_key)


def is_delayed(view: StoreView, trees: Trees | None, tree: Tree, entry: bytes) -> bool:
    """Return True if a write to an index entry is delayed. `tree` contains the entries of the index, and `entry` is the
    key of the entry to check.
    """
    return trees is not None and view.point(trees.latest, _LATEST.pack(tree.number) + entry) is not None


def delayed_entries(view: StoreView, trees: Trees | None, tree: Tree) -> Iterator[bytes]:
    """Yield the keys of the index entries for which a write is delayed. `tree` contains the entries of the index."""
    if trees is not None:
        low, high = _LATEST.pack(tree.number), _LATEST.pack(tree.number + 1)
        for key, _, _ in view.span(trees.latest, low, high):
            yield key[_LATEST.size :]


def visible_entries(view: StoreView, trees: Trees | None, tree: Tree) -> int:
    """Return the number of index entries that have a delayed write and that readers can still see in their previous
    state. `tree` contains the entries of the index.
    """
    return sum(view.point(tree, entry) is not None for entry in delayed_entries(view, trees, tree))


def settle(
    database: Database,
    *,
    all_writes: bool,
    wrap: Callable[[Transaction], IndexWriter] = lambda transaction: transaction,
) -> int:
    """Perform the delayed index writes that are due, or all of them if `all_writes` is True, and return their number.

    `wrap` converts a transaction to the writer used for the index entries.
    """
    applied = 0
    while True:
        upper_bound = None if all_writes else _WAITING.pack(int(database.clock.now() * _MICROSECONDS) + 1, 0)
        view = database.store.view()
        trees = find(view)
        if trees is None or not view.rows(trees.waiting, b"", upper_bound, limit=1):
            return applied
        batch_size = database.store.write(partial(_apply_batch, database, upper_bound=upper_bound, wrap=wrap))
        if not batch_size:
            return applied  # inside a group, whose writes become visible only at its end
        applied += batch_size


def _apply_batch(
    database: Database,
    transaction: Transaction,
    *,
    upper_bound: bytes | None,
    wrap: Callable[[Transaction], IndexWriter],
) -> int:
    trees = find(transaction)
    if trees is None:
        return 0
    database.catalog.reload(transaction)
    indexes = {
        index.tree.number: (table, index) for table in database.catalog.tables() for index in table.indexes.values()
    }
    rows = transaction.rows(trees.waiting, b"", upper_bound, limit=BATCH_WRITES)
    for row in rows:
        _apply(transaction, trees, indexes, row, wrap(transaction))
    return len(rows)


def _apply(
    transaction: Transaction, trees: Trees, indexes: dict[int, tuple[Table, Index]], row: Row, writer: IndexWriter
) -> None:
    waiting_key, _, body = row
    write = orjson.loads(body)
    entry = b64decode(write["entry"])
    latest_key = _LATEST.pack(write["tree"]) + entry
    latest = transaction.point(trees.latest, latest_key)
    superseded = latest is not None and _WAITING.unpack(latest[1])[1] > _WAITING.unpack(waiting_key)[1]
    transaction.delete(trees.waiting, waiting_key)
    if not superseded:
        transaction.delete(trees.latest, latest_key)
    tree_index = indexes.get(write["tree"])
    if tree_index is None:
        return  # index or table was dropped
    table, index = tree_index
    if superseded:
        entry_row = None if write["size"] is None else (write["size"], write["body"].encode())
    else:
        entry_row = _current_entry(transaction, table, index, b64decode(write["item"]), entry)
    if entry_row is None:
        writer.delete(index.tree, entry)
    else:
        writer.put(index.tree, entry, *entry_row)


def _current_entry(
    transaction: Transaction, table: Table, index: Index, item_key: bytes, entry: bytes
) -> tuple[int, bytes] | None:
    """Return the current size and body of an index entry, derived from the stored item.

    Returns None if the item does not exist or does not have an index entry with the key `entry`.
    """
    version = versions.load(transaction, table, item_key)
    if version is None or index.key.entry_key(version.item, item_key) != entry:
        return None
    return index.row(version.item, version.size, version.body)
