"""Mean, standard deviation and slope of integer scores, computed exactly and rounded once at the end.

Scores are small integers, so all values except the square root are fractions. The square root is rounded with integer
arithmetic. The results do not depend on the order of additions or on binary floating point. Exact halves are rounded to
even.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import isqrt


def rounded(value: Fraction) -> Decimal:
    """Return the value rounded to two decimals. Exact halves are rounded to even."""
    return _hundredths(round(value * 100))


def mean(scores: Sequence[int]) -> Fraction:
    """Return the arithmetic mean. Raises ValueError if `scores` is empty."""
    if not scores:
        raise ValueError("cannot compute the mean without scores")
    return Fraction(sum(scores), len(scores))


def deviation(scores: Sequence[int]) -> Decimal:
    """Return the population standard deviation of the scores, rounded to two decimals.

    With n scores, it is sqrt(p) / n, where p is n times the sum of squares minus the square of the sum. Exact halves
    are rounded to even.
    """
    if not scores:
        raise ValueError("cannot compute the deviation without scores")
    n = len(scores)
    p = n * sum(score * score for score in scores) - sum(scores) ** 2
    floor = isqrt(10_000 * p // (n * n))
    # Compare with the midpoint between this hundredth and the next. Both sides are squared and multiplied by the
    # denominators.
    value, middle = 40_000 * p, (n * (2 * floor + 1)) ** 2
    up = value > middle or (value == middle and floor % 2 == 1)
    return _hundredths(floor + up)


def slope(scores: Sequence[int]) -> Fraction:
    """Return the least-squares slope of the scores, which must be sorted oldest first, or 0 for fewer than
    two scores.
    """
    n = len(scores)
    if n < 2:
        return Fraction(0)
    # Distances from the middle are doubled, so that every term is an integer.
    steps = [2 * index - (n - 1) for index in range(n)]
    return Fraction(2 * sum(step * score for step, score in zip(steps, scores, strict=True)), sum(s * s for s in steps))


def _hundredths(count: int) -> Decimal:
    return Decimal(count).scaleb(-2)
