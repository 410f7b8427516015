"""Text form of times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan_systems.thinking_trainer.domain.records import instant, instant_of, iso

TIMESTAMPS = st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-12-22T10:30:00Z", "2025-12-22T10:30:00.000Z"),
        ("2025-12-22T10:30:00.000Z", "2025-12-22T10:30:00.000Z"),
        ("2025-12-22T10:30:00.5Z", "2025-12-22T10:30:00.500Z"),
        ("2025-12-22T10:30:00.123999Z", "2025-12-22T10:30:00.123Z"),
        ("2025-12-22T12:30:00+02:00", "2025-12-22T10:30:00.000Z"),
    ],
)
def test_every_precision_and_offset_is_written_in_one_form(text: str, expected: str) -> None:
    assert iso(instant(text)) == expected


@pytest.mark.parametrize("value", ["2025-12-22T10:30:00", "yesterday", 1734863400, None, "0001-01-01T00:00:00+01:00"])
def test_an_invalid_timestamp_is_rejected(value: object) -> None:
    with pytest.raises(ValueError, match=r"offset|Invalid isoformat|not int|not NoneType|outside"):
        instant(value)


@given(TIMESTAMPS, TIMESTAMPS)
def test_written_timestamps_sort_by_time(first: datetime, second: datetime) -> None:
    assert (iso(first) < iso(second)) == (instant(first) < instant(second))


@given(TIMESTAMPS)
def test_a_written_timestamp_is_read_back(time: datetime) -> None:
    assert instant(iso(time)) == instant(time)
    assert len(iso(time)) == 24


@given(st.integers(0, 4_000_000_000_000))
def test_clock_seconds_keep_their_milliseconds(milliseconds: int) -> None:
    assert instant_of(milliseconds / 1000) == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


def test_the_offset_of_a_datetime_is_subtracted() -> None:
    east = datetime(2026, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=1)))
    assert iso(east) == "2025-12-31T23:30:00.000Z"
