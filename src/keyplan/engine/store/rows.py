"""The store's interface to operations: sorted trees, logs, documents, read views and write transactions.

Operations use only these protocols; `store/readers.py` implements them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from keyplan.engine.store.statements import LogStatements, TreeStatements

Tree = TreeStatements
"""A sorted tree of rows (key bytes, size, body), named by its statements."""

Log = LogStatements
"""An append-only log of records in commit order, named by its statements."""

Row = tuple[bytes, int, bytes]
"""Key, the item's size as the service counts it, stored body."""


class StoreView(Protocol):
    """Reads as of one point in time, or each as of the time of the read."""

    def point(self, tree: Tree, key: bytes) -> tuple[int, bytes] | None:
        """Return size and body under a key."""

    def span(
        self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1
    ) -> Iterator[Row]:
        """Yield rows with low <= key < high in key order; `limit` -1: all."""

    def rows(self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1) -> list[Row]:
        """Return the same rows at once, for spans and limits known to be small."""

    def totals(self, tree: Tree, low: bytes | None = None, high: bytes | None = None) -> tuple[int, int]:
        """Return the number of rows and the sum of their sizes, of all or of a span."""

    def count_part(self, tree: Tree, last: int) -> tuple[int, int, int, bool]:
        """Count some rows after a row number, 0 for all.

        Return their number, the sum of their sizes, the last row number, and whether no row follows.
        """

    def newest(self, tree: Tree) -> int:
        """Return the highest row number; 0 for a tree without rows."""

    def records(self, log: Log, shard: int, sequence: int, limit: int) -> list[tuple[int, float, bytes]]:
        """Return records of a shard from a sequence on: (sequence, written at, body)."""

    def bounds(self, log: Log, shard: int) -> tuple[int | None, int | None]:
        """Return the first and last sequence of a shard that still exist."""

    def document(self, name: str) -> bytes | None:
        """Return a named document, or None."""

    def documents(self, prefix: str) -> list[tuple[str, bytes]]:
        """Return all documents whose name starts with the prefix, by name."""

    def sequence(self, name: str) -> int:
        """Return the value of a named sequence; 0 before its first use."""


class Transaction(StoreView, Protocol):
    """Reads and writes of one transaction, which has exclusive access to the database."""

    foreign: bool
    """True if another process or connection has committed since the last reset; the reader of this flag resets it."""

    def put(self, tree: Tree, key: bytes, size: int, body: bytes) -> None:
        """Write a row. It may exist."""

    def put_all(self, tree: Tree, rows: Sequence[Row]) -> None:
        """Write several rows. They may exist."""

    def move(self, tree: Tree, old_key: bytes, key: bytes, size: int, body: bytes) -> None:
        """Write a row, which may exist, in place of another, which may be missing."""

    def delete(self, tree: Tree, key: bytes) -> None:
        """Remove a row. It may be missing."""

    def append(self, log: Log, written_at: float, shard: int, body: bytes) -> int:
        """Append a record and return its sequence."""

    def last_of_older(self, log: Log, shard: int, before: float, most: int) -> int:
        """Return the last of up to `most` records at a shard's start that were all written before a time.

        Return 0 if no such record exists.
        """

    def trim(self, log: Log, shard: int, last: int) -> int:
        """Drop a shard's records up to a sequence and return their number."""

    def put_document(self, name: str, body: bytes) -> None:
        """Write a named document."""

    def delete_document(self, name: str) -> None:
        """Remove a named document."""

    def next_sequence(self, name: str) -> int:
        """Advance a named sequence and return its new value."""

    def create_tree(self) -> Tree:
        """Create an empty tree."""

    def drop_tree(self, tree: Tree) -> None:
        """Remove a tree and its rows."""

    def create_log(self) -> Log:
        """Create an empty log."""

    def drop_log(self, log: Log) -> None:
        """Remove a log and its records."""
