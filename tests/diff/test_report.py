"""Times and units as a reader likes them."""

from __future__ import annotations

import pytest

from keyplan.diff.report import duration, number


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "1 s"),
        (1.4, "1 s"),
        (119, "119 s"),
        (120, "2.0 minutes"),
        (7_199, "120.0 minutes"),
        (7_200, "2.0 hours"),
        (172_799, "48.0 hours"),
        (172_800, "2.0 days"),
    ],
)
def test_a_duration_has_a_suitable_unit(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


@pytest.mark.parametrize(
    ("units", "expected"),
    [(0.25, "0.2"), (3.0, "3"), (99.5, "99.5"), (100.4, "100"), (1234.5, "1,234"), (2_000, "2,000")],
)
def test_small_numbers_of_units_have_a_decimal_and_large_ones_none(units: float, expected: str) -> None:
    assert number(units) == expected
