"""Limits of texts, ranges, pages and dates: the largest valid and the smallest invalid values."""

from __future__ import annotations

from typing import Any

import pytest
from icalendar import Calendar
from tests.systems.venue_booking.stage import Caller, Refused, Stage, code_of

from keyplan_systems.venue_booking.domain.venue import Venue

PAY = "mutation ($input: PaymentInput!) { recordPayment(input: $input) { amountCents } }"


def test_the_default_venue_matches_the_documents() -> None:
    rules = Venue()
    hours = {slot.name: (divmod(slot.starts_minute, 60), divmod(slot.ends_minute, 60)) for slot in rules.slots}
    assert hours == {
        "MORNING": ((6, 30), (13, 30)),
        "AFTERNOON": ((14, 0), (20, 0)),
        "EVENING": ((20, 30), (24, 0)),
    }
    assert rules.durations == {
        "HALF_DAY_MORNING": ("MORNING",),
        "HALF_DAY_AFTERNOON": ("AFTERNOON",),
        "EVENING": ("EVENING",),
        "FULL_DAY": ("MORNING", "AFTERNOON", "EVENING"),
    }
    assert (rules.lead_days, rules.time_zone, rules.country) == (3, "Europe/Rome", "IT")


@pytest.mark.parametrize(
    ("most", "too_much"),
    [
        ({"description": "x" * 2000}, {"description": "x" * 2001}),
        ({"association": "x" * 120}, {"association": "x" * 121}),
        ({"attendees": 100}, {"attendees": 101}),
        ({"attendees": 1}, {"attendees": 0}),
        ({"contact": {"fullName": "x" * 100}}, {"contact": {"fullName": "x" * 101}}),
    ],
    ids=lambda limit: next(iter(limit)),
)
def test_a_request_may_have_its_documented_size(ada: Caller, most: dict[str, Any], too_much: dict[str, Any]) -> None:
    assert ada.request(**most)["status"] == "PENDING"
    with pytest.raises(Refused) as refused:
        ada.request(**too_much)
    assert refused.value.code == "invalid"


def test_dates_can_be_requested_from_three_days_to_two_years_ahead(ada: Caller) -> None:
    window = {"earliest": "2025-10-24", "latest": "2027-10-21"}
    for day in window.values():
        assert ada.request(date=day)["date"] == day
    for day in ("2025-10-23", "2027-10-22"):
        with pytest.raises(Refused) as refused:
            ada.request(date=day)
        assert (refused.value.code, refused.value.details) == ("date_not_bookable", {"field": "date", **window})


def test_a_reason_has_up_to_a_thousand_characters(ada: Caller, admin: Caller) -> None:
    booking = ada.request()
    for action in ("approve", "reject", "cancel"):
        with pytest.raises(Refused) as refused:
            admin.decide(action, booking["id"], reason="x" * 1001)
        assert refused.value.code == "invalid"
    admin.decide("approve", booking["id"], reason="x" * 1000)
    result = ada.ask("query ($id: ID!) { booking(id: $id) { reason } }", id=booking["id"])
    assert result == {"booking": {"reason": "x" * 1000}}


def test_an_event_has_a_one_line_title_and_a_longer_description(admin: Caller) -> None:
    assert admin.event(title="x" * 120, description="y" * 2000)["title"] == "x" * 120
    for changes in ({"title": "x" * 121}, {"description": "y" * 2001}):
        with pytest.raises(Refused) as refused:
            admin.event(date="2025-12-07", **changes)
        assert refused.value.code == "invalid"


def test_the_event_of_a_booking_has_its_first_line_as_title(ada: Caller, admin: Caller) -> None:
    for day, expected, title in (("2025-11-15", "x" * 121, "x" * 120), ("2025-11-16", "Party\nwith music", "Party")):
        admin.decide("approve", ada.request(date=day, description=expected)["id"])
        result = ada.ask("query ($day: Date!) { eventsOn(date: $day) { title } }", day=day)
        assert result == {"eventsOn": [{"title": title}]}


def test_a_payment_is_positive_and_at_most_a_million(ada: Caller, admin: Caller) -> None:
    values = {"bookingId": ada.request()["id"], "method": "CARD"}
    for cents in (1, 100_000_000):
        assert admin.ask(PAY, input={**values, "amountCents": cents})["recordPayment"]["amountCents"] == cents
    for wrong in ({"amountCents": 0}, {"amountCents": 100_000_001}, {"amountCents": 1, "currency": "eur"}):
        assert code_of(admin, PAY, input={**values, **wrong}) == "invalid"


@pytest.mark.embedded("a rule of dates")
def test_availability_is_returned_for_up_to_62_days(ada: Caller) -> None:
    query = "query ($a: Date!, $b: Date!) { availability(firstDate: $a, lastDate: $b) { date } }"
    assert len(ada.ask(query, a="2025-12-01", b="2026-01-31")["availability"]) == 62
    assert code_of(ada, query, a="2025-12-01", b="2026-02-01") == "invalid"


def test_a_page_has_25_entries_by_default_and_at_most_100(ada: Caller, admin: Caller) -> None:
    for number in range(26):
        ada.request(date=f"2025-11-{number + 1:02}")
    for caller, query in (
        (ada, "{ myBookings { entries { bookingId } cursor } }"),
        (admin, "{ bookings { entries { id } cursor } }"),
        (admin, '{ bookingsByMonth(month: "2025-11") { entries { id } cursor } }'),
    ):
        (page,) = caller.ask(query).values()
        assert (len(page["entries"]), page["cursor"] is None) == (25, False), query
    assert len(ada.ask("{ myBookings(first: 100) { entries { bookingId } } }")["myBookings"]["entries"]) == 26


def test_the_calendar_feed_covers_this_month_and_the_next_twelve(stage: Stage, admin: Caller) -> None:
    for title, day in (("first", "2025-10-21"), ("last", "2026-10-31"), ("later", "2026-11-01")):
        admin.event(title=title, date=day)
    entries = Calendar.from_ical(stage.client().get("/calendar.ics").content).walk("VEVENT")
    assert [str(entry["SUMMARY"]) for entry in entries] == ["first", "last"]


def test_the_audit_log_names_the_subject_of_an_action(ada: Caller, admin: Caller) -> None:
    booking = ada.request(duration="EVENING")
    event = admin.decide("approve", booking["id"], reason="Welcome")["eventId"]
    admin.ask("mutation ($id: ID!) { issueLockCode(eventId: $id) { digits } }", id=event)
    admin.ask(PAY, input={"bookingId": booking["id"], "amountCents": 100, "method": "CARD"})
    market = admin.event(title="Market")
    result = admin.ask('{ audit(month: "2025-10") { entries { action subject details { name value } } } }')
    results = {
        entry["action"]: (entry["subject"], {detail["name"]: detail["value"] for detail in entry["details"]})
        for entry in result["audit"]["entries"]
    }
    about = {"user": "ada", "date": "2025-11-15", "duration": "EVENING", "reason": "Welcome"}
    assert results == {
        "APPROVE_BOOKING": (booking["id"], about),
        "ISSUE_LOCK_CODE": (event, {"date": "2025-11-15"}),
        "RECORD_PAYMENT": (booking["id"], {"amount_cents": "100", "currency": "EUR"}),
        "CREATE_EVENT": (
            market["id"],
            {"date": "2025-12-06", "duration": "FULL_DAY", "kind": "public_event", "title": "Market"},
        ),
    }
