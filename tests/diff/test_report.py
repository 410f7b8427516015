"""Times as a reader likes them."""

from __future__ import annotations

import pytest

from keyplan.diff.report import duration


@pytest.mark.parametrize(
    ("seconds", "told"),
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
def test_a_time_has_the_unit_that_suits_it(seconds: float, told: str) -> None:
    assert duration(seconds) == told
