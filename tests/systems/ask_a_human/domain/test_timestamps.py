"""Timestamps: the stored text, local days across clock changes, and days a zone never had."""

from __future__ import annotations

from datetime import date, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.systems.ask_a_human.builders import at

from keyplan_systems.ask_a_human.domain import timestamps
from keyplan_systems.ask_a_human.domain.refusals import InvalidRequestError

TIMES_MS = st.integers(0, 4_102_444_800_000)


@given(TIMES_MS)
def test_a_stored_timestamp_is_read_back(at_ms: int) -> None:
    assert timestamps.parse_iso(timestamps.iso(at_ms)) == at_ms


@given(TIMES_MS, TIMES_MS)
def test_stored_timestamps_sort_by_time(first: int, second: int) -> None:
    assert (timestamps.iso(first) < timestamps.iso(second)) == (first < second)


def test_a_whole_second_keeps_its_three_decimals() -> None:
    assert timestamps.iso(1_770_000_000_000) == "2026-02-02T02:40:00.000Z"


@pytest.mark.parametrize("text", ["2026-02-02T02:40:00Z", "2026-02-02T02:40:00.000+00:00", "yesterday", ""])
def test_another_form_of_the_same_timestamp_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="not a stored timestamp"):
        timestamps.parse_iso(text)


@pytest.mark.parametrize(("at_ms", "seconds"), [(0, 0), (1, 1), (999, 1), (1000, 1), (1001, 2)])
def test_the_rounded_up_second_is_never_before_the_time(at_ms: int, seconds: int) -> None:
    assert timestamps.ceil_seconds(at_ms) == seconds


def test_no_zone_means_utc() -> None:
    assert timestamps.zone(None).key == "UTC"


@pytest.mark.parametrize(
    "name", ["Mars/Olympus", "", "../etc/passwd", "America", "Europe/Berlin\0", "europe/berlin", "x" * 5000]
)
def test_an_unknown_zone_is_a_validation_error(name: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        timestamps.zone(name)
    assert refused.value.details == {"field": "X-Timezone", "constraint": "time_zone"}


@pytest.mark.parametrize(
    ("time", "zone", "day", "hour"),
    [
        ("2026-03-29T00:59:59", "Europe/Berlin", "2026-03-29", 1),  # the last second before the clock jumps
        ("2026-03-29T01:00:00", "Europe/Berlin", "2026-03-29", 3),
        ("2026-10-25T00:30:00", "Europe/Berlin", "2026-10-25", 2),  # the hour that occurs twice
        ("2026-10-25T01:30:00", "Europe/Berlin", "2026-10-25", 2),
        ("2026-02-02T23:30:00", "Pacific/Auckland", "2026-02-03", 12),
        ("2026-02-02T05:00:00", "Pacific/Honolulu", "2026-02-01", 19),
        ("2026-02-02T18:30:00", "Asia/Kolkata", "2026-02-03", 0),
    ],
)
def test_local_day_and_hour_follow_the_zone(time: str, zone: str, day: str, hour: int) -> None:
    in_zone = ZoneInfo(zone)
    assert timestamps.local_day(at(time), in_zone).isoformat() == day
    assert timestamps.local_hour(at(time), in_zone) == hour


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/Sao_Paulo", "Africa/Cairo", "America/St_Johns"])
def test_the_day_before_is_yesterday_across_clock_changes(zone: str) -> None:
    first = date(2005, 1, 1)
    for number in range(1, 365 * 6):
        day = first + timedelta(days=number)
        assert timestamps.day_before(day, ZoneInfo(zone)) == day - timedelta(days=1)


def test_a_day_skipped_by_the_zone_is_not_the_day_before() -> None:
    assert timestamps.day_before(date(2011, 12, 31), ZoneInfo("Pacific/Apia")) == date(2011, 12, 29)


@given(st.dates(date(1970, 1, 5), date(2100, 1, 1)))
def test_weeks_start_on_monday(day: date) -> None:
    start = timestamps.week_start(day)
    assert start.weekday() == 0
    assert timedelta(0) <= day - start < timedelta(days=7)
