"""The store's interface for operations: sorted trees of rows, logs, documents, read views and write transactions.

Operations access the store only through these protocols, which `store/readers.py` implements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from keyplan.engine.store.statements import LogStatements, TreeStatements

Tree = TreeStatements
"""A set of rows (key, size, body) sorted by key, represented by the SQL statements that access the rows."""

Log = LogStatements
"""An append-only log of records in commit order, represented by the SQL statements that access the records."""

Row = tuple[bytes, int, bytes]
"""A row of a tree: the key, the item's size according to DynamoDB's rules, and the stored body."""


class StoreView(Protocol):
    """A read view of the store. Depending on the view, all reads see the data as of the same point in time, or each
    read sees the latest committed data.
    """

    def point(self, tree: Tree, key: bytes) -> tuple[int, bytes] | None:
        """Return the size and body of the row with this key, or None if it does not exist."""

    def span(
        self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1
    ) -> Iterator[Row]:
        """Yield the rows with low <= key < high in ascending or, if `reverse` is True, descending key order.

        At most `limit` rows are returned. A limit of -1 means no limit.
        """

    def rows(self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1) -> list[Row]:
        """Return the rows of `span` as a list. The range should contain only a few rows."""

    def totals(self, tree: Tree, low: bytes | None = None, high: bytes | None = None) -> tuple[int, int]:
        """Return the number of rows and the sum of their sizes in bytes, for a whole tree or for the keys low <= key <
        high.
        """

    def count_part(self, tree: Tree, last: int) -> tuple[int, int, int, bool]:
        """Count the next batch of rows after row number `last`. Pass 0 to start at the beginning.

        Returns the number of counted rows, the sum of their sizes, the row number of the last of them, and True if the
        tree has no more rows.
        """

    def newest(self, tree: Tree) -> int:
        """Return the highest row number in a tree, or 0 for an empty tree."""

    def records(self, log: Log, shard: int, sequence: int, limit: int) -> list[tuple[int, float, bytes]]:
        """Return up to `limit` stream records of a shard, starting at the sequence number `sequence`.

        Each record is a tuple of its sequence number, the time of the write in epoch seconds, and its body.
        """

    def bounds(self, log: Log, shard: int) -> tuple[int | None, int | None]:
        """Return the first and last sequence number of the stream records in a shard, or None for both if the shard is
        empty.
        """

    def document(self, name: str) -> bytes | None:
        """Return the stored document with this name, or None if it does not exist."""

    def documents(self, prefix: str) -> list[tuple[str, bytes]]:
        """Return the name and body of each stored document whose name starts with the prefix, sorted by name."""

    def sequence(self, name: str) -> int:
        """Return the value of the counter `name`, or 0 if it has never been incremented."""


class Transaction(StoreView, Protocol):
    """Reads and writes of one transaction, which has exclusive access to the database."""

    has_foreign_commit: bool
    """Whether another process or connection has committed since this flag was set to False. `Catalog.check` resets the
    flag.
    """

    def put(self, tree: Tree, key: bytes, size: int, body: bytes) -> None:
        """Write a row, replacing any existing row."""

    def put_all(self, tree: Tree, rows: Sequence[Row]) -> None:
        """Write several rows, replacing any existing rows."""

    def move(self, tree: Tree, old_key: bytes, key: bytes, size: int, body: bytes) -> None:
        """Move a row to a new key, replacing any existing row with that key. If the old row does not exist, only write
        the new row.
        """

    def delete(self, tree: Tree, key: bytes) -> None:
        """Delete a row if it exists."""

    def append(self, log: Log, written_at: float, shard: int, body: bytes) -> int:
        """Append a stream record to a shard of a log and return the record's sequence number."""

    def last_to_trim(self, log: Log, shard: int, before: float, limit: int) -> int:
        """Return the sequence number of the last stream record to trim from a shard, or 0 if the first record of the
        shard is not older than `before`.

        At most `limit` records are checked, starting with the first record of the shard. The check ends at the first
        record that is not older than `before`.
        """

    def trim(self, log: Log, shard: int, last: int) -> int:
        """Delete the stream records of a shard up to and including the sequence number `last`. Return the number of
        deleted records.
        """

    def put_document(self, name: str, body: bytes) -> None:
        """Write a document with this name, replacing any existing document."""

    def delete_document(self, name: str) -> None:
        """Delete the document with this name, if it exists."""

    def next_sequence(self, name: str) -> int:
        """Increment the counter `name` and return its new value."""

    def create_tree(self) -> Tree:
        """Create an empty tree of rows and return it."""

    def drop_tree(self, tree: Tree) -> None:
        """Delete a tree and its rows."""

    def create_log(self) -> Log:
        """Create an empty log of stream records and return it."""

    def drop_log(self, log: Log) -> None:
        """Delete a log and its stream records."""
