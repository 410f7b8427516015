"""Consistency check of a database: file pages, items, indexes, expiries, collection sizes and backups.

The check reads a single snapshot of the database and uses a bounded amount of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from keyplan.clock import Clock
from keyplan.dynamodb.values import attribute, encoding
from keyplan.engine.backups import backups, history
from keyplan.engine.faults import lag
from keyplan.engine.items import expiry
from keyplan.engine.items.keys import partition_bytes_of
from keyplan.engine.items.versions import Version
from keyplan.engine.items.writes import collection_bytes
from keyplan.engine.progress import Progress, percent
from keyplan.engine.store.rows import Row, StoreView, Tree
from keyplan.engine.store.sqlite import SqliteStore
from keyplan.engine.tables import backfill
from keyplan.engine.tables.catalog import Index, Table, stored_tables
from keyplan.errors import ServiceError

PROGRESS_ROWS = 1000


class _CheckedDatabase(Protocol):
    """The interface of an engine or a database that can be checked."""

    store: SqliteStore
    clock: Clock


@dataclass(frozen=True, slots=True)
class FsckProblem:
    """An inconsistency found in a database."""

    table: str
    location: str
    message: str
    key: str = ""

    def __str__(self) -> str:
        path = f"{self.table}/{self.location}" if self.location else self.table
        return f"{path}: {self.message}" + (f" (key {self.key})" if self.key else "")


def check(database: _CheckedDatabase, progress: Callable[[str, int], None] | None = None) -> list[FsckProblem]:
    """Return all inconsistencies in a database. The list is empty if the database is consistent.

    If pages of the file are damaged, only the damaged pages are reported. `progress` is called with the name of a table
    and the number of its rows that have been checked.
    """
    page_progress = Progress(database.clock, "checking the pages of the file")
    problems = [
        FsckProblem("database", "", finding)
        for finding in database.store.integrity(lambda: page_progress.report(page_progress.elapsed))
    ]
    page_progress.finish()
    if problems:
        return problems
    with database.store.snapshot() as view:
        for table in stored_tables(view):
            row_progress = Progress(database.clock, f"checking table {table.name}")
            problems += _check_table(view, table, progress, row_progress)
            row_progress.finish()
        for document in backups.all_backups(view):
            problems += _check_backup(view, document)
    return problems


def _check_table(
    view: StoreView, table: Table, progress_of: Callable[[str, int], None] | None, progress: Progress
) -> Iterator[FsckProblem]:
    checks: tuple[_TableCheck, ...] = (
        _CollectionCheck(view, table),
        _EntryCheck(view, table),
        _ExpiryCheck(view, table),
    )
    for rows, (key, size, body) in enumerate(view.span(table.tree, b"", None), 1):
        if rows % PROGRESS_ROWS == 0:
            progress.report(partial(percent, key))
            if progress_of is not None:
                progress_of(table.name, rows)
        try:
            version = Version(encoding.decode(body), size, body)
        except encoding.DecodeError:
            yield FsckProblem(table.name, "", "item cannot be read", key.hex())
            continue
        yield from _check_row(table, key, version)
        for run_check in checks:
            yield from run_check.add(key, version)
    progress.report(lambda: "counting entries")
    for run_check in checks:
        yield from run_check.finish()
    if table.recovery is not None:
        yield from _check_copies(table, "history", history.record_rows(view, table.recovery))


def _check_backup(view: StoreView, document: dict[str, Any]) -> Iterator[FsckProblem]:
    table, location = backups.table_of(document), document["arn"].split("/", 2)[2]
    yield from _check_copies(table, location, view.span(table.tree, b"", None))
    if not backups.is_in_progress(document) and view.totals(table.tree) != (document["items"], document["size_bytes"]):
        yield FsckProblem(table.name, location, "recorded number or total size of items is wrong")


def _check_copies(table: Table, location: str, rows: Iterator[Row]) -> Iterator[FsckProblem]:
    """Yield the problems in the rows of backups or recovery records: unreadable items, and rows whose key differs from
    the key of their item.
    """
    for key, size, body in rows:
        try:
            version = Version(encoding.decode(body), size, body)
        except encoding.DecodeError:
            yield FsckProblem(table.name, location, "item cannot be read", key.hex())
        else:
            yield from _check_row(table, key, version, location)


def _check_row(table: Table, key: bytes, version: Version, location: str = "") -> Iterator[FsckProblem]:
    try:
        expected = table.key.of_item(version.item)
    except ServiceError as error:
        yield FsckProblem(table.name, location, f"item does not match the key schema: {error.message}", key.hex())
        return
    if expected != key:
        yield FsckProblem(table.name, location, "key of the row differs from the key of its item", key.hex())
    if attribute.item_bytes(version.item) != version.size:
        yield FsckProblem(table.name, location, "recorded size differs from the size of the item", key.hex())


def _check_entry(
    view: StoreView, table: Table, index: Index, entry_key: bytes, version: Version
) -> Iterator[FsckProblem]:
    row = view.point(index.tree, entry_key)
    if row is None:
        yield FsckProblem(table.name, index.name, "entry is missing", entry_key.hex())
    elif row != index.row(version.item, version.size, version.body):
        yield FsckProblem(table.name, index.name, "entry differs from the item", entry_key.hex())


def _check_count(view: StoreView, table: Table, location: str, tree: Tree, expected: int) -> Iterator[FsckProblem]:
    entries, _ = view.totals(tree)
    if entries != expected:
        yield FsckProblem(table.name, location, f"{entries} entries, {expected} expected")


class _TableCheck(Protocol):
    """The interface of a consistency check of one table. `add` checks each row, in key order, and `finish` reports
    problems that are known only after the last row.
    """

    def add(self, key: bytes, version: Version) -> Iterator[FsckProblem]:
        """Check one row and yield its problems."""
        ...

    def finish(self) -> Iterator[FsckProblem]:
        """Yield the problems that are known only after the last row."""
        ...


class _EntryCheck:
    """Checks that each item has the correct index entries, and that the indexes do not contain other entries. Entries
    for which a write is delayed are ignored.
    """

    def __init__(self, view: StoreView, table: Table) -> None:
        self._view = view
        self._table = table
        unfinished = table.document.get("backfills", ())
        self._indexes = [index for index in table.indexes.values() if index.name not in unfinished]
        self._waiting = lag.find(view)
        self._counts = dict.fromkeys(table.indexes, 0)

    def add(self, key: bytes, version: Version) -> Iterator[FsckProblem]:
        for index in self._indexes:
            entry_key = index.key.entry_key(version.item, key)
            if entry_key is not None and not lag.is_delayed(self._view, self._waiting, index.tree, entry_key):
                self._counts[index.name] += 1
                yield from _check_entry(self._view, self._table, index, entry_key, version)

    def finish(self) -> Iterator[FsckProblem]:
        for index in self._indexes:
            expected = self._counts[index.name] + lag.visible_entries(self._view, self._waiting, index.tree)
            yield from _check_count(self._view, self._table, index.name, index.tree, expected)


class _ExpiryCheck:
    """Checks that each item with an expiry time has an expiry entry, and that no other expiry entries exist."""

    def __init__(self, view: StoreView, table: Table) -> None:
        self._view = view
        self._table = table
        self._count = 0

    def add(self, key: bytes, version: Version) -> Iterator[FsckProblem]:
        expiry_tree = self._table.expiry
        expires_at = None if expiry_tree is None else expiry.expires_at(expiry_tree, version.item)
        if expiry_tree is None or expires_at is None:
            return
        self._count += 1
        if self._view.point(expiry_tree.tree, expiry.expiry_key(expires_at, key)) is None:
            yield FsckProblem(self._table.name, "time to live", "expiry is missing", key.hex())

    def finish(self) -> Iterator[FsckProblem]:
        if self._table.expiry is not None:
            tree = self._table.expiry.tree
            yield from _check_count(self._view, self._table, "time to live", tree, self._count)


class _CollectionCheck:
    """Checks the stored sizes of item collections. The rows of an item collection must be added one after another."""

    def __init__(self, view: StoreView, table: Table) -> None:
        self._view = view
        self._table = table
        self._tree = None if backfill.COLLECTIONS in table.document.get("backfills", ()) else table.collections
        self._partition = b""
        self._bytes = 0
        self._count = 0

    def add(self, key: bytes, version: Version) -> Iterator[FsckProblem]:
        if self._tree is None:
            return
        partition = partition_bytes_of(key)
        if partition != self._partition:
            yield from self._compare()
            self._partition, self._bytes = partition, 0
            self._count += 1
        self._bytes += collection_bytes(self._table, version)

    def finish(self) -> Iterator[FsckProblem]:
        if self._tree is None:
            return
        yield from self._compare()
        yield from _check_count(self._view, self._table, "item collections", self._tree, self._count)

    def _compare(self) -> Iterator[FsckProblem]:
        tree = self._tree
        if not self._partition or tree is None:
            return
        row = self._view.point(tree, self._partition)
        if (row[0] if row else 0) != self._bytes:
            yield FsckProblem(self._table.name, "item collections", "recorded size is wrong", self._partition.hex())
