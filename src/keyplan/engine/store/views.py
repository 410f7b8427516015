"""Reads and writes through one SQLite connection: committed rows, or those of a transaction."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from keyplan.engine.store import statements
from keyplan.engine.store.rows import Log, Row, Tree

CHUNK_ROWS = 256
COUNTED_ROWS = 20_000
"""Rows that one statement counts: some milliseconds of work where they are in memory."""


def rest(low: bytes, high: bytes | None, last: bytes, *, reverse: bool) -> tuple[bytes, bytes | None]:
    """Return the rest of a span after its rows up to `last` have been read."""
    return (low, last) if reverse else (last + b"\x00", high)


class Connected:
    """Reads through one connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._cursor = connection.cursor()
        self.execute = self._cursor.execute
        """Run a statement that ends before the next one starts."""

    def point(self, tree: Tree, key: bytes) -> tuple[int, bytes] | None:
        """Return size and body under a key."""
        found: tuple[int, bytes] | None = self.execute(tree.point, (key,)).get
        return found

    def span(
        self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1
    ) -> Iterator[Row]:
        """Yield rows with low <= key < high in key order; `limit` -1: all."""
        cursor = self.connection.cursor()
        try:
            if high is None:
                yield from cursor.execute(tree.backward_from if reverse else tree.forward_from, (low, limit))
            else:
                yield from cursor.execute(tree.backward if reverse else tree.forward, (low, high, limit))
        finally:
            cursor.close()

    def rows(self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1) -> list[Row]:
        """Return the same rows at once."""
        execute = self._cursor.execute
        if high is None:
            found = execute(tree.backward_from if reverse else tree.forward_from, (low, limit))
        else:
            found = execute(tree.backward if reverse else tree.forward, (low, high, limit))
        return found.fetchall()  # type: ignore[return-value]  # the columns of `Row`

    def totals(self, tree: Tree, low: bytes | None = None, high: bytes | None = None) -> tuple[int, int]:
        """Return the number of rows and the sum of their sizes, of all or of a span.

        All rows are counted in parts, so that outside a transaction no read holds the log for long. Each part then sees
        the rows of its own instant.
        """
        if low is not None:
            of_span: tuple[int, int] = self._get(tree.span_totals, low, high)
            return of_span
        rows = size = last = 0
        complete = False
        while not complete:
            part, part_size, last, complete = self.count_part(tree, last)
            rows, size = rows + part, size + part_size
        return rows, size

    def count_part(self, tree: Tree, last: int) -> tuple[int, int, int, bool]:
        """Count some rows after a row number.

        Return their number, the sum of their sizes, the last row number, and whether no row follows.
        """
        part, size, last = self._get(tree.part_totals, last, COUNTED_ROWS)
        return part, size, last or 0, part < COUNTED_ROWS

    def newest(self, tree: Tree) -> int:
        """Return the highest row number; 0 for a tree without rows."""
        return self._get(tree.newest) or 0

    def records(self, log: Log, shard: int, sequence: int, limit: int) -> list[tuple[int, float, bytes]]:
        """Return records of a shard from a sequence on."""
        return self._all(log.read, shard, sequence, limit)

    def bounds(self, log: Log, shard: int) -> tuple[int | None, int | None]:
        """Return the first and last sequence of a shard that still exist."""
        found: tuple[int | None, int | None] = self._get(log.bounds, shard)
        return found

    def document(self, name: str) -> bytes | None:
        """Return a named document, or None."""
        found: bytes | None = self._get(statements.GET_DOCUMENT, name)
        return found

    def documents(self, prefix: str) -> list[tuple[str, bytes]]:
        """Return all documents whose name starts with the prefix, by name."""
        return self._all(statements.LIST_DOCUMENTS, prefix, prefix + "\U0010ffff")

    def sequence(self, name: str) -> int:
        """Return the value of a named sequence."""
        return self._get(statements.GET_SEQUENCE, name) or 0

    def _get(self, statement: str, *given: Any) -> Any:
        """Return the row that a statement finds, or the value of its only column; None if no row exists."""
        return self._cursor.execute(statement, given).get

    def _all(self, statement: str, *given: Any) -> list[Any]:
        """Return all rows that a statement finds."""
        return self._cursor.execute(statement, given).fetchall()


