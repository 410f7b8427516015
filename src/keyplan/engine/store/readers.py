"""Read views and write transactions that use SQLite connections.

Each reading thread has its own connection. The thread that wrote last also reads through the write connection.

When a connection sees another connection's commit, it drops all its cached pages. If a thread used its own connection
to read its own recent write, every page would therefore be fetched again. The write connection avoids this. For the
same reason, only the write connection maps the file into memory: SQLite also drops the mapping after another
connection's commit. If other processes commit frequently, a mapping costs more than it saves, so it is removed. Large
files are not mapped either. Most reads of a large file access their pages for the first time, which causes a page
fault, and a page fault takes longer than the system call of a read. If the page is not in memory, a page fault loads
all surrounding pages, up to the disk's read-ahead (often 128 KiB, but 8 MiB on some disks), whereas a read loads only
that page.

If the disk fails to read a mapped page, or a program truncates the file, a SIGBUS signal ends the process, whereas an
ordinary read would raise an error. Acknowledged writes are not lost.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import apsw

from keyplan.engine.store import statements
from keyplan.engine.store.combine import yield_processor
from keyplan.engine.store.failures import convert_errors
from keyplan.engine.store.files import CACHE_KIB, connect
from keyplan.engine.store.forks import FORK_MESSAGE
from keyplan.engine.store.rows import Log, Row, StoreView, Tree
from keyplan.errors import EngineClosedError

MIN_CACHE_KIB = 4 * 1024
MIN_GROWTH_BYTES = 1024 * 1024
BRIEF_ROWS = 100  # the maximum for reads that block writers
FIRST_ROWS = 25  # rows fetched first: most spans are shorter, and a page of large rows needs few
READS_PER_MAPPING_UPDATE = 64
MIN_UNMAPPED_BYTES = 2 * 1024 * 1024 * 1024
"""The minimum size, in bytes, of database files that are not mapped into memory."""
FOREIGN_WEIGHT, MAX_WEIGHT = 8, 80  # a mapping is kept if at most one check in eight finds a foreign commit
CHUNK_ROWS = 256
COUNTED_ROWS = 20_000
"""The maximum number of rows that one statement counts. Counting them takes a few milliseconds if the rows are in
memory.
"""


def remaining_bounds(low: bytes, high: bytes | None, last: bytes, *, reverse: bool) -> tuple[bytes, bytes | None]:
    """Return the bounds of the part of the range low <= key < high that remains after the row with the key `last`.

    `reverse` is True if the range is read in descending key order.
    """
    return (low, last) if reverse else (last + b"\x00", high)


class ConnectionReader:
    """Reads through one SQLite connection. A tree is a sorted set of rows, and a log is a sequence of records."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._cursor = connection.cursor()
        self.execute = self._cursor.execute
        """Runs a statement, which must end before the next statement starts."""

    def point(self, tree: Tree, key: bytes) -> tuple[int, bytes] | None:
        """Return the size and body of the row with this key, or None if it does not exist."""
        row: tuple[int, bytes] | None = self.execute(tree.point, (key,)).get
        return row

    def span(
        self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1
    ) -> Iterator[Row]:
        """Yield the rows with low <= key < high in ascending or, if `reverse` is True, descending key order.

        At most `limit` rows are returned. A limit of -1 means no limit.
        """
        cursor = self.connection.cursor()
        try:
            if high is None:
                yield from cursor.execute(tree.backward_from if reverse else tree.forward_from, (low, limit))
            else:
                yield from cursor.execute(tree.backward if reverse else tree.forward, (low, high, limit))
        finally:
            cursor.close()

    def rows(self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1) -> list[Row]:
        """Return the rows of `span` as a list."""
        execute = self._cursor.execute
        if high is None:
            cursor = execute(tree.backward_from if reverse else tree.forward_from, (low, limit))
        else:
            cursor = execute(tree.backward if reverse else tree.forward, (low, high, limit))
        return cursor.fetchall()  # type: ignore[return-value]  # the columns of `Row`

    def totals(self, tree: Tree, low: bytes | None = None, high: bytes | None = None) -> tuple[int, int]:
        """Return the number of rows and the sum of their sizes in bytes, for a whole tree or for the keys low <= key <
        high.

        A whole tree is counted in batches, so that a read outside a transaction does not delay a restart of the log for
        long. Each batch sees the rows as of the time of its read.
        """
        if low is not None:
            span_totals: tuple[int, int] = self._get(tree.span_totals, low, high)
            return span_totals
        rows = size = last = 0
        complete = False
        while not complete:
            part, part_size, last, complete = self.count_part(tree, last)
            rows, size = rows + part, size + part_size
        return rows, size

    def count_part(self, tree: Tree, last: int) -> tuple[int, int, int, bool]:
        """Count up to `COUNTED_ROWS` rows after row number `last`.

        Returns the number of counted rows, the sum of their sizes, the row number of the last of them, and True if the
        tree has no more rows.
        """
        part, size, last = self._get(tree.part_totals, last, COUNTED_ROWS)
        return part, size, last or 0, part < COUNTED_ROWS

    def newest(self, tree: Tree) -> int:
        """Return the highest row number in a tree, or 0 for an empty tree."""
        return self._get(tree.newest) or 0

    def records(self, log: Log, shard: int, sequence: int, limit: int) -> list[tuple[int, float, bytes]]:
        """Return up to `limit` stream records of a shard, starting at the sequence number `sequence`.

        Each record is a tuple of its sequence number, the time of the write in epoch seconds, and its body.
        """
        return self._all(log.read, shard, sequence, limit)

    def bounds(self, log: Log, shard: int) -> tuple[int | None, int | None]:
        """Return the first and last sequence number of the stream records in a shard, or None for both if the shard is
        empty.
        """
        row: tuple[int | None, int | None] = self._get(log.bounds, shard)
        return row

    def document(self, name: str) -> bytes | None:
        """Return the stored document with this name, or None if it does not exist."""
        body: bytes | None = self._get(statements.GET_DOCUMENT, name)
        return body

    def documents(self, prefix: str) -> list[tuple[str, bytes]]:
        """Return the name and body of each stored document whose name starts with the prefix, sorted by name."""
        return self._all(statements.LIST_DOCUMENTS, prefix, prefix + "\U0010ffff")

    def sequence(self, name: str) -> int:
        """Return the value of the counter `name`, or 0 if it has never been incremented."""
        return self._get(statements.GET_SEQUENCE, name) or 0

    def _get(self, statement: str, *parameters: Any) -> Any:
        """Run a query that returns at most one row, and return this row or None. If the row has a single column, return
        only its value.
        """
        return self._cursor.execute(statement, parameters).get

    def _all(self, statement: str, *parameters: Any) -> list[Any]:
        return self._cursor.execute(statement, parameters).fetchall()


