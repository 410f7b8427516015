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

_FEW_ROWS = 10_000
_PATIENCE = 20


class _Known(NamedTuple):
    made_at: float
    took_s: float
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
    """Cached row counts and sizes of trees (sorted sets of rows), with a thread that counts large trees."""

    def __init__(self, clock: Clock, view: Callable[[], StoreView]) -> None:
        super().__init__("keyplan-counts")
        self._clock = clock
        self._view = view
        self._kept: dict[int, _Known] = {}
        self._wanted: dict[int, Tree] = {}

    def of(self, view: StoreView, tree: Tree, *, any_age: bool = False) -> tuple[int, int]:
        """Return the number of rows in a tree and the sum of their sizes in bytes.

        If `any_age` is True, a cached result of any age is accepted.
        """
        started = self._clock.monotonic()
        result = self._kept.get(tree.number)
        if result is not None and (any_age or started - result.made_at < _PATIENCE * result.took_s):
            return result.rows, result.size_bytes
        if result is None or result.rows <= COUNTED_AT_ONCE:
            count = _counted(view, tree, lambda rows: rows < COUNTED_AT_ONCE)
            if count.complete:
                self._keep(tree, count, started)
                return count.rows, count.size_bytes
            result = self._kept[tree.number] = _estimate(view, tree, count, started)
        self._wanted[tree.number] = tree
        self.wake()
        return result.rows, result.size_bytes

    def forget(self, tree: Tree) -> None:
        """Delete the cached count of a dropped tree."""
        self._kept.pop(tree.number, None)
        self._wanted.pop(tree.number, None)

    def _keep(self, tree: Tree, count: _Count, started: float) -> None:
        if count.rows > _FEW_ROWS:
            made_at = self._clock.monotonic()
            self._kept[tree.number] = _Known(made_at, made_at - started, count.rows, count.size_bytes)
        else:
            self._kept.pop(tree.number, None)

    def _pending(self) -> Sequence[Tree]:
        return list(self._wanted.values())

    def _run(self) -> None:
        try:
            while request := self._next_tasks():
                self._count(request[0])
        except (EngineClosedError, Failure):
            if not self._stop.is_set():
                raise

    def _count(self, tree: Tree) -> None:
        started = self._clock.monotonic()
        try:
            count = _counted(self._view(), tree, lambda _: not self._stop.is_set())
        except Failure as error:
            if not is_missing_tree(error):
                raise
            self.forget(tree)
            return
        if count.complete and self._wanted.pop(tree.number, None) is not None:
            self._keep(tree, count, started)


def _counted(view: StoreView, tree: Tree, goes_on: Callable[[int], bool]) -> _Count:
    """Count the rows of a tree in batches, while `goes_on` returns True. Each batch is counted as of the time of its
    read.

    `goes_on` is called before each batch with the number of rows counted so far.
    """
    rows = size_bytes = last = 0
    complete = False
    while not complete and goes_on(rows):
        part, part_bytes, last, complete = view.count_part(tree, last)
        rows, size_bytes = rows + part, size_bytes + part_bytes
    return _Count(rows, size_bytes, last, complete)


def _estimate(view: StoreView, tree: Tree, count: _Count, started: float) -> _Known:
    """Estimate the number and size of all rows of a tree from the rows that were counted and the newest row number.

    The result is treated as outdated, so that it is used only until a complete count is available.
    """
    rows = count.rows + max(0, view.newest(tree) - count.last)
    return _Known(started, 0.0, rows, count.size_bytes * rows // count.rows)
