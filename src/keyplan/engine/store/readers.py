"""Reads of committed rows: each thread has its own connection, and the last writer also reads through the writer's.

A connection drops all the pages it holds when it sees another connection's commit. A thread that reads its own recent
write would fetch every page again; through the write connection it need not. Only that connection maps the file into
memory, for the same reason: SQLite also drops the mapping after another connection's commit. Where other processes
commit all the time, a mapping costs more than it saves, and is ended. The same holds for a large file. Most reads
access its pages for the first time, which costs a page fault, more than a read's system call. For a page that is not in
memory, the kernel fetches all pages around it, up to the disk's read-ahead (often 128 KiB, 8 MiB on some disks), where
a read fetches that page alone.

A disk that fails under a mapped page, or a program that truncates the file, ends the process by a signal (SIGBUS),
where a read of the file would raise. Acknowledged writes are not lost.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import apsw

from keyplan.engine.store import statements
from keyplan.engine.store.combine import give_way
from keyplan.engine.store.failures import failures
from keyplan.engine.store.files import CACHE_KIB, connect
from keyplan.engine.store.forks import WHY
from keyplan.engine.store.rows import Row, StoreView, Tree
from keyplan.engine.store.views import Connected, Locked, Writing, rest
from keyplan.errors import EngineClosedError

LEAST_CACHE_KIB = 4 * 1024
LEAST_GROWTH_BYTES = 1024 * 1024
BRIEF_ROWS = 100  # to fetch more would keep writers waiting
FIRST_ROWS = 25  # of a span: most are shorter, and a page of large rows may need only a few
READS_PER_LOOK = 64
MOST_MAPPED_BYTES = 2 * 1024 * 1024 * 1024
"""Length of a file from which on it is not mapped."""
FOREIGN_WEIGHT, MOST_WEIGHT = 8, 80  # one check in eight may find another connection's commit


class MemoryReaders:
    """Reads of a database in memory, all through its one connection."""

    def __init__(self, connection: apsw.Connection, lock: threading.RLock) -> None:
        self._lock = lock
        self._view = Locked(connection, lock)

    def view(self) -> Connected:
        """Return a view whose reads are each as of their own time."""
        return self._view

    @contextmanager
    def snapshot(self) -> Iterator[StoreView]:
        """Yield a view whose reads are as of one time: nobody writes until the block ends."""
        with self._lock:
            yield self._view

    def close(self) -> None:
        """Do nothing: only one connection exists."""

    def leave_behind(self) -> object:
        """Keep nothing: each process has its own memory."""
        return None


class FileReaders:
    """Reads of a file, by thread."""

    def __init__(self, path: str, writing: Writing, lock: threading.RLock) -> None:
        self._path = path
        self._writing = writing
        self._lock = lock
        self._local = threading.local()
        self._connections: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self._opening = threading.Lock()
        self._closed = ""  # the reason, once closed
        self._mapping = Mapping(path, writing)

    def view(self) -> Connected:
        """Return a view of the calling thread whose reads are each as of their own time."""
        view: Connected | None = getattr(self._local, "view", None)
        return view if view is not None else self._new_view()

    @contextmanager
    def snapshot(self) -> Iterator[StoreView]:
        """Yield a view whose reads are all as of one time."""
        own = self._own()
        try:
            with failures(self._path):
                _end(own)  # of a read that a signal handler interrupted at its end
                own.execute(statements.BEGIN_READ)
            yield own
        finally:
            _end(own)

    def _new_view(self) -> Connected:
        if self._writing.thread is None:  # nobody has written yet: the first reader uses it
            self._writing.thread = threading.get_ident()
        view = self._local.view = Borrowing(self._own().connection, self._writing, self._lock, self._mapping)
        return view

    def _own(self) -> Connected:
        own: Connected | None = getattr(self._local, "own", None)
        if own is None:
            with self._opening:
                if self._closed:
                    raise EngineClosedError(f"{self._path} {self._closed}")
                connection = connect(self._path)
                self._connections.add(connection)
                # The more threads exist, the less memory each keeps.
                connection.pragma("cache_size", -max(LEAST_CACHE_KIB, CACHE_KIB // len(self._connections)))
            own = self._local.own = Connected(connection)
        return own

    def close(self) -> None:
        """Close every thread's connection. A running read in another thread fails."""
        with self._opening:
            self._closed = "is closed"
            connections = list(self._connections)
        for connection in connections:
            _close(connection)

    def leave_behind(self) -> object:
        """Drop all connections in a child process, permanently. Return objects that must not be freed."""
        left, self._local, self._opening = self._local, threading.local(), threading.Lock()
        self._closed = WHY
        return left