class ConnectionWriter(ConnectionReader):
    """Reads and writes in the current transaction, through the write connection."""

    has_foreign_commit = False
    """Whether another connection has committed since this flag was set to False. `Catalog.check` resets the flag."""

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__(connection)
        self.thread: int | None = None
        """The thread that wrote last. Its reads may use this connection too."""
        self.last_data_version = connection.data_version()
        """The data version after this connection's last commit, or -1 if other connections may have committed."""

    def put(self, tree: Tree, key: bytes, size: int, body: bytes) -> None:
        """Write a row, replacing any existing row."""
        self.execute(tree.upsert, (key, size, body))

    def put_all(self, tree: Tree, rows: Sequence[Row]) -> None:
        """Write several rows with one prepared statement, replacing any existing rows."""
        self._cursor.executemany(tree.upsert, rows)

    def move(self, tree: Tree, old_key: bytes, key: bytes, size: int, body: bytes) -> None:
        """Move a row to a new key, replacing any existing row with that key. If the old row does not exist, only write
        the new row.
        """
        self.execute(tree.move, (key, size, body, old_key))
        if not self.connection.changes():
            self.execute(tree.upsert, (key, size, body))

    def delete(self, tree: Tree, key: bytes) -> None:
        """Delete a row if it exists."""
        self.execute(tree.delete, (key,))

    def append(self, log: Log, written_at: float, shard: int, body: bytes) -> int:
        """Append a stream record to a shard of a log and return the record's sequence number."""
        self._cursor.execute(log.append, (written_at, shard, body))
        return self.connection.last_insert_rowid()

    def last_to_trim(self, log: Log, shard: int, before: float, limit: int) -> int:
        """Return the sequence number of the last stream record to trim from a shard, or 0 if the first record of the
        shard is not older than `before`.

        At most `limit` records are checked, starting with the first record of the shard. The check ends at the first
        record that is not older than `before`.
        """
        return self._get(log.last_to_trim, shard, before, limit) or 0

    def trim(self, log: Log, shard: int, last: int) -> int:
        """Delete the stream records of a shard up to and including the sequence number `last`. Return the number of
        deleted records.
        """
        self._cursor.execute(log.trim, (shard, last))
        return self.connection.changes()

    def put_document(self, name: str, body: bytes) -> None:
        """Write a document with this name, replacing any existing document."""
        self._cursor.execute(statements.PUT_DOCUMENT, (name, body))

    def delete_document(self, name: str) -> None:
        """Delete the document with this name, if it exists."""
        self._cursor.execute(statements.DELETE_DOCUMENT, (name,))

    def next_sequence(self, name: str) -> int:
        """Increment the counter `name` and return its new value."""
        value: int = self._get(statements.NEXT_SEQUENCE, name)
        return value

    def create_tree(self) -> Tree:
        """Create an empty tree of rows and return it."""
        tree = statements.tree(self.next_sequence("tree"))
        self._cursor.execute(tree.create)
        return tree

    def drop_tree(self, tree: Tree) -> None:
        """Delete a tree and its rows."""
        self._cursor.execute(tree.drop)

    def create_log(self) -> Log:
        """Create an empty log of stream records and return it."""
        log = statements.log(self.next_sequence("log"))
        self._cursor.execute(log.create)
        return log

    def drop_log(self, log: Log) -> None:
        """Delete a log and its stream records."""
        self._cursor.execute(log.drop)


