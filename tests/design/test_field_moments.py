"""Moments as they are stored: as text that sorts by time, or as whole units since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from tests.design.stored import MOMENTS, Street

from keyplan.design.field_encoding import encode_value
from keyplan.design.field_moments import moment_text


def test_moments_are_texts_of_one_width_that_sort_by_time() -> None:
    assert moment_text(datetime(7, 1, 2, 3, 4, 5, 6, tzinfo=UTC)) == "0007-01-02T03:04:05.000006Z"
    east = datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    assert moment_text(east) == "2025-12-31T23:00:00.000000Z"


@settings(max_examples=100)
@given(one=MOMENTS, two=MOMENTS)
def test_texts_of_moments_sort_as_the_moments_do(one: datetime, two: datetime) -> None:
    assert (one < two) == (moment_text(one) < moment_text(two))


def test_a_moment_without_a_time_zone_is_refused() -> None:
    naive = datetime(2026, 1, 1)
    with pytest.raises(ValueError, match="has no time zone"):
        encode_value(naive)
    with pytest.raises(ValueError, match="has no time zone"):
        encode_value(Street(name="x", built=naive))
