"""Figures: exact while they are cheap, kept for twenty times what they cost otherwise."""

from __future__ import annotations

from typing import Any, cast

from keyplan.clock import ManualClock
from keyplan.engine.store import statements
from keyplan.engine.store.rows import View
from keyplan.engine.tables.counts import TreeCounts

TREE = statements.tree(1)


class Counting:
    """A view whose totals grow with every look and cost a second each."""

    def __init__(self, clock: ManualClock, rows: int) -> None:
        self.clock = clock
        self.rows = rows

    def totals(self, tree: Any) -> tuple[int, int]:
        self.rows += 1
        self.clock.advance(1.0)
        return self.rows, 10 * self.rows


def test_figures_of_few_rows_are_always_new() -> None:
    clock = ManualClock()
    figures, view = TreeCounts(clock), cast("View", Counting(clock, 0))
    assert [figures.of(view, TREE) for _ in range(3)] == [(1, 10), (2, 20), (3, 30)]


def test_figures_of_many_rows_are_kept_for_a_while() -> None:
    clock = ManualClock()
    figures, view = TreeCounts(clock), cast("View", Counting(clock, 20_000))
    assert figures.of(view, TREE) == (20_001, 200_010)
    clock.advance(19.0)
    assert figures.of(view, TREE) == (20_001, 200_010)
    clock.advance(1.0)
    assert figures.of(view, TREE) == (20_002, 200_020)


def test_a_write_transaction_uses_figures_of_many_rows_of_any_age() -> None:
    clock = ManualClock()
    figures, view = TreeCounts(clock), cast("View", Counting(clock, 20_000))
    assert figures.of(view, TREE, any_age=True) == (20_001, 200_010)
    clock.advance(1000.0)
    assert figures.of(view, TREE, any_age=True) == (20_001, 200_010)
    assert figures.of(view, TREE) == (20_002, 200_020)


def test_figures_of_a_tree_that_has_become_small_are_not_kept() -> None:
    clock = ManualClock()
    counting = Counting(clock, 20_000)
    figures, view = TreeCounts(clock), cast("View", counting)
    figures.of(view, TREE)
    counting.rows = 0
    clock.advance(1000.0)
    assert figures.of(view, TREE) == (1, 10)
    assert figures.of(view, TREE, any_age=True) == (2, 20)


def test_forgotten_figures_are_made_anew() -> None:
    clock = ManualClock()
    figures, view = TreeCounts(clock), cast("View", Counting(clock, 20_000))
    figures.of(view, TREE)
    figures.forget(TREE)
    assert figures.of(view, TREE) == (20_002, 200_020)