class LockedReader(ConnectionReader):
    """Reads an in-memory database through its only connection, while holding the store's lock. A range of rows is read
    in chunks, and the lock is released after each chunk.
    """

    def __init__(self, connection: apsw.Connection, lock: threading.RLock) -> None:
        super().__init__(connection)
        self._lock: Any = lock

    def point(self, tree: Tree, key: bytes) -> tuple[int, bytes] | None:
        with self._lock:
            return super().point(tree, key)

    def span(
        self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1
    ) -> Iterator[Row]:
        while limit:
            chunk = CHUNK_ROWS if limit < 0 else min(limit, CHUNK_ROWS)
            rows = self.rows(tree, low, high, reverse=reverse, limit=chunk)
            yield from rows
            if len(rows) < chunk:
                return
            limit = limit - chunk if limit > 0 else limit
            low, high = remaining_bounds(low, high, rows[-1][0], reverse=reverse)

    def rows(self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1) -> list[Row]:
        with self._lock:
            return super().rows(tree, low, high, reverse=reverse, limit=limit)

    def _get(self, statement: str, *parameters: Any) -> Any:
        with self._lock:
            return super()._get(statement, *parameters)

    def _all(self, statement: str, *parameters: Any) -> list[Any]:
        with self._lock:
            return super()._all(statement, *parameters)


class MemoryReaders:
    """The read views of an in-memory database. All views use the only connection to the database."""

    def __init__(self, connection: apsw.Connection, lock: threading.RLock) -> None:
        self._lock = lock
        self._view = LockedReader(connection, lock)

    def view(self) -> ConnectionReader:
        """Return a view in which each read sees the latest committed data."""
        return self._view

    @contextmanager
    def snapshot(self) -> Iterator[StoreView]:
        """Yield a view as of one point in time. Writers are blocked until the block ends."""
        with self._lock:
            yield self._view

    def close(self) -> None:
        """Do nothing, because no separate connection for reads exists."""

    def close_in_child(self) -> object:
        """Do nothing and return None, because a child process has its own copy of the memory."""
        return None


