"""Stale reads: eventually consistent reads that return slightly outdated rows.

While an engine injects stale reads, `History` stores the former content of each changed row with the time of the
change. It keeps this content for the maximum age of a stale read. A stale read selects a random earlier time and
returns its rows as of that time. The history is kept in memory and belongs to one engine. It does not contain writes by
other processes, so reads always see these writes immediately.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from keyplan.engine.store.rows import Log, Row, StoreView, Transaction, Tree

Content = tuple[int, bytes]
"""The size and body of a row."""


class _FormerContent(NamedTuple):
    changed_at: float
    content: Content | None
    """The content of the row before the change, or None if the row did not exist."""


class History:
    """The former contents of rows, by tree and key, each kept for `keep_s` seconds after the change."""

    def __init__(self, keep_s: float) -> None:
        self._keep_s = keep_s
        self._lock = threading.Lock()
        self._rows: dict[int, dict[bytes, list[_FormerContent]]] = {}
        self._order: deque[tuple[float, int, bytes]] = deque()

    def record(self, tree: Tree, key: bytes, former: Content | None, now: float) -> None:
        """Record the former content of the row with this key, which is being changed at the time `now`."""
        with self._lock:
            self._rows.setdefault(tree.number, {}).setdefault(key, []).append(_FormerContent(now, former))
            self._order.append((now, tree.number, key))
            while self._order[0][0] < now - self._keep_s:
                _, number, old_key = self._order.popleft()
                versions = self._rows[number][old_key]
                versions.pop(0)
                if not versions:
                    del self._rows[number][old_key]

    def content_at(self, tree: Tree, key: bytes, time_s: float, current: Content | None) -> Content | None:
        """Return the content of the row with this key as of the time `time_s`, given its current content."""
        with self._lock:
            for changed_at, content in self._rows.get(tree.number, {}).get(key, ()):
                if changed_at > time_s:
                    return content
        return current

    def changed_rows(self, tree: Tree, low: bytes, high: bytes | None, time_s: float) -> dict[bytes, Content | None]:
        """Return the rows with low <= key < high that changed after `time_s`, with their content as of that time."""
        with self._lock:
            rows = self._rows.get(tree.number, {})
            changes = {}
            for key, versions in rows.items():
                if low <= key and (high is None or key < high):
                    former = next((version for version in versions if version.changed_at > time_s), None)
                    if former is not None:
                        changes[key] = former.content
            return changes


class RecordingWriter:
    """Writes index entries, and records the former content of each entry that is changed."""

    __slots__ = ("_history", "_now", "_transaction")

    def __init__(self, transaction: Transaction, history: History, now: float) -> None:
        self._transaction = transaction
        self._history = history
        self._now = now

    def put(self, tree: Tree, key: bytes, size: int, body: bytes) -> None:
        """Record the former content of a row, and write the row."""
        self._history.record(tree, key, self._transaction.point(tree, key), self._now)
        self._transaction.put(tree, key, size, body)

    def delete(self, tree: Tree, key: bytes) -> None:
        """Record the former content of a row, and delete the row if it exists."""
        self._history.record(tree, key, self._transaction.point(tree, key), self._now)
        self._transaction.delete(tree, key)

    def move(self, tree: Tree, old: bytes, new: bytes, size: int, body: bytes) -> None:
        """Record the former content of both keys, delete the row with the old key, and write the row with
        the new key.
        """
        self.delete(tree, old)
        self.put(tree, new, size, body)


class StaleReadView:
    """A read view for one API call, in which rows may be stale and each read is reported.

    `time_of` returns the time as of which a tree (a sorted set of rows) is read, or None to read its current state.
    `report` is called for each row that is read. If the row does not exist, the reported size is 0.
    """

    def __init__(
        self,
        view: StoreView,
        history: History | None,
        time_of: Callable[[Tree], float | None],
        report: Callable[[Tree, bytes, int, bool], None],
    ) -> None:
        self._view = view
        self._history = history
        self._time_of = time_of
        self._report = report

    def point(self, tree: Tree, key: bytes) -> Content | None:
        """Return the size and body of the row with this key, or None if it does not exist."""
        content = self._view.point(tree, key)
        time_s = self._time_of(tree)
        if self._history is not None and time_s is not None:
            content = self._history.content_at(tree, key, time_s, content)
        self._report(tree, key, content[0] if content is not None else 0, False)
        return content

    def span(
        self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1
    ) -> Iterator[Row]:
        """Yield the rows with low <= key < high in ascending or, if `reverse` is True, descending key order.

        At most `limit` rows are returned. A limit of -1 means no limit.
        """
        self._report(tree, low, 0, True)
        time_s = self._time_of(tree)
        changed: dict[bytes, Content | None] = {}
        if self._history is not None and time_s is not None:
            changed = self._history.changed_rows(tree, low, high, time_s)
        row_limit = limit if not changed else -1
        rows = self._view.span(tree, low, high, reverse=reverse, limit=row_limit)
        for number, row in enumerate(_merge(rows, changed, reverse=reverse)):
            if number == limit:
                return
            self._report(tree, row[0], row[1], True)
            yield row

    def rows(self, tree: Tree, low: bytes, high: bytes | None, *, reverse: bool = False, limit: int = -1) -> list[Row]:
        """Return the rows that `span()` yields, as a list."""
        return list(self.span(tree, low, high, reverse=reverse, limit=limit))

    def totals(self, tree: Tree, low: bytes | None = None, high: bytes | None = None) -> tuple[int, int]:
        """Return the number of rows and the sum of their sizes in bytes, for a whole tree or for the keys low <= key <
        high.
        """
        return self._view.totals(tree, low, high)

    def count_part(self, tree: Tree, last: int) -> tuple[int, int, int, bool]:
        """Count the next batch of rows after row number `last`. The returned tuple is documented in
        `StoreView.count_part`.
        """
        return self._view.count_part(tree, last)

    def newest(self, tree: Tree) -> int:
        """Return the highest row number in a tree, or 0 for an empty tree."""
        return self._view.newest(tree)

    def records(self, log: Log, shard: int, sequence: int, limit: int) -> list[tuple[int, float, bytes]]:
        """Return up to `limit` stream records of a shard, starting at the sequence number `sequence`.

        Each record is a tuple of its sequence number, the time of the write in epoch seconds, and its body.
        """
        return self._view.records(log, shard, sequence, limit)

    def bounds(self, log: Log, shard: int) -> tuple[int | None, int | None]:
        """Return the first and last sequence number of the stream records in a shard, or None for both if the shard is
        empty.
        """
        return self._view.bounds(log, shard)

    def document(self, name: str) -> bytes | None:
        """Return the stored document with this name, or None if it does not exist."""
        return self._view.document(name)

    def documents(self, prefix: str) -> list[tuple[str, bytes]]:
        """Return the name and body of each stored document whose name starts with the prefix, sorted by name."""
        return self._view.documents(prefix)

    def sequence(self, name: str) -> int:
        """Return the value of the counter `name`, or 0 if it has never been incremented."""
        return self._view.sequence(name)


def _merge(rows: Iterator[Row], changed: dict[bytes, Content | None], *, reverse: bool) -> Iterator[Row]:
    """Yield the current rows in key order, but with the former content for the keys in `changed`.

    Rows whose former content is None are omitted, because they did not exist.
    """
    former = sorted(((key, content) for key, content in changed.items() if content is not None), reverse=reverse)
    position = 0
    for row in rows:
        while position < len(former) and _before(former[position][0], row[0], reverse=reverse):
            yield (former[position][0], *former[position][1])
            position += 1
        if row[0] not in changed:
            yield row
    for key, content in former[position:]:
        yield (key, *content)


def _before(left: bytes, right: bytes, *, reverse: bool) -> bool:
    return left >= right if reverse else left <= right