def _end(own: Connected) -> None:
    if own.connection.in_transaction:
        own.execute(statements.COMMIT)


def _close(connection: apsw.Connection) -> None:
    while True:
        try:
            connection.close()
        except apsw.ThreadingViolationError:  # its thread is inside SQLite now
            connection.interrupt()
            give_way()
        else:
            return


class Mapping:
    """The mapping of the file into memory, for reads through the write connection.

    It covers the whole file as of the last check. Files of `MOST_MAPPED_BYTES` and more are not mapped.
    """

    def __init__(self, path: str, writing: Writing) -> None:
        self._path = Path(path)
        self._writing = writing
        self._connection = writing.connection
        self._version = writing.seen
        self._weight = 0
        self._given_up = False
        self._bytes = 0
        self._map_growth()

    def look(self) -> None:
        """Map the file's growth, or end the mapping permanently. Requires the writer's lock.

        The mapping ends where others commit all the time, and where the file has grown large.
        """
        if self._given_up:
            return
        version = self._connection.data_version()
        if version in (self._version, self._writing.seen):
            self._weight = max(0, self._weight - 1)
        else:
            self._version = version
            self._weight += FOREIGN_WEIGHT
        if self._weight > MOST_WEIGHT:
            self._give_up()
        else:
            self._map_growth()

    def _give_up(self) -> None:
        self._given_up = True
        self._connection.pragma("mmap_size", 0)

    def _map_growth(self) -> None:
        """Map the whole file again by changing its limit: SQLite does not extend a mapping by itself."""
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:  # removed while it is open, on systems that permit it
            return
        if size >= MOST_MAPPED_BYTES:
            self._give_up()
        elif size > self._bytes + max(self._bytes // 8, LEAST_GROWTH_BYTES):
            self._connection.pragma("mmap_size", size)
            self._bytes = size


class Borrowing(Connected):
    """Reads of one thread: brief ones through the write connection if it wrote last, others through its own."""

    def __init__(self, connection: apsw.Connection, writing: Writing, lock: threading.RLock, mapping: Mapping) -> None:
        super().__init__(connection)
        self._thread = threading.get_ident()
        self._writing = writing
        self._lent = writing.connection
        self._execute_lent = writing.execute
        self._acquire, self._release = lock.acquire, lock.release
        self._mapping = mapping
        self._reads = 0

    def point(self, tree: Tree, key: bytes) -> tuple[int, bytes] | None:
        # Every read of one item takes this path: calls are inlined.
        found: tuple[int, bytes] | None
        if self._writing.thread == self._thread and self._acquire(False):
            try:
                if not self._lent.in_transaction:  # otherwise it is this thread's own: not committed
                    self._reads += 1
                    if self._reads >= READS_PER_LOOK:
                        self._look()
                    found = self._execute_lent(tree.point, (key,)).get
                    return found
            finally:
                self._release()
        found = self.execute(tree.point, (key,)).get
        return found

    def span(
        self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1
    ) -> Iterator[Row]:
        """Yield the rows in key order: the first ones as of one time, later ones as of another."""
        wanted = FIRST_ROWS if limit < 0 else min(limit, FIRST_ROWS)
        rows = self.rows(tree, low, high, reverse=reverse, limit=wanted)
        if len(rows) < FIRST_ROWS or limit == FIRST_ROWS:
            return iter(rows)
        low, high = rest(low, high, rows[-1][0], reverse=reverse)
        return chain(rows, super().span(tree, low, high, reverse=reverse, limit=limit if limit < 0 else limit - wanted))

    def rows(self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1) -> list[Row]:
        if self._writing.thread == self._thread and 0 <= limit <= BRIEF_ROWS and self._acquire(False):
            try:
                if not self._lent.in_transaction:
                    self._reads += 1
                    if self._reads >= READS_PER_LOOK:
                        self._look()
                    return self._writing.rows(tree, low, high, reverse=reverse, limit=limit)
            finally:
                self._release()
        return super().rows(tree, low, high, reverse=reverse, limit=limit)

    def _look(self) -> None:
        self._reads = 0
        self._mapping.look()
