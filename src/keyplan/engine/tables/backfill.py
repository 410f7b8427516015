"""Backfills, which add existing items to new global indexes, store the expiry times of existing items after time to
live is enabled, and copy rows for backups and restores.

Rows are stored in trees, which are sorted sets of rows. After an index is created or time to live is enabled, every
write also updates the new tree of entries. The backfill adds the entries of existing items in chunks. Each chunk is
read and written in one transaction, so entries always match the current items. The progress of a backfill is stored in
a separate document, so that any process can continue the backfill after a crash. Items with invalid index key
attributes are skipped, as in DynamoDB.

The rows of backups and restored tables are copied in the same way (see `copies`). For a restored table, this happens
before any other backfill.

Source: developer guide, "Managing Global Secondary Indexes in DynamoDB".
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from keyplan.dynamodb.values import encoding
from keyplan.dynamodb.values.encoding import DecodeError
from keyplan.dynamodb.values.types import Item
from keyplan.engine.background import Pace, Worker
from keyplan.engine.backups import copies
from keyplan.engine.items import expiry, versions, writes
from keyplan.engine.items.keys import partition_bytes_of
from keyplan.engine.progress import Progress, percent
from keyplan.engine.store.failures import Failure
from keyplan.engine.store.rows import Row, StoreView, Transaction, Tree
from keyplan.engine.tables import descriptions
from keyplan.engine.tables.catalog import Table, stored_table
from keyplan.errors import EngineClosedError, StorageError

if TYPE_CHECKING:
    from keyplan.engine.database import Database

DOCUMENT_PREFIX = "backfill:"
EXPIRY = ":expiry"
"""The name of the backfill that adds the expiry times of existing items. An index cannot have this name."""

ROWS = ":rows"
"""The name of the backfill that copies rows for a restored table or a backup. It runs before all other backfills of a
table.
"""

COLLECTIONS = ":collections"
"""The name of the backfill that computes item collection sizes, for a table to which clients cannot write yet."""

CHUNK_ROWS = 250
"""The maximum number of rows in a chunk of a backfill. Chunks are smaller if writers would otherwise wait too long."""

CHUNKS_AT_ONCE = 8
"""The number of chunks of a backfill that `begin` processes immediately, so that small tables are ready when it
returns.
"""

_log = logging.getLogger(__name__)


def delete_progress(transaction: Transaction, tree: Tree) -> None:
    """Delete the progress document of the backfill that fills the tree."""
    transaction.delete_document(_progress_name(tree))


def _progress_name(tree: Tree) -> str:
    return f"{DOCUMENT_PREFIX}{tree.number}"


def pending_backfills(database: Database) -> list[tuple[str, str]]:
    """Return the owner and name of each unfinished backfill.

    The owner is the name of a table or the ARN of a backup. The name is that of an index, or EXPIRY, COLLECTIONS or
    ROWS.
    """
    return [(owner, ROWS) for owner in copies.pending_owners(database.store.view())] + [
        (table.name, name)
        for table in database.catalog.tables()
        if table.gone_at is None and ROWS not in table.document.get("backfills", ())
        for name in table.document.get("backfills", ())
    ]


def begin(database: Database, owner: str, *names: str) -> None:
    """Run the first chunks of the named backfills. If rows are left, the engine's backfill thread processes them.

    `owner` is the name of a table or the ARN of a backup.
    """
    for name in names:
        if not fill_chunks(database, owner, name, CHUNKS_AT_ONCE):
            database.wake_backfiller()
            if name == ROWS:  # rows come first
                return


_JOBS = {
    EXPIRY: "looking for expiring items of {}",
    ROWS: "copying rows for {}",
    COLLECTIONS: "measuring item collections of {}",
}


def _job(owner: str, name: str) -> str:
    return _JOBS[name].format(owner) if name in _JOBS else f"filling index {name} of {owner}"


def _progress_text(database: Database, owner: str, name: str) -> str:
    view = database.store.view()
    if name == ROWS:
        return copies.progress_text(view, owner)
    table = _unfinished(view, owner, name)
    return percent(b"" if table is None else view.document(_progress_name(_target(table, name))) or b"")


def fill_chunks(database: Database, owner: str, name: str, chunks: int, pace: Pace | None = None) -> bool:
    """Run up to `chunks` chunks of a backfill. Return True if the backfill has ended, or if its table or index was
    dropped.

    `pace` adapts the number of rows per chunk to the duration of earlier chunks.
    """
    pace = pace or Pace(database.clock, CHUNK_ROWS)

    def fill(transaction: Transaction, limit: int) -> bool:
        with pace.measure():
            return _fill_chunk(transaction, owner, name, limit)

    for _ in range(chunks):
        limit = pace.rows
        if not database.store.in_memory:
            with database.store.snapshot() as view:
                _preload_chunk(view, owner, name, limit)
        if database.store.write(partial(fill, limit=limit)):
            database.alter(lambda transaction: _finish(database, transaction, owner, name))
            return True
    return False


def _unfinished(view: StoreView, table_name: str, name: str) -> Table | None:
    table = stored_table(view, table_name)
    return table if table is not None and name in table.document.get("backfills", ()) else None


def _target(table: Table, name: str) -> Tree:
    if name == EXPIRY:
        assert table.expiry is not None
        return table.expiry.tree
    if name == COLLECTIONS:
        assert table.collections is not None
        return table.collections
    return table.indexes[name].tree


def _preload_chunk(view: StoreView, owner: str, name: str, limit: int) -> None:
    """Read the rows of a backfill's next chunk before its transaction starts, and look up the entries that the chunk
    will write.

    This loads the database pages into memory, so that the transaction does not wait for the disk while it blocks
    writers.
    """
    if name == ROWS:
        copies.preload_chunk(view, owner)
        return
    table = _unfinished(view, owner, name)
    if table is None:
        return
    tree = _target(table, name)
    for key, _, body in _next_rows(view, table, tree, limit):
        entry = _entry_key(table, name, key, encoding.decode(body))
        if entry is not None:
            view.point(tree, entry)


def _next_rows(view: StoreView, table: Table, target: Tree, limit: int) -> list[Row]:
    return view.rows(table.tree, view.document(_progress_name(target)) or b"", None, limit=limit)


def _entry_key(table: Table, name: str, key: bytes, item: Item) -> bytes | None:
    """Return the stored key of the entry that the backfill `name` adds for an item, or None if it adds no entry."""
    if name == EXPIRY:
        assert table.expiry is not None
        expiry_time = expiry.expires_at(table.expiry, item)
        return None if expiry_time is None else expiry.expiry_key(expiry_time, key)
    return partition_bytes_of(key) if name == COLLECTIONS else table.indexes[name].key.entry_key(item, key)


def _fill_chunk(transaction: Transaction, owner: str, name: str, limit: int) -> bool:
    """Add the entries for the next rows of a backfill. Return True if no rows are left or the backfill has already
    ended.
    """
    if name == ROWS:
        return copies.fill_chunk(transaction, owner)
    table = _unfinished(transaction, owner, name)
    if table is None:
        return True
    target = _target(table, name)
    rows = _next_rows(transaction, table, target, limit)
    for row in rows:
        _fill_entry(transaction, table, name, row)
    if rows:  # also after the last chunk, so that sums are not added twice if the end is interrupted
        transaction.put_document(_progress_name(target), rows[-1][0] + b"\x00")
    return len(rows) < limit


def _fill_entry(transaction: Transaction, table: Table, name: str, row: Row) -> None:
    key, size, body = row
    item = encoding.decode(body)
    if name == EXPIRY:
        assert table.expiry is not None
        expiry.change(transaction, table.expiry, key, None, item)
        return
    if name == COLLECTIONS:
        writes.add_to_collection(transaction, table, key, versions.Version(item, size, body))
        return
    index = table.indexes[name]
    entry = index.key.entry_key(item, key)
    if entry is not None:
        transaction.put(index.tree, entry, *index.row(item, size, body))


def _finish(database: Database, transaction: Transaction, owner: str, name: str) -> None:
    """Mark the backfill as complete. If `state_delay_s` is set, an index becomes readable after this delay."""
    if name == ROWS:
        copies.finish(database, transaction, owner)
    table = _unfinished(transaction, owner, name)
    if table is None:
        return
    if name != ROWS:
        delete_progress(transaction, _target(table, name))
    document = dict(table.document)
    remaining = [other for other in document["backfills"] if other != name]
    descriptions.set_or_remove(document, "backfills", remaining)
    if "building" in document:
        if not remaining:
            del document["building"]
            document["ready_at"] = database.clock.now() + database.settings.state_delay_s
    elif database.settings.state_delay_s > 0 and name != EXPIRY:
        ready_at = (
            max(database.clock.now(), descriptions.allocated_at(document, name)) + database.settings.state_delay_s
        )
        document["index_ready_at"] = {**document.get("index_ready_at", {}), name: ready_at}
    database.catalog.save(transaction, document)


class Backfiller(Worker[tuple[str, str]]):
    """The engine's thread for backfills, which runs only while backfills are unfinished."""

    def __init__(self, database: Database) -> None:
        super().__init__("keyplan-backfill")
        self._database = database
        self._pace = Pace(database.clock, CHUNK_ROWS)

    def _pending(self) -> list[tuple[str, str]]:
        return pending_backfills(self._database)

    def _run(self) -> None:
        clock = self._database.clock
        current, progress = ("", ""), None
        try:
            while unfinished := self._next_tasks():
                if progress is None or unfinished[0] != current:
                    current = unfinished[0]
                    progress = Progress(clock, _job(*current))
                progress.report(partial(_progress_text, self._database, *current))
                self._database.store.wait_for_checkpoint()
                started_s = clock.monotonic()
                fill_chunks(self._database, *current, 1, self._pace)
                # Writers wait for the same lock. Pause for as long as the chunk took, so that they can run.
                clock.wait(self._stop, clock.monotonic() - started_s)
        except EngineClosedError:
            return
        except (StorageError, Failure, DecodeError):
            # Filled rows are kept. The next access to the table or backup wakes a new thread.
            _log.exception("filling %s of %s was interrupted", current[1], current[0])
