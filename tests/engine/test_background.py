"""Size of background transactions: smaller after slow ones, larger again after fast ones."""

from __future__ import annotations

from keyplan.clock import ManualClock
from keyplan.engine.background import MAX_TRANSACTION_S, MIN_ROWS, Pace


def rows_after(pace: Pace, clock: ManualClock, *seconds: float) -> list[int]:
    """Return the rows of the next transaction after each of those durations."""
    rows: list[int] = []
    for took_s in seconds:
        with pace.measure():
            clock.advance(took_s)
        rows.append(pace.rows)
    return rows


def test_a_slow_transaction_is_followed_by_smaller_ones() -> None:
    clock = ManualClock()
    pace = Pace(clock, 100)
    assert pace.rows == 100
    assert rows_after(pace, clock, *[2 * MAX_TRANSACTION_S] * 5) == [50, 25, 12, MIN_ROWS, MIN_ROWS]


def test_transactions_grow_again_if_they_are_fast() -> None:
    clock = ManualClock()
    pace = Pace(clock, 100)
    rows_after(pace, clock, *[1.0] * 3)
    assert rows_after(pace, clock, MAX_TRANSACTION_S * 3 / 4, 0.0, 0.0, 0.0, 0.0, 0.0) == [12, 24, 48, 96, 100, 100]


def test_a_transaction_never_exceeds_the_maximum() -> None:
    clock = ManualClock()
    pace = Pace(clock, 3)
    assert rows_after(pace, clock, 1.0, 0.0, 1.0) == [3, 3, 3]
