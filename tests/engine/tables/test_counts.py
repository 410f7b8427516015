"""Figures: exact while they are cheap, cached for twenty times their cost; a thread counts large trees."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from keyplan.clock import ManualClock
from keyplan.engine.store import statements
from keyplan.engine.store.rows import StoreView
from keyplan.engine.tables.counts import COUNTED_AT_ONCE, TreeCounts

TREE = statements.tree(1)
WAIT_S = 60


class Counting:
    """A view whose totals grow with every read and cost a second each."""

    def __init__(self, clock: ManualClock, rows: int) -> None:
        self.clock = clock
        self.rows = rows
        self.newest_number = 0
        self.counts = threading.Event()
        """Unset, it keeps the thread from counting."""
        self.counts.set()

    def count_part(self, tree: Any, last: int) -> tuple[int, int, int, bool]:
        """Count all rows at once in a thread; count only the first part for a caller of a large tree."""
        if threading.current_thread() is not threading.main_thread():
            assert self.counts.wait(WAIT_S)
        elif self.rows > COUNTED_AT_ONCE:
            return COUNTED_AT_ONCE, 10 * COUNTED_AT_ONCE, COUNTED_AT_ONCE, False
        self.rows += 1
        self.clock.advance(1.0)
        return self.rows, 10 * self.rows, self.rows, True

    def newest(self, tree: Any) -> int:
        return self.newest_number


@contextmanager
def figures_of(counting: Counting) -> Iterator[tuple[TreeCounts, StoreView]]:
    view = cast("StoreView", counting)
    figures = TreeCounts(counting.clock, lambda: view)
    yield figures, view
    figures.close()


def test_counts_of_few_rows_are_always_current() -> None:
    with figures_of(Counting(ManualClock(), 0)) as (figures, view):
        assert [figures.totals(view, TREE) for _ in range(3)] == [(1, 10), (2, 20), (3, 30)]


def test_counts_of_many_rows_are_cached_for_a_while() -> None:
    clock = ManualClock()
    with figures_of(Counting(clock, 20_000)) as (figures, view):
        assert figures.totals(view, TREE) == (20_001, 200_010)
        clock.advance(19.0)
        assert figures.totals(view, TREE) == (20_001, 200_010)
        clock.advance(1.0)
        assert figures.totals(view, TREE) == (20_002, 200_020)


def test_a_write_transaction_uses_counts_of_many_rows_of_any_age() -> None:
    clock = ManualClock()
    with figures_of(Counting(clock, 20_000)) as (figures, view):
        assert figures.totals(view, TREE, any_age=True) == (20_001, 200_010)
        clock.advance(1000.0)
        assert figures.totals(view, TREE, any_age=True) == (20_001, 200_010)
        assert figures.totals(view, TREE) == (20_002, 200_020)


def test_counts_of_a_tree_that_has_become_small_are_not_cached() -> None:
    clock = ManualClock()
    counting = Counting(clock, 20_000)
    with figures_of(counting) as (figures, view):
        figures.totals(view, TREE)
        counting.rows = 0
        clock.advance(1000.0)
        assert figures.totals(view, TREE) == (1, 10)
        assert figures.totals(view, TREE, any_age=True) == (2, 20)


def test_dropped_counts_are_computed_again() -> None:
    with figures_of(Counting(ManualClock(), 20_000)) as (figures, view):
        figures.totals(view, TREE)
        figures.discard(TREE)
        assert figures.totals(view, TREE) == (20_002, 200_020)


def test_counts_of_very_many_rows_are_estimated_until_a_thread_has_counted() -> None:
    counting = Counting(ManualClock(), 5_000_000)
    counting.newest_number = 6_000_000
    counting.counts.clear()
    with figures_of(counting) as (figures, view):
        assert figures.totals(view, TREE) == (6_000_000, 60_000_000)
        assert figures.totals(view, TREE) == (6_000_000, 60_000_000)
        counting.counts.set()
        figures.wait()
        assert figures.totals(view, TREE) == (5_000_001, 50_000_010)


def test_outdated_counts_of_very_many_rows_are_used_while_a_thread_counts() -> None:
    clock = ManualClock()
    counting = Counting(clock, 5_000_000)
    with figures_of(counting) as (figures, view):
        figures.totals(view, TREE)
        figures.wait()
        clock.advance(1000.0)
        counting.counts.clear()
        assert figures.totals(view, TREE) == (5_000_001, 50_000_010)
        counting.counts.set()
        figures.wait()
        assert figures.totals(view, TREE) == (5_000_002, 50_000_020)


def test_counts_of_a_tree_that_no_longer_exists_are_dropped() -> None:
    counting = Counting(ManualClock(), 5_000_000)
    counting.counts.clear()
    with figures_of(counting) as (figures, view):
        figures.totals(view, TREE)
        figures.discard(TREE)
        counting.rows = 7
        counting.counts.set()
        figures.wait()
        assert figures.totals(view, TREE, any_age=True)[0] < COUNTED_AT_ONCE
