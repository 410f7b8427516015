"""Copies of a table's rows as of one point in time, filled in chunks while other clients read and write the table.

Rows are stored in trees, which are numbered, sorted sets of rows. A copy starts with a short transaction and contains
the rows as of that transaction. From then on, before an item is changed for the first time, its earlier version is
saved in a separate tree. The stored document of the table contains the number of this tree, so that every process saves
earlier versions in it. For a changed item, a chunk contains the saved version instead of the current row. Each chunk is
read and written in one transaction, so that writers wait for one chunk at most. To copy the rows as of an earlier time,
the current rows are copied first. Later changes are then reverted, using the records of point-in-time recovery.

Transactions do not stay open between chunks. The progress of a copy is stored in a JSON document, so that any process
can continue the copy after a crash. If a tree is dropped while a copy reads it, the tree is removed when the copy ends.

The document is named `copy:` plus the owner, which is the name of the restored table or the ARN of the backup. Its
members:

    target, source    numbers of the trees that rows are copied to and from
    former            number of the tree of earlier versions; None for a read-only source
    table             name of the table whose writes save earlier versions in `former`
    past              None, or a map of `tree` (the recovery records) and `time_s` (the earlier time)
    done              the last copied key in hex, "" at the start, or None when all rows are copied
    put_back          key of the recovery record at which to continue, or None if no changes are left to revert
    items, size_bytes number and total size of the copied rows
    notified          name of the document that receives the result, or None
    dropped           numbers of the trees to be dropped at the end
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from keyplan import limits
from keyplan.engine.backups import history
from keyplan.engine.progress import percent
from keyplan.engine.store import statements
from keyplan.engine.store.rows import Row, StoreView, Transaction, Tree
from keyplan.engine.tables.catalog import Recovery, Table, stored_table

if TYPE_CHECKING:
    from keyplan.engine.database import Database

Document = dict[str, Any]

DOCUMENT_PREFIX = "copy:"

NOT_BEFORE_END = 1e12
"""The value of `ready_at` for a backup whose rows are still being copied. It is later than any current time."""

CHUNK_ROWS = 500
CHUNK_BYTES = limits.MIB
"""The total size of row bodies, in bytes, at which a chunk of a table copy ends. The row with which the total reaches
this size is the last row of the chunk.
"""


class PointInTime(NamedTuple):
    """An earlier point in time, and the tree with the recovery records that are required to copy a table's rows as of
    that time.
    """

    recovery: Recovery
    time_s: float


# Start and end of copies.


def begin(
    database: Database,
    transaction: Transaction,
    owner: str,
    target: Tree,
    source: Tree | Table,
    *,
    point_in_time: PointInTime | None = None,
    result_document: str | None = None,
) -> None:
    """Start copying rows into the new tree `target`, in a `Database.alter` transaction.

    The rows are copied as of this transaction or, if `point_in_time` is given, as of that earlier time. `owner` is the
    name of the restored table or the ARN of the backup that receives the rows. An owner can have only one copy at a
    time. `source` is a table or a read-only tree. `result_document` is the name of a stored document that receives
    `items`, `size_bytes` and `ready_at` when the copy is complete.
    """
    versions_tree = None
    if isinstance(source, Table):
        versions_tree = transaction.create_tree().number
        document = {**source.document, "copies": [*source.document.get("copies", ()), versions_tree]}
        database.catalog.save(transaction, document)
    document = {
        "target": target.number,
        "source": source.tree.number if isinstance(source, Table) else source.number,
        "former": versions_tree,
        "table": source.name if isinstance(source, Table) else None,
        "past": point_in_time and {"tree": point_in_time.recovery.tree.number, "time_s": point_in_time.time_s},
        "done": "",
        "put_back": point_in_time and "",
        "items": 0,
        "size_bytes": 0,
        "notified": result_document,
        "dropped": [],
    }
    _save(transaction, owner, document)


def finish(database: Database, transaction: Transaction, owner: str) -> None:
    """End the copy of an owner in a `Database.alter` transaction.

    The copy's document and the trees that are not needed any longer are deleted. If the copy has a result document, the
    totals are stored in that document.
    """
    document = _find(transaction, owner)
    if document is None:
        return
    transaction.delete_document(DOCUMENT_PREFIX + owner)
    if document["former"] is not None:
        _stop_saving_versions(database, transaction, document)
    for number in document["dropped"]:
        drop_tree(transaction, statements.tree(number))
    if document["notified"] is not None:
        ready_at = database.clock.now() + database.settings.state_delay_s
        result = {"items": document["items"], "size_bytes": document["size_bytes"], "ready_at": ready_at}
        body = transaction.document(document["notified"])
        if body is not None:
            transaction.put_document(document["notified"], orjson.dumps({**orjson.loads(body), **result}))


def _stop_saving_versions(database: Database, transaction: Transaction, document: Document) -> None:
    versions_tree = document["former"]
    table = stored_table(transaction, document["table"])
    copy_trees = [] if table is None else table.document.get("copies", [])
    if table is not None and versions_tree in copy_trees:  # otherwise the table was dropped, and may exist again
        members = {name: value for name, value in table.document.items() if name != "copies"}
        other_trees = [number for number in copy_trees if number != versions_tree]
        database.catalog.save(transaction, {**members, "copies": other_trees} if other_trees else members)
    transaction.drop_tree(statements.tree(versions_tree))


def pending_owners(view: StoreView) -> list[str]:
    """Return the owners of unfinished copies: names of restored tables and ARNs of backups."""
    return [name.removeprefix(DOCUMENT_PREFIX) for name, _ in view.documents(DOCUMENT_PREFIX)]


def is_reading(view: StoreView, tree: Tree) -> bool:
    """Return True if an unfinished copy still needs the rows of a tree."""
    return _reader(view, tree) is not None


def drop_tree(transaction: Transaction, tree: Tree) -> None:
    """Drop a tree of rows. If a copy still reads the tree, the tree is dropped when the copy ends."""
    reader = _reader(transaction, tree)
    if reader is None:
        transaction.drop_tree(tree)
    else:
        owner, document = reader
        _save(transaction, owner, {**document, "dropped": [*document["dropped"], tree.number]})


def _reader(view: StoreView, tree: Tree) -> tuple[str, Document] | None:
    for name, body in view.documents(DOCUMENT_PREFIX):
        document = orjson.loads(body)
        if tree.number in (document["source"], document["past"] and document["past"]["tree"]):
            return name.removeprefix(DOCUMENT_PREFIX), document
    return None


def _find(view: StoreView, owner: str) -> Document | None:
    body = view.document(DOCUMENT_PREFIX + owner)
    return None if body is None else orjson.loads(body)


def _save(transaction: Transaction, owner: str, document: Document) -> None:
    transaction.put_document(DOCUMENT_PREFIX + owner, orjson.dumps(document))


# Concurrent changes.


def save_version(transaction: Transaction, tree: Tree, key: bytes, old: history.Content | None) -> None:
    """Save the content that an item had when a table copy started, before the first change to the item during the copy.

    The content `old` is stored in `tree` under the item's key, unless the tree already contains that key. `old` is None
    if the item does not exist before the change.
    """
    if transaction.point(tree, key) is None:
        transaction.put(tree, key, *(history.ABSENT if old is None else old))


# Chunks.


def preload_chunk(view: StoreView, owner: str) -> None:
    """Load into memory the database pages that contain the next chunk of a copy. The transaction of `fill_chunk` then
    does not wait for the disk.
    """
    document = _find(view, owner)
    if document is not None and document["done"] is not None:
        _next_chunk(view, statements.tree(document["source"]), _start_key(document["done"]))


def progress_text(view: StoreView, owner: str) -> str:
    """Return the progress of a copy as text: the percentage of copied rows or, in the last step, a note that later
    changes are being reverted.
    """
    document = _find(view, owner)
    if document is None or document["done"] is None:
        return "reverting later changes"
    return percent(bytes.fromhex(document["done"]))


def fill_chunk(transaction: Transaction, owner: str) -> bool:
    """Run the next step of a copy, and return True if the copy is complete.

    A step copies one chunk of rows. After all rows have been copied, a step reverts some of the changes that were made
    after the requested time.
    """
    document = _find(transaction, owner)
    if document is None:
        return True
    if document["done"] is not None:
        _copy(transaction, document)
    elif document["put_back"] is not None:
        _revert_changes(transaction, document)
    else:
        return True
    _save(transaction, owner, document)
    return document["done"] is None and document["put_back"] is None


def _copy(transaction: Transaction, document: Document) -> None:
    low = _start_key(document["done"])
    rows, last = _next_chunk(transaction, statements.tree(document["source"]), low)
    if document["former"] is not None:
        earlier_rows, last_earlier = _next_chunk(transaction, statements.tree(document["former"]), low)
        last = min((key for key in (last, last_earlier) if key is not None), default=None)
        rows = _replace_changed_rows(rows, earlier_rows, last)
    transaction.put_all(statements.tree(document["target"]), rows)
    document["items"] += len(rows)
    document["size_bytes"] += sum(size for _, size, _ in rows)
    document["done"] = None if last is None else last.hex()


def _replace_changed_rows(rows: list[Row], earlier_rows: list[Row], last: bytes | None) -> list[Row]:
    """Replace current rows with the earlier versions in `earlier_rows` that have the same key, and return the rows in
    key order.

    Omit items that did not exist at the start of the copy, and rows with a key after `last`.
    """
    by_key = {row[0]: row for row in (*rows, *earlier_rows) if last is None or row[0] <= last}
    return [by_key[key] for key in sorted(by_key) if by_key[key][1:] != history.ABSENT]


def _revert_changes(transaction: Transaction, document: Document) -> None:
    past, low = document["past"], bytes.fromhex(document["put_back"])
    target = statements.tree(document["target"])
    records, last = _next_chunk(transaction, statements.tree(past["tree"]), low)
    for key, _, content in history.first_records_after(records, past["time_s"]):
        if content is None:
            transaction.delete(target, key)
        else:
            transaction.put(target, key, *content)
    # Skip later records of the same item. An item that changes faster than its records are read would delay the end.
    document["put_back"] = None if last is None else history.next_record_key(last, past["time_s"]).hex()


def _start_key(last_key_hex: str) -> bytes:
    return bytes.fromhex(last_key_hex) + b"\x00" if last_key_hex else b""


def _next_chunk(view: StoreView, tree: Tree, low: bytes) -> tuple[list[Row], bytes | None]:
    """Return the next chunk of rows, starting at the key `low`, and the chunk's last key.

    The last key is None if the chunk contains all remaining rows.
    """
    chunk: list[Row] = []
    size = 0
    for row in view.span(tree, low, None, limit=CHUNK_ROWS):
        chunk.append(row)
        size += len(row[2])
        if size >= CHUNK_BYTES:
            break
    return chunk, chunk[-1][0] if len(chunk) == CHUNK_ROWS or size >= CHUNK_BYTES else None
