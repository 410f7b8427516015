"""Copies of a table's rows as of one moment, made a chunk at a time while others read and write the table.

A copy is begun in one short transaction, and of that moment it is. From then on the first change of each item leaves
what it was before in a tree of the copy's own, which the table's document names so that every process writes to it.
A chunk takes that in place of the row. It reads and writes in one transaction, so nothing can come in between, and
writers wait for one chunk at most. A copy of an earlier moment then puts back what has changed since, from the
records of point-in-time recovery.

Nothing is held open meanwhile: how far a copy has come stands in its document, so it goes on after a crash, and any
process may go on with it. A tree that is to be dropped while a copy reads it is left to the copy, which drops it in the
end.

Members of a document, `copy:` and whom it is for:

    target, source    numbers of the trees
    former            number of the tree of what rows were; None where nobody writes to the source
    table             name of the table that writes to `former`
    past              None, or `tree` and `moment_s`: the records of an earlier moment
    done              the last key that was copied, in hex, and "" before the first; None: all were
    put_back          where in the records to go on; None: all were put back, or there are none to be
    items, size_bytes what has been copied
    told              name of the document that is told of the end; None: none is
    dropped           numbers of the trees to be dropped in the end
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
"""The `ready_at` of what is being copied: no moment that comes."""

CHUNK_ROWS = 500
CHUNK_BYTES = limits.MIB
"""Where a chunk ends, after the row that crosses it."""


class Past(NamedTuple):
    """An earlier moment, and the recovery that knows what rows were then."""

    recovery: Recovery
    moment_s: float


# Beginning and ending.


def begin(
    database: Database,
    transaction: Transaction,
    owner: str,
    target: Tree,
    source: Tree | Table,
    *,
    past: Past | None = None,
    told: str | None = None,
) -> None:
    """Have a new tree filled with the rows that there are in this transaction, one of `Database.alter`.

    `owner`: the name or ARN of what the copy is for; it has no other. `source`: a tree that nobody writes to, or a
    table. `told`: a document that is to get `items`, `size_bytes` and `ready_at` when the copy is complete.
    """
    former = None
    if isinstance(source, Table):
        former = transaction.create_tree().number
        document = {**source.document, "copies": [*source.document.get("copies", ()), former]}
        database.catalog.save(transaction, document)
    document = {
        "target": target.number,
        "source": source.tree.number if isinstance(source, Table) else source.number,
        "former": former,
        "table": source.name if isinstance(source, Table) else None,
        "past": past and {"tree": past.recovery.tree.number, "moment_s": past.moment_s},
        "done": "",
        "put_back": past and "",
        "items": 0,
        "size_bytes": 0,
        "told": told,
        "dropped": [],
    }
    _save(transaction, owner, document)


def end(database: Database, transaction: Transaction, owner: str) -> None:
    """Forget a complete copy, if it is still known, and what it kept; in a transaction of `Database.alter`."""
    document = _find(transaction, owner)
    if document is None:
        return
    transaction.delete_document(DOCUMENT_PREFIX + owner)
    if document["former"] is not None:
        _stop_noting(database, transaction, document)
    for number in document["dropped"]:
        drop_tree(transaction, statements.tree(number))
    if document["told"] is not None:
        ready_at = database.clock.now() + database.settings.state_delay_s
        result = {"items": document["items"], "size_bytes": document["size_bytes"], "ready_at": ready_at}
        told = transaction.document(document["told"])
        if told is not None:
            transaction.put_document(document["told"], orjson.dumps({**orjson.loads(told), **result}))


def _stop_noting(database: Database, transaction: Transaction, document: Document) -> None:
    former = document["former"]
    table = stored_table(transaction, document["table"])
    noted = [] if table is None else table.document.get("copies", [])
    if table is not None and former in noted:  # else it was dropped, and there may be another of the name
        rest = {name: value for name, value in table.document.items() if name != "copies"}
        others = [number for number in noted if number != former]
        database.catalog.save(transaction, {**rest, "copies": others} if others else rest)
    transaction.drop_tree(statements.tree(former))


def pending(view: StoreView) -> list[str]:
    """Whom there are unfinished copies for."""
    return [name.removeprefix(DOCUMENT_PREFIX) for name, _ in view.documents(DOCUMENT_PREFIX)]


def is_reading(view: StoreView, tree: Tree) -> bool:
    """Whether a copy still needs the rows of a tree."""
    return _reader(view, tree) is not None


def drop_tree(transaction: Transaction, tree: Tree) -> None:
    """Drop a tree, or leave that to the copy that still reads it."""
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


# Changes meanwhile.


def note(transaction: Transaction, tree: Tree, key: bytes, old: history.Content | None) -> None:
    """Keep what an item was when a copy that is under way was begun; None: it was not there."""
    if transaction.point(tree, key) is None:
        transaction.put(tree, key, *(history.ABSENT if old is None else old))


# Chunks.


def bring_in(view: StoreView, owner: str) -> None:
    """Read the rows that `fill_chunk` will read, ahead of its transaction: writers need not wait for the disk."""
    document = _find(view, owner)
    if document is not None and document["done"] is not None:
        _piece(view, statements.tree(document["source"]), _behind(document["done"]))


def place(view: StoreView, owner: str) -> str:
    """How far a copy has come."""
    document = _find(view, owner)
    if document is None or document["done"] is None:
        return "putting back what has changed since"
    return percent(bytes.fromhex(document["done"]))


def fill_chunk(transaction: Transaction, owner: str) -> bool:
    """Copy some rows, or put some of them back; True once there is nothing left to do."""
    document = _find(transaction, owner)
    if document is None:
        return True
    if document["done"] is not None:
        _copy(transaction, document)
    elif document["put_back"] is not None:
        _put_back(transaction, document)
    else:
        return True
    _save(transaction, owner, document)
    return document["done"] is None and document["put_back"] is None


def _copy(transaction: Transaction, document: Document) -> None:
    low = _behind(document["done"])
    rows, last = _piece(transaction, statements.tree(document["source"]), low)
    if document["former"] is not None:
        were, last_former = _piece(transaction, statements.tree(document["former"]), low)
        last = min((key for key in (last, last_former) if key is not None), default=None)
        rows = _as_they_were(rows, were, last)
    transaction.put_all(statements.tree(document["target"]), rows)
    document["items"] += len(rows)
    document["size_bytes"] += sum(size for _, size, _ in rows)
    document["done"] = None if last is None else last.hex()


def _as_they_were(rows: list[Row], were: list[Row], last: bytes | None) -> list[Row]:
    """The rows up to a key, those that have changed as they were."""
    found = {row[0]: row for row in (*rows, *were) if last is None or row[0] <= last}
    return [found[key] for key in sorted(found) if found[key][1:] != history.ABSENT]


def _put_back(transaction: Transaction, document: Document) -> None:
    past, low = document["past"], bytes.fromhex(document["put_back"])
    target = statements.tree(document["target"])
    records, last = _piece(transaction, statements.tree(past["tree"]), low)
    for key, _, content in history.first_after(records, past["moment_s"]):
        if content is None:
            transaction.delete(target, key)
        else:
            transaction.put(target, key, *content)
    # An item that changes faster than its records are read would keep the copy from its end.
    document["put_back"] = None if last is None else history.next_place(last, past["moment_s"]).hex()


def _behind(done: str) -> bytes:
    return bytes.fromhex(done) + b"\x00" if done else b""


def _piece(view: StoreView, tree: Tree, low: bytes) -> tuple[list[Row], bytes | None]:
    """The first rows from a key on, as many as a chunk may have; the last of them, or None if there are no more."""
    piece: list[Row] = []
    size = 0
    for row in view.span(tree, low, None, limit=CHUNK_ROWS):
        piece.append(row)
        size += len(row[2])
        if size >= CHUNK_BYTES:
            break
    return piece, piece[-1][0] if len(piece) == CHUNK_ROWS or size >= CHUNK_BYTES else None
