"""Slots, durations, the booking window and the venue's clock."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.systems.venue_booking.samples import DAY, NOW, VENUE

from keyplan_systems.venue_booking.domain.refusals import DateNotBookableError, InvalidRequestError
from keyplan_systems.venue_booking.domain.venue import DEFAULT_DURATIONS, Slot, Venue, utc_datetime


def test_a_full_day_uses_every_slot_and_half_a_day_its_own() -> None:
    assert VENUE.slots_of("FULL_DAY") == ("MORNING", "AFTERNOON", "EVENING")
    assert VENUE.slots_of("HALF_DAY_AFTERNOON") == ("AFTERNOON",)


@pytest.mark.parametrize("duration", sorted(set(DEFAULT_DURATIONS) - {"FULL_DAY"}))
def test_every_shorter_duration_shares_a_slot_with_the_full_day(duration: str) -> None:
    assert set(VENUE.slots_of(duration)) & set(VENUE.slots_of("FULL_DAY"))


def test_an_unknown_duration_or_slot_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(InvalidRequestError, match=r"FULLDAY.*HALF_DAY_MORNING"):
        VENUE.slots_of("FULLDAY")
    with pytest.raises(InvalidRequestError, match=r"NIGHT.*MORNING"):
        VENUE.slot("NIGHT")


def test_a_venue_may_have_other_slots() -> None:
    night = Slot(name="NIGHT", starts_minute=0, ends_minute=300)
    venue = Venue(slots=(night,), durations={"NIGHT": ("NIGHT",)})
    assert venue.slots_of("NIGHT") == ("NIGHT",)


SLOT_A = {"name": "A", "starts_minute": 0, "ends_minute": 60}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"slots": ()}, "at least one slot"),
    ({"slots": [SLOT_A, SLOT_A]}, "must differ"),
    ({"slots": [{"name": "A", "starts_minute": 60, "ends_minute": 60}]}, "ends before"),
    ({"slots": [SLOT_A, {"name": "B", "starts_minute": 59, "ends_minute": 99}]}, "must start after"),
    ({"slots": [{"name": "a", "starts_minute": 0, "ends_minute": 60}]}, "pattern"),
    ({"slots": [{"name": "A", "starts_minute": 0, "ends_minute": 1441}]}, "1440"),
    ({"slots": [{"name": f"A{n}", "starts_minute": n, "ends_minute": n + 1} for n in range(25)]}, "at most 24"),
    ({"lead_days": 36_501}, "36500"),
    ({"horizon_days": 36_501}, "36500"),
    ({"durations": {}}, "at least one duration"),
    ({"durations": {"X": ()}}, "neighbouring"),
    ({"durations": {"X": ("NIGHT",)}}, "neighbouring"),
    ({"durations": {"X": ("MORNING", "EVENING")}}, "neighbouring"),
    ({"durations": {"X": ("MORNING", "MORNING")}}, "neighbouring"),
    ({"time_zone": "Europe/Atlantis"}, "not an IANA time zone"),
    ({"time_zone": "../etc/passwd"}, "not an IANA time zone"),
    ({"time_zone": "Europe"}, "not an IANA time zone"),
    ({"lead_days": 10, "horizon_days": 9}, "must not be below"),
    ({"lead_days": -1}, "greater than or equal"),
    ({"rooms": 3}, "Extra inputs"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "reason"), WRONG, ids=[f"{reason}-{n}" for n, (_, reason) in enumerate(WRONG)])
def test_a_contradictory_configuration_is_rejected(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        Venue.model_validate(values)


def test_the_first_requestable_date_is_three_days_from_now() -> None:
    assert VENUE.earliest_date(NOW) == date(2025, 10, 24)
    VENUE.check_bookable(date(2025, 10, 24), NOW)
    with pytest.raises(DateNotBookableError, match=r"2025-10-24 to .* not for 2025-10-23") as refusal:
        VENUE.check_bookable(date(2025, 10, 23), NOW)
    assert refusal.value.details["earliest"] == "2025-10-24"


def test_today_is_the_date_at_the_venue_and_not_in_utc() -> None:
    late_evening = datetime(2025, 10, 21, 22, 30, tzinfo=UTC)
    assert VENUE.today(late_evening) == date(2025, 10, 22)
    assert VENUE.earliest_date(late_evening) == date(2025, 10, 25)
    assert Venue(time_zone="America/New_York").earliest_date(late_evening) == date(2025, 10, 24)


def test_lead_and_horizon_are_configurable() -> None:
    venue = Venue(lead_days=0, horizon_days=1)
    assert venue.is_bookable(date(2025, 10, 21), NOW)
    assert venue.is_bookable(date(2025, 10, 22), NOW)
    assert not venue.is_bookable(date(2025, 10, 23), NOW)


def test_a_date_is_over_after_it_has_ended_at_the_venue() -> None:
    VENUE.check_not_past(date(2025, 10, 21), NOW)
    with pytest.raises(DateNotBookableError, match="is over"):
        VENUE.check_not_past(date(2025, 10, 20), NOW)


def test_a_full_day_ends_at_the_next_midnight() -> None:
    starts, ends = VENUE.span(DAY, VENUE.slots_of("FULL_DAY"))
    assert starts.isoformat() == "2025-11-15T06:30:00+01:00"
    assert ends.isoformat() == "2025-11-16T00:00:00+01:00"


@pytest.mark.parametrize(("day", "hours"), [(date(2025, 3, 30), 7), (date(2025, 10, 26), 7), (DAY, 7)])
def test_the_morning_keeps_its_wall_clock_hours_when_clocks_change(day: date, hours: int) -> None:
    starts, ends = VENUE.span(day, ("MORNING",))
    assert (starts.hour, starts.minute, ends.hour, ends.minute) == (6, 30, 13, 30)
    assert ends.astimezone(UTC) - starts.astimezone(UTC) == timedelta(hours=hours)


def test_a_slot_over_a_skipped_hour_is_shorter() -> None:
    venue = Venue(slots=(Slot(name="N", starts_minute=0, ends_minute=300),), durations={"N": ("N",)})
    starts, ends = venue.span(date(2025, 3, 30), ("N",))
    assert ends.astimezone(UTC) - starts.astimezone(UTC) == timedelta(hours=4)


@settings(deadline=None)
@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)))
def test_the_window_has_as_many_days_as_configured(now: datetime) -> None:
    assert VENUE.latest_date(now) - VENUE.earliest_date(now) == timedelta(days=VENUE.horizon_days - VENUE.lead_days)


def test_seconds_of_a_clock_become_a_utc_time() -> None:
    assert utc_datetime(0) == datetime(1970, 1, 1, tzinfo=UTC)