class FileReaders:
    """The read views of a database file. Each thread has its own connection."""

    def __init__(self, path: str, writer: ConnectionWriter, lock: threading.RLock) -> None:
        self._path = path
        self._writer = writer
        self._lock = lock
        self._local = threading.local()
        self._connections: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self._opening = threading.Lock()
        self._closed = ""  # the reason, once closed
        self._mapping = Mapping(path, writer)

    def view(self) -> ConnectionReader:
        """Return a view for the current thread in which each read sees the latest committed data."""
        view: ConnectionReader | None = getattr(self._local, "view", None)
        return view if view is not None else self._new_view()

    @contextmanager
    def snapshot(self) -> Iterator[StoreView]:
        """Yield a view for the current thread in which all reads see the data as of one point in time."""
        reader = self._separate_reader()
        try:
            with convert_errors(self._path):
                _end_read(reader)  # ends a read that a signal handler interrupted
                reader.execute(statements.BEGIN_READ)
            yield reader
        finally:
            _end_read(reader)

    def _new_view(self) -> ConnectionReader:
        if self._writer.thread is None:  # before the first write, the first reader uses it
            self._writer.thread = threading.get_ident()
        view = self._local.view = BorrowingReader(
            self._separate_reader().connection, self._writer, self._lock, self._mapping
        )
        return view

    def _separate_reader(self) -> ConnectionReader:
        reader: ConnectionReader | None = getattr(self._local, "reader", None)
        if reader is None:
            with self._opening:
                if self._closed:
                    raise EngineClosedError(f"{self._path} {self._closed}")
                connection = connect(self._path)
                self._connections.add(connection)
                # The more threads exist, the smaller is the page cache of each connection.
                connection.pragma("cache_size", -max(MIN_CACHE_KIB, CACHE_KIB // len(self._connections)))
            reader = self._local.reader = ConnectionReader(connection)
        return reader

    def close(self) -> None:
        """Close the connections of all threads. Reads in progress in other threads fail."""
        with self._opening:
            self._closed = "is closed"
            connections = list(self._connections)
        for connection in connections:
            _close(connection)

    def close_in_child(self) -> object:
        """Reject all later reads in a child process, without closing the connections of the parent. Return the objects
        that contain these connections, which must not be freed.
        """
        handles, self._local, self._opening = self._local, threading.local(), threading.Lock()
        self._closed = FORK_MESSAGE
        return handles


def _end_read(reader: ConnectionReader) -> None:
    if reader.connection.in_transaction:
        reader.execute(statements.COMMIT)


def _close(connection: apsw.Connection) -> None:
    while True:
        try:
            connection.close()
        except apsw.ThreadingViolationError:  # its thread is executing SQLite code
            connection.interrupt()
            yield_processor()
        else:
            return


class Mapping:
    """The memory mapping of the database file, used for reads through the write connection.

    The mapping covers the part of the file that existed at the last check. Files of at least `MIN_UNMAPPED_BYTES` are
    not mapped.
    """

    def __init__(self, path: str, writer: ConnectionWriter) -> None:
        self._path = Path(path)
        self._writer = writer
        self._connection = writer.connection
        self._version = writer.last_data_version
        self._weight = 0
        self._is_disabled = False
        self._bytes = 0
        self._map_growth()

    def update(self) -> None:
        """Map newly added pages of the file, or remove the mapping permanently. The caller must hold the writer's lock.

        The mapping is removed if other processes commit frequently or the file has become large.
        """
        if self._is_disabled:
            return
        version = self._connection.data_version()
        if version in (self._version, self._writer.last_data_version):
            self._weight = max(0, self._weight - 1)
        else:
            self._version = version
            self._weight += FOREIGN_WEIGHT
        if self._weight > MAX_WEIGHT:
            self._disable()
        else:
            self._map_growth()

    def _disable(self) -> None:
        self._is_disabled = True
        self._connection.pragma("mmap_size", 0)

    def _map_growth(self) -> None:
        """Extend the mapping if the file has grown. SQLite does this only when the mapping's size limit is changed."""
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:  # some systems can remove an open file
            return
        if size >= MIN_UNMAPPED_BYTES:
            self._disable()
        elif size > self._bytes + max(self._bytes // 8, MIN_GROWTH_BYTES):
            self._connection.pragma("mmap_size", size)
            self._bytes = size


class BorrowingReader(ConnectionReader):
    """A reader for one thread. If the thread was the last to write, short reads use the write connection. All other
    reads use the reader's own connection.
    """

    def __init__(
        self, connection: apsw.Connection, writer: ConnectionWriter, lock: threading.RLock, mapping: Mapping
    ) -> None:
        super().__init__(connection)
        self._thread = threading.get_ident()
        self._writer = writer
        self._write_connection = writer.connection
        self._write_execute = writer.execute
        self._acquire, self._release = lock.acquire, lock.release
        self._mapping = mapping
        self._reads = 0

    def point(self, tree: Tree, key: bytes) -> tuple[int, bytes] | None:
        # Every read of one item takes this path, so function calls are inlined.
        row: tuple[int, bytes] | None
        if self._writer.thread == self._thread and self._acquire(False):
            try:
                if (
                    not self._write_connection.in_transaction
                ):  # otherwise this thread's own transaction is not committed yet
                    self._reads += 1
                    if self._reads >= READS_PER_MAPPING_UPDATE:
                        self._update_mapping()
                    row = self._write_execute(tree.point, (key,)).get
                    return row
            finally:
                self._release()
        row = self.execute(tree.point, (key,)).get
        return row

    def span(
        self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1
    ) -> Iterator[Row]:
        """Yield the rows as in `ConnectionReader.span`. Later rows can include changes that were made after the first
        rows were read.
        """
        chunk = FIRST_ROWS if limit < 0 else min(limit, FIRST_ROWS)
        rows = self.rows(tree, low, high, reverse=reverse, limit=chunk)
        if len(rows) < FIRST_ROWS or limit == FIRST_ROWS:
            return iter(rows)
        low, high = remaining_bounds(low, high, rows[-1][0], reverse=reverse)
        return chain(rows, super().span(tree, low, high, reverse=reverse, limit=limit if limit < 0 else limit - chunk))

    def rows(self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1) -> list[Row]:
        if self._writer.thread == self._thread and 0 <= limit <= BRIEF_ROWS and self._acquire(False):
            try:
                if not self._write_connection.in_transaction:
                    self._reads += 1
                    if self._reads >= READS_PER_MAPPING_UPDATE:
                        self._update_mapping()
                    return self._writer.rows(tree, low, high, reverse=reverse, limit=limit)
            finally:
                self._release()
        return super().rows(tree, low, high, reverse=reverse, limit=limit)

    def _update_mapping(self) -> None:
        self._reads = 0
        self._mapping.update()
