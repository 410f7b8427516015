"""Mean, deviation and slope, against numpy and at the edges."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan_systems.thinking_trainer.domain.statistics import deviation, mean, rounded, slope

WINDOWS = st.lists(st.integers(0, 4), min_size=1, max_size=10)
NEAR = 1e-9


@given(WINDOWS)
def test_the_mean_agrees_with_numpy(scores: list[int]) -> None:
    assert float(mean(scores)) == pytest.approx(np.mean(scores), abs=NEAR)


@given(WINDOWS)
def test_the_deviation_agrees_with_numpys_population_deviation(scores: list[int]) -> None:
    assert abs(float(deviation(scores)) - float(np.std(scores, ddof=0))) <= 0.005 + NEAR


@given(st.lists(st.integers(0, 4), min_size=2, max_size=10))
def test_the_slope_agrees_with_numpys_least_squares(scores: list[int]) -> None:
    assert float(slope(scores)) == pytest.approx(np.polyfit(range(len(scores)), scores, 1)[0], abs=NEAR)


@given(st.fractions(min_value=-100, max_value=100, max_denominator=1000))
def test_rounding_agrees_with_decimal(value: Fraction) -> None:
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    assert rounded(value) == exact.quantize(Decimal("0.01"), ROUND_HALF_EVEN)


@given(st.lists(st.integers(0, 100), min_size=1, max_size=40))
def test_the_deviation_is_the_rounded_root_at_any_size(scores: list[int]) -> None:
    n = len(scores)
    p = n * sum(score * score for score in scores) - sum(scores) ** 2
    assert deviation(scores) == (Decimal(p).sqrt() / n).quantize(Decimal("0.01"), ROUND_HALF_EVEN)


@given(WINDOWS)
def test_reversed_scores_keep_mean_and_deviation_and_negate_the_slope(scores: list[int]) -> None:
    backwards = scores[::-1]
    assert mean(backwards) == mean(scores)
    assert deviation(backwards) == deviation(scores)
    assert slope(backwards) == -slope(scores)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Fraction(17, 8), "2.12"),  # 2.125, down to the even one
        (Fraction(19, 8), "2.38"),  # 2.375, up to the even one
        (Fraction(-1, 8), "-0.12"),
        (Fraction(1, 200), "0.00"),
        (Fraction(3, 200), "0.02"),
        (Fraction(-1, 200), "0.00"),
        (Fraction(267, 100), "2.67"),
        (Fraction(8, 3), "2.67"),
    ],
)
def test_an_exact_half_is_rounded_to_the_even_hundredth(value: Fraction, expected: str) -> None:
    assert str(rounded(value)) == expected


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([2, 3, 3, 3, 2], "0.49"),
        ([3, 3, 4, 3, 3, 3, 3, 3, 4, 3], "0.40"),
        ([3, 3, 3, 3, 4, 3, 4, 4, 4, 3], "0.49"),
        ([2, 2, 1, 2, 2, 1, 2, 2, 1, 2], "0.46"),
        ([4], "0.00"),
        ([2, 2, 2], "0.00"),
        ([0, 4], "2.00"),
        ([0, 1], "0.50"),
        ([1] + [0] * 39, "0.16"),
        # An exact half takes 64 scores at least: 24 / 64 is 0.375, 40 / 64 is 0.625.
        ([2] + [1] * 6 + [0] * 57, "0.38"),
        ([4, 3, 1] + [0] * 61, "0.62"),
    ],
)
def test_deviations_match_values_computed_by_hand(scores: list[int], expected: str) -> None:
    assert str(deviation(scores)) == expected


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([2, 3, 3, 3, 2], "0.000"),
        ([3, 3, 4, 3, 3, 3, 3, 3, 4, 3], "0.012"),
        ([3, 3, 3, 3, 4, 3, 4, 4, 4, 3], "0.085"),
        ([2, 2, 1, 2, 2, 1, 2, 2, 1, 2], "-0.018"),
        ([], "0.000"),
        ([3], "0.000"),
        ([0, 4], "4.000"),
        ([4, 0], "-4.000"),
        ([0, 1, 2, 3, 4], "1.000"),
    ],
)
def test_slopes_match_values_computed_by_hand(scores: list[int], expected: str) -> None:
    assert f"{float(slope(scores)):.3f}" == expected


@pytest.mark.parametrize("figure", [mean, deviation])
def test_statistics_of_no_scores_raise_value_error(figure: Callable[[list[int]], object]) -> None:
    with pytest.raises(ValueError, match="without scores"):
        figure([])
