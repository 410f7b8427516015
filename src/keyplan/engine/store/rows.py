"""The store's interface to operations: sorted trees, logs, documents, read views and write transactions.

Operations use only these protocols, which `store/readers.py` implements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from keyplan.engine.store.statements import LogStatements, TreeStatements

Tree = TreeStatements
"""A sorted tree of rows (key bytes, size, body), identified by its SQL statements."""

Log = LogStatements
"""An append-only log of records in commit order, identified by its SQL statements."""

Row = tuple[bytes, int, bytes]
"""Key, the item's size as the service counts it, stored body."""


class StoreView(Protocol):
    """Reads that are all as of one point in time, or each as of a different time."""

    def point(self, tree: Tree, key: bytes) -> tuple[int, bytes] | None:
        """Return the size and body of the row with a key, or None."""

    def span(
        self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1
    ) -> Iterator[Row]:
        """Yield rows with low <= key < high in key order. A `limit` of -1 means no limit."""

    def rows(self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1) -> list[Row]:
        """Return the rows of `span` as a list, for spans and limits that are known to be small."""

    def totals(self, tree: Tree, low: bytes | None = None, high: bytes | None = None) -> tuple[int, int]:
        """Return the number of rows and the sum of their sizes, for the whole tree or a span."""

    def count_part(self, tree: Tree, last: int) -> tuple[int, int, int, bool]:
        """Count some rows after a row number, or 0 to start at the beginning.

        Returns the number of rows, the sum of their sizes, the last row number, and True if the tree has no more rows.
        """

    def newest(self, tree: Tree) -> int:
        """Return the highest row number, or 0 for an empty tree."""

    def records(self, log: Log, shard: int, sequence: int, limit: int) -> list[tuple[int, float, bytes]]:
        """Return records of a shard, starting at a sequence, as (sequence, written at, body)."""

    def bounds(self, log: Log, shard: int) -> tuple[int | None, int | None]:
        """Return the first and last sequence of the existing records of a shard."""

    def document(self, name: str) -> bytes | None:
        """Return a named document, or None."""

    def documents(self, prefix: str) -> list[tuple[str, bytes]]:
        """Return all documents whose name starts with the prefix, by name."""

    def sequence(self, name: str) -> int:
        """Return the value of a named sequence, or 0 before its first use."""


class Transaction(StoreView, Protocol):
    """Reads and writes of one transaction, which has exclusive access to the database."""

    foreign: bool
    """True if another process or connection has committed since the flag was reset. Code that reads it resets it."""

    def put(self, tree: Tree, key: bytes, size: int, body: bytes) -> None:
        """Write a row, replacing any existing row."""

    def put_all(self, tree: Tree, rows: Sequence[Row]) -> None:
        """Write several rows, replacing any existing rows."""

    def move(self, tree: Tree, old_key: bytes, key: bytes, size: int, body: bytes) -> None:
        """Move a row to a new key, replacing any existing row. The old row may be missing."""

    def delete(self, tree: Tree, key: bytes) -> None:
        """Delete a row if it exists."""

    def append(self, log: Log, written_at: float, shard: int, body: bytes) -> int:
        """Append a record and return its sequence."""

    def last_of_older(self, log: Log, shard: int, before: float, most: int) -> int:
        """Return the sequence of the last of up to `most` records at the start of a shard that are older than a time.

        Returns 0 if no such record exists.
        """

    def trim(self, log: Log, shard: int, last: int) -> int:
        """Delete the records of a shard up to a sequence, and return their number."""

    def put_document(self, name: str, body: bytes) -> None:
        """Write a named document."""

    def delete_document(self, name: str) -> None:
        """Remove a named document."""

    def next_sequence(self, name: str) -> int:
        """Increment a named sequence and return its new value."""

    def create_tree(self) -> Tree:
        """Create an empty tree."""

    def drop_tree(self, tree: Tree) -> None:
        """Remove a tree and its rows."""

    def create_log(self) -> Log:
        """Create an empty log."""

    def drop_log(self, log: Log) -> None:
        """Remove a log and its records."""