class Writing(Connected):
    """Reads and writes of the current transaction on the write connection."""

    foreign = False
    """True if another connection has committed since the last reset."""

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__(connection)
        self.thread: int | None = None
        """The thread that wrote last. Its reads may use this connection too."""
        self.seen = connection.data_version()
        """The version of the data after this connection's last commit; -1: other connections may have committed."""

    def put(self, tree: Tree, key: bytes, size: int, body: bytes) -> None:
        """Write a row. It may exist."""
        self.execute(tree.upsert, (key, size, body))

    def put_all(self, tree: Tree, rows: Sequence[Row]) -> None:
        """Write several rows, which may exist, with one prepared statement."""
        self._cursor.executemany(tree.upsert, rows)

    def move(self, tree: Tree, old_key: bytes, key: bytes, size: int, body: bytes) -> None:
        """Write a row, which may exist, in place of another, which may be missing."""
        self.execute(tree.move, (key, size, body, old_key))
        if not self.connection.changes():
            self.execute(tree.upsert, (key, size, body))

    def delete(self, tree: Tree, key: bytes) -> None:
        """Remove a row. It may be missing."""
        self.execute(tree.delete, (key,))

    def append(self, log: Log, written_at: float, shard: int, body: bytes) -> int:
        """Append a record and return its sequence."""
        self._cursor.execute(log.append, (written_at, shard, body))
        return self.connection.last_insert_rowid()

    def last_of_older(self, log: Log, shard: int, before: float, most: int) -> int:
        """Return the last of up to `most` records at a shard's start that were all written before a time.

        Return 0 if no such record exists.
        """
        return self._get(log.last_of_older, shard, before, most) or 0

    def trim(self, log: Log, shard: int, last: int) -> int:
        """Drop a shard's records up to a sequence and return their number."""
        self._cursor.execute(log.trim, (shard, last))
        return self.connection.changes()

    def put_document(self, name: str, body: bytes) -> None:
        """Write a named document."""
        self._cursor.execute(statements.PUT_DOCUMENT, (name, body))

    def delete_document(self, name: str) -> None:
        """Remove a named document."""
        self._cursor.execute(statements.DELETE_DOCUMENT, (name,))

    def next_sequence(self, name: str) -> int:
        """Advance a named sequence and return its new value."""
        value: int = self._get(statements.NEXT_SEQUENCE, name)
        return value

    def create_tree(self) -> Tree:
        """Create an empty tree."""
        tree = statements.tree(self.next_sequence("tree"))
        self._cursor.execute(tree.create)
        return tree

    def drop_tree(self, tree: Tree) -> None:
        """Remove a tree and its rows."""
        self._cursor.execute(tree.drop)

    def create_log(self) -> Log:
        """Create an empty log."""
        log = statements.log(self.next_sequence("log"))
        self._cursor.execute(log.create)
        return log

    def drop_log(self, log: Log) -> None:
        """Remove a log and its records."""
        self._cursor.execute(log.drop)


class Locked(Connected):
    """Reads of a database in memory: its one connection, behind the lock, a chunk at a time."""

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
            wanted = CHUNK_ROWS if limit < 0 else min(limit, CHUNK_ROWS)
            rows = self.rows(tree, low, high, reverse=reverse, limit=wanted)
            yield from rows
            if len(rows) < wanted:
                return
            limit = limit - wanted if limit > 0 else limit
            low, high = rest(low, high, rows[-1][0], reverse=reverse)

    def rows(self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1) -> list[Row]:
        with self._lock:
            return super().rows(tree, low, high, reverse=reverse, limit=limit)

    def _get(self, statement: str, *given: Any) -> Any:
        with self._lock:
            return super()._get(statement, *given)

    def _all(self, statement: str, *given: Any) -> list[Any]:
        with self._lock:
            return super()._all(statement, *given)
