"""What operations need of a store: sorted trees, logs, documents, read views and write transactions.

They speak to these protocols alone; `store/views.py` is what stands behind them.
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
    """Reads at one moment, or each at its own."""

    def point(self, tree: Tree, key: bytes) -> tuple[int, bytes] | None:
        """Size and body under a key."""

    def span(
        self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1
    ) -> Iterator[Row]:
        """Rows with low <= key < high in key order; `limit` -1: all."""

    def rows(self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1) -> list[Row]:
        """The same rows in one go, for spans and limits known to be small."""

    def totals(self, tree: Tree, low: bytes | None = None, high: bytes | None = None) -> tuple[int, int]:
        """Number of rows and sum of sizes, of all or of a span."""

    def count_part(self, tree: Tree, last: int) -> tuple[int, int, int, bool]:
        """Count some rows behind a row number, 0 for all: how many, the sum of their sizes, the last number, and
        whether no row follows."""

    def newest(self, tree: Tree) -> int:
        """The highest row number; 0 for a tree without rows."""

    def records(self, log: Log, shard: int, sequence: int, limit: int) -> list[tuple[int, float, bytes]]:
        """Records of a shard from a sequence on: (sequence, written at, body)."""

    def bounds(self, log: Log, shard: int) -> tuple[int | None, int | None]:
        """First and last sequence of a shard that are still there."""

    def document(self, name: str) -> bytes | None:
        """A named document."""

    def documents(self, prefix: str) -> list[tuple[str, bytes]]:
        """All documents whose name starts with the prefix, by name."""

    def sequence(self, name: str) -> int:
        """The value of a named sequence; 0 before its first use."""


class Transaction(StoreView, Protocol):
    """Reads and writes of one transaction, alone in the database."""

    foreign: bool
    """Whether another process or connection has committed since this was last set back, which is done by whoever
    has looked at what it was."""

    def put(self, tree: Tree, key: bytes, size: int, body: bytes) -> None:
        """Write a row, new or not."""

    def put_all(self, tree: Tree, rows: Sequence[Row]) -> None:
        """Write several rows, new or not."""

    def move(self, tree: Tree, old_key: bytes, key: bytes, size: int, body: bytes) -> None:
        """Write a row, new or not, in the place of another one, there or not."""

    def delete(self, tree: Tree, key: bytes) -> None:
        """Remove a row, there or not."""

    def append(self, log: Log, written_at: float, shard: int, body: bytes) -> int:
        """Add a record; its sequence."""

    def last_of_older(self, log: Log, shard: int, before: float, most: int) -> int:
        """The last of the records at a shard's beginning, so many at most, that were all written before a moment.

        0 if there is none.
        """

    def trim(self, log: Log, shard: int, last: int) -> int:
        """Drop a shard's records up to a sequence; how many."""

    def put_document(self, name: str, body: bytes) -> None:
        """Write a named document."""

    def delete_document(self, name: str) -> None:
        """Remove a named document."""

    def next_sequence(self, name: str) -> int:
        """Advance a named sequence and return its new value."""

    def create_tree(self) -> Tree:
        """A new, empty tree."""

    def drop_tree(self, tree: Tree) -> None:
        """Remove a tree and its rows."""

    def create_log(self) -> Log:
        """A new, empty log."""

    def drop_log(self, log: Log) -> None:
        """Remove a log and its records."""
