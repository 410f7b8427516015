"""Item counts and sizes of tables and indexes, which are cached if counting is expensive.

The store counts the rows of a tree (a sorted set of rows) by reading all of them. The result for more than a few rows
is therefore cached for twenty times the duration of the count. Up to 100,000 rows are counted in the thread of the
caller. A larger tree takes seconds to count. Therefore, a background thread counts it, and the caller receives the
previous result. Until the first count has ended, the result is an estimate based on the number of the newest row. A
write transaction uses cached results of any age, because other writers would have to wait during a count. DynamoDB
updates its counts about every six hours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from keyplan.clock import Clock
from keyplan.engine.background import Worker
from keyplan.engine.store.failures import Failure, is_missing_tree
from keyplan.engine.store.rows import StoreView, Tree
from keyplan.errors import EngineClosedError

COUNTED_AT_ONCE = 100_000
"""The maximum number of rows that are counted in the thread of the caller."""

_UNCACHED_ROWS = 10_000
_AGE_FACTOR = 20


class _CachedCount(NamedTuple):
    counted_at: float
    duration_s: float
    rows: int
    size_bytes: int


class _Count(NamedTuple):
    """The number and total size of the rows of a tree up to the row number `last`. `complete` is True if the tree has
    no more rows.
    """

    rows: int
    size_bytes: int
    last: int
    complete: bool


class TreeCounts(Worker[Tree]):
    """A cache of the row counts and sizes of trees (sorted sets of rows). Large trees are counted in a background
    thread.
    """

    def __init__(self, clock: Clock, view: Callable[[], StoreView]) -> None:
        super().__init__("keyplan-counts")
        self._clock = clock
        self._view = view
        self._cached: dict[int, _CachedCount] = {}
        self._requested: dict[int, Tree] = {}

    def totals(self, view: StoreView, tree: Tree, *, any_age: bool = False) -> tuple[int, int]:
        """Return the number of rows in a tree and the sum of their sizes in bytes.

        If `any_age` is True and the tree has been counted before, the cached result is returned even if it is outdated.
        """
        started_s = self._clock.monotonic()
        result = self._cached.get(tree.number)
        if result is not None and (any_age or started_s - result.counted_at < _AGE_FACTOR * result.duration_s):
            return result.rows, result.size_bytes
        if result is None or result.rows <= COUNTED_AT_ONCE:
            count = _count_rows(view, tree, lambda rows: rows < COUNTED_AT_ONCE)
            if count.complete:
                self._store_count(tree, count, started_s)
                return count.rows, count.size_bytes
            result = self._cached[tree.number] = _estimate(view, tree, count, started_s)
        self._requested[tree.number] = tree
        self.wake()
        return result.rows, result.size_bytes

    def discard(self, tree: Tree) -> None:
        """Delete the cached count of a dropped tree."""
        self._cached.pop(tree.number, None)
        self._requested.pop(tree.number, None)

    def _store_count(self, tree: Tree, count: _Count, started_s: float) -> None:
        if count.rows > _UNCACHED_ROWS:
            counted_at = self._clock.monotonic()
            self._cached[tree.number] = _CachedCount(counted_at, counted_at - started_s, count.rows, count.size_bytes)
        else:
            self._cached.pop(tree.number, None)

    def _pending(self) -> Sequence[Tree]:
        return list(self._requested.values())

    def _run(self) -> None:
        try:
            while request := self._next_tasks():
                self._count(request[0])
        except (EngineClosedError, Failure):
            if not self._stop.is_set():
                raise

    def _count(self, tree: Tree) -> None:
        started_s = self._clock.monotonic()
        try:
            count = _count_rows(self._view(), tree, lambda _: not self._stop.is_set())
        except Failure as error:
            if not is_missing_tree(error):
                raise
            self.discard(tree)
            return
        if count.complete and self._requested.pop(tree.number, None) is not None:
            self._store_count(tree, count, started_s)


def _count_rows(view: StoreView, tree: Tree, should_continue: Callable[[int], bool]) -> _Count:
    """Count the rows of a tree in batches, while `should_continue` returns True. Each batch is counted as of the time
    of its read.

    `should_continue` is called before each batch with the number of rows counted so far.
    """
    rows = size_bytes = last = 0
    complete = False
    while not complete and should_continue(rows):
        part, part_bytes, last, complete = view.count_part(tree, last)
        rows, size_bytes = rows + part, size_bytes + part_bytes
    return _Count(rows, size_bytes, last, complete)


def _estimate(view: StoreView, tree: Tree, count: _Count, started_s: float) -> _CachedCount:
    """Estimate the number and size of all rows of a tree from the rows that were counted and the newest row number.

    The result is treated as outdated, so that it is used only until a complete count is available.
    """
    rows = count.rows + max(0, view.newest(tree) - count.last)
    return _CachedCount(started_s, 0.0, rows, count.size_bytes * rows // count.rows)
