"""Calendar feed: right times, stable IDs and bytes, and no private data."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from icalendar import Calendar
from tests.systems.venue_booking.samples import ADMIN, DAY, NOW, VENUE, booking, event

from keyplan_systems.venue_booking.calendar_feed import Feed, calendar_feed
from keyplan_systems.venue_booking.domain.bookings import Action, decide
from keyplan_systems.venue_booking.domain.events import Event
from keyplan_systems.venue_booking.domain.requests import EventKind, Language


def feed(*events: Event, **options: Any) -> Feed:
    return calendar_feed(VENUE, events, domain="casello.example", **options)


def entries(content: bytes) -> list[Any]:
    return list(Calendar.from_ical(content).walk("VEVENT"))


def private() -> Event:
    reserved = decide(booking(), Action.APPROVE, ADMIN, VENUE, NOW, event_id="e-private").reserved_event
    assert reserved is not None
    return reserved


def test_a_public_event_is_listed_with_its_times_at_the_venue() -> None:
    (entry,) = entries(feed(event(description="Cheese, bread;\nwine")).content)
    assert entry["UID"] == "e1@casello.example"
    assert entry["SUMMARY"] == "Market"
    assert entry["DESCRIPTION"] == "Cheese, bread;\nwine"
    assert entry["DTSTART"].params["TZID"] == "Europe/Rome"
    assert entry["DTSTART"].dt.astimezone(UTC) == datetime(2025, 11, 15, 5, 30, tzinfo=UTC)
    assert entry["DTEND"].dt.astimezone(UTC) == datetime(2025, 11, 15, 12, 30, tzinfo=UTC)
    assert entry["DTSTAMP"].dt == NOW
    assert entry["SEQUENCE"] == 0


def test_the_feed_defines_its_time_zone() -> None:
    calendar = Calendar.from_ical(feed(event()).content)
    assert [zone["TZID"] for zone in calendar.walk("VTIMEZONE")] == ["Europe/Rome"]
    assert calendar["VERSION"] == "2.0"
    assert calendar["X-WR-TIMEZONE"] == "Europe/Rome"
    assert b"REFRESH-INTERVAL;VALUE=DURATION:PT1H" in feed().content


def test_an_evening_ends_at_midnight_of_the_next_date() -> None:
    (entry,) = entries(feed(event(slots=("EVENING",))).content)
    assert entry["DTEND"].dt.date() == DAY + timedelta(days=1)
    assert (entry["DTEND"].dt.hour, entry["DTEND"].dt.minute) == (0, 0)


def test_times_are_correct_on_both_sides_of_a_clock_change() -> None:
    around = [event(event_id=str(day), date=date(2025, 10, day)) for day in (25, 26)]
    starts = [entry["DTSTART"].dt.astimezone(UTC).hour for entry in entries(feed(*around).content)]
    assert starts == [4, 5]


def test_an_event_of_a_removed_slot_is_omitted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    renamed = event(event_id="e-renamed", slots=("MORNING", "BRUNCH"))
    (entry,) = entries(feed(renamed, event()).content)
    assert entry["UID"] == "e1@casello.example"
    assert [record.__dict__["event"] for record in caplog.records] == ["e-renamed"]
    assert feed(renamed).content == feed().content


def test_private_bookings_are_omitted() -> None:
    content = feed(event(), private()).content
    assert len(entries(content)) == 1
    assert b"e-private" not in content


def test_reserved_entries_show_only_that_the_venue_is_occupied() -> None:
    secret = private()
    content = feed(secret, show_reserved=True).content
    (entry,) = entries(content)
    assert entry["SUMMARY"] == "Riservato"
    assert entry["DTSTART"].dt.astimezone(UTC) == datetime(2025, 11, 15, 5, 30, tzinfo=UTC)
    for word in (secret.title, secret.event_id, str(secret.booking_id) + "@", secret.created_by, "Rossi", "private"):
        assert word.encode() not in content
    english = feed(secret, show_reserved=True, language=Language.ENGLISH).content
    assert entries(english)[0]["SUMMARY"] == "Reserved"


def test_closures_are_public() -> None:
    (entry,) = entries(feed(event(kind=EventKind.CLOSURE, title="Painting")).content)
    assert entry["SUMMARY"] == "Painting"


def test_a_changed_event_keeps_its_uid_and_increments_its_sequence() -> None:
    later = NOW + timedelta(hours=1)
    before, after = feed(event()), feed(event(title="Big market", version=2, updated_at=later))
    (old,), (new,) = entries(before.content), entries(after.content)
    assert old["UID"] == new["UID"]
    assert (new["SEQUENCE"], new["DTSTAMP"].dt) == (1, later)
    assert before.etag != after.etag


def test_the_same_events_give_the_same_bytes_in_any_order() -> None:
    events = [event(event_id=str(number), date=DAY + timedelta(days=number % 3)) for number in range(6)]
    assert feed(*events) == feed(*reversed(events))
    assert feed().content != feed(*events).content


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=120))
def test_a_title_cannot_break_the_feed(title: str) -> None:
    content = feed(event(title=title), event(event_id="e2", date=DAY + timedelta(days=1))).content
    assert [str(entry["SUMMARY"]) for entry in entries(content)] == [title, "Market"]
    assert all(len(line) <= 75 for line in content.split(b"\r\n"))
