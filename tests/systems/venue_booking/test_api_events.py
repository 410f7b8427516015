"""Calendar over GraphQL and as a feed: events, closures, the view of strangers."""

from __future__ import annotations

import pytest
from icalendar import Calendar
from tests.systems.served_engine import ServedEngine
from tests.systems.venue_booking.consistency import check, of_kind
from tests.systems.venue_booking.stage import Caller, Refused, Stage, all_items

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine

ON = "query ($day: Date!) { eventsOn(date: $day) { id kind title description slots bookingId booking { attendees } } }"


def test_an_event_and_a_closure_reserve_slots_like_a_booking(
    ada: Caller, admin: Caller, engine: Engine | ServedEngine
) -> None:
    booking = ada.request()
    admin.event(date="2025-11-15", duration="HALF_DAY_MORNING", title="Market")
    admin.event(date="2025-11-15", duration="EVENING", kind="CLOSURE", title="Works")
    with pytest.raises(Refused) as refused:
        admin.decide("approve", booking["id"])
    assert refused.value.details == {"date": "2025-11-15", "slots": ["MORNING", "EVENING"]}
    query = (
        '{ availability(firstDate: "2025-11-15", lastDate: "2025-11-15")'
        " { bookable durations morningAvailable afternoonAvailable slots { state } } }"
    )
    (day,) = ada.ask(query)["availability"]
    assert (day["bookable"], day["morningAvailable"], day["afternoonAvailable"]) == (True, False, True)
    assert [slot["state"] for slot in day["slots"]] == ["TAKEN", "FREE", "CLOSED"]
    assert day["durations"] == ["HALF_DAY_AFTERNOON"]
    assert check(engine) == 1


def test_an_event_without_booking_is_removed_with_its_slots_and_its_lock_code(
    admin: Caller, engine: Engine | ServedEngine
) -> None:
    event = admin.event()
    admin.ask("mutation ($id: ID!) { issueLockCode(eventId: $id) { digits } }", id=event["id"])
    remove = "mutation ($id: ID!, $version: Int) { deleteEvent(id: $id, version: $version) { title } }"
    with pytest.raises(Refused) as refused:
        admin.ask(remove, id=event["id"], version=9)
    assert refused.value.code == "stale_version"
    assert admin.ask(remove, id=event["id"], version=1) == {"deleteEvent": {"title": "Market"}}
    kinds = {item["entityType"]["S"] for item in all_items(engine)}
    assert kinds == {"AuditEntry"}
    with pytest.raises(Refused) as refused:
        admin.ask(remove, id=event["id"])
    assert refused.value.code == "not_found"


@pytest.mark.parametrize(("day", "code"), [("9999-12-31", "invalid"), ("3000-01-01", "invalid"), ("2999-12-31", None)])
@pytest.mark.embedded("a rule of dates")
def test_the_end_of_an_events_date_must_be_representable(day: str, code: str | None, admin: Caller) -> None:
    if code is not None:
        with pytest.raises(Refused) as refused:
            admin.event(date=day)
        assert refused.value.code == code
        return
    event = admin.event(date=day)
    issue = "mutation ($id: ID!) { issueLockCode(eventId: $id) { validUntil } }"
    result = admin.ask(issue, id=event["id"])["issueLockCode"]
    assert result == {"validUntil": "2999-12-31T23:30:00+00:00"}


def test_the_event_of_a_booking_is_removed_only_with_its_booking(ada: Caller, admin: Caller) -> None:
    event = admin.decide("approve", ada.request()["id"])["eventId"]
    with pytest.raises(Refused) as refused:
        admin.ask("mutation ($id: ID!) { deleteEvent(id: $id) { id } }", id=event)
    assert refused.value.code == "invalid"


def test_strangers_see_that_a_slot_is_reserved_and_not_by_whom(stage: Stage, ada: Caller, admin: Caller) -> None:
    booking = ada.request()
    admin.decide("approve", booking["id"])
    (reserved,) = stage.person("bob").ask(ON, day="2025-11-15")["eventsOn"]
    assert reserved == {
        "id": None,
        "kind": "PRIVATE_BOOKING",
        "title": None,
        "description": None,
        "slots": ["MORNING", "AFTERNOON", "EVENING"],
        "bookingId": None,
        "booking": None,
    }
    for caller in (ada, admin):
        (reserved,) = caller.ask(ON, day="2025-11-15")["eventsOn"]
        assert (reserved["title"], reserved["bookingId"]) == ("Birthday party", booking["id"])
        assert (reserved["description"], reserved["booking"]) == ("", {"attendees": 50})


def test_an_administrators_event_has_a_kind_and_description_and_no_booking(
    ada: Caller, admin: Caller, engine: Engine | ServedEngine
) -> None:
    event = admin.event(duration="EVENING", description="Books and toys")
    works = admin.event(duration="HALF_DAY_MORNING", kind="CLOSURE", title="Works")
    assert ada.ask(ON, day="2025-12-06")["eventsOn"] == [
        {
            "id": event_shown["id"],
            "kind": kind,
            "title": event_shown["title"],
            "description": expected,
            "slots": event_shown["slots"],
            "bookingId": None,
            "booking": None,
        }
        for event_shown, kind, expected in ((works, "CLOSURE", ""), (event, "PUBLIC_EVENT", "Books and toys"))
    ]
    stored = [*of_kind(all_items(engine), "Event"), *of_kind(all_items(engine), "EventSlot")]
    assert len(stored) == 4
    assert not any("bookingId" in item for item in stored)
    assert {item["eventType"]["S"] for item in stored} == {"public_event", "closure"}


def test_removing_an_event_never_frees_slots_of_another(admin: Caller, engine: Engine | ServedEngine) -> None:
    event = admin.event(duration="EVENING")
    key = {"PK": {"S": "EVENTDATE#2025-12-06"}, "SK": {"S": "EVENING"}}
    update = {"UpdateExpression": "SET eventId = :other", "ExpressionAttributeValues": {":other": {"S": "other"}}}
    engine.call("UpdateItem", {"TableName": "venue-booking", "Key": key, **update})
    with pytest.raises(Refused) as refused:
        admin.ask("mutation ($id: ID!) { deleteEvent(id: $id) { id } }", id=event["id"])
    assert refused.value.code == "try_again"
    assert engine.call("GetItem", {"TableName": "venue-booking", "Key": key})["Item"]["eventId"]["S"] == "other"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"kind": "PRIVATE_BOOKING"}, "invalid"),
        ({"title": ""}, "invalid"),
        ({"duration": "NIGHT"}, "invalid"),
        ({"date": "2025-10-20"}, "date_not_bookable"),
    ],
    ids=str,
)
@pytest.mark.embedded("refused before any table is met")
def test_an_invalid_event_is_rejected(changes: dict[str, str], code: str, admin: Caller) -> None:
    with pytest.raises(Refused) as refused:
        admin.event(**changes)
    assert refused.value.code == code


def test_administrators_are_not_bound_by_the_lead_time(admin: Caller) -> None:
    assert admin.event(date="2025-10-21")["date"] == "2025-10-21"


@pytest.mark.parametrize(("first", "last"), [("2025-11-02", "2025-11-01"), ("2025-11-01", "2026-03-01")])
@pytest.mark.embedded("refused before any table is met")
def test_an_empty_or_oversized_range_is_rejected(first: str, last: str, ada: Caller) -> None:
    with pytest.raises(Refused) as refused:
        ada.ask("query ($a: Date!, $b: Date!) { availability(firstDate: $a, lastDate: $b) { date } }", a=first, b=last)
    assert (refused.value.code, refused.value.details["field"]) == ("invalid", "lastDate")


@pytest.mark.embedded("a rule of dates")
def test_dates_before_the_lead_time_are_free_and_not_available(ada: Caller) -> None:
    query = (
        '{ availability(firstDate: "2025-10-23", lastDate: "2025-10-24")'
        " { bookable durations morningAvailable afternoonAvailable slots { state } } }"
    )
    early, first = ada.ask(query)["availability"]
    free = [{"state": "FREE"}] * 3
    assert early == {
        "bookable": False, "durations": [], "morningAvailable": False, "afternoonAvailable": False, "slots": free
    }  # fmt: skip
    assert (first["bookable"], first["morningAvailable"], first["afternoonAvailable"]) == (True, True, True)
    assert first["durations"] == ["HALF_DAY_MORNING", "HALF_DAY_AFTERNOON", "EVENING", "FULL_DAY"]


def test_a_range_over_the_end_of_a_month_shows_both_months(admin: Caller) -> None:
    admin.event(date="2025-11-30", duration="EVENING")
    admin.event(date="2025-12-01", duration="EVENING")
    query = '{ availability(firstDate: "2025-11-29", lastDate: "2025-12-02") { date slots { name state } } }'
    days = admin.ask(query)["availability"]
    reserved_days = [day["date"] for day in days if any(slot["state"] == "TAKEN" for slot in day["slots"])]
    assert reserved_days == ["2025-11-30", "2025-12-01"]


def test_the_feed_requires_no_token_and_contains_no_bookings(stage: Stage, ada: Caller, admin: Caller) -> None:
    admin.decide("approve", ada.request()["id"])
    admin.event(title="Market", description="Books and toys")
    client = stage.client()
    answer = client.get("/calendar.ics")
    assert answer.headers["Content-Type"] == "text/calendar; charset=utf-8"
    entries = list(Calendar.from_ical(answer.content).walk("VEVENT"))
    assert [(str(entry["SUMMARY"]), str(entry["DESCRIPTION"])) for entry in entries] == [("Market", "Books and toys")]
    assert b"Birthday" not in answer.content
    response = client.get("/calendar.ics", params={"reserved": "true", "language": "en"})
    assert {str(component["SUMMARY"]) for component in Calendar.from_ical(response.content).walk("VEVENT")} == {
        "Market",
        "Reserved",
    }
    assert b"Birthday" not in response.content


def test_an_unchanged_feed_is_not_sent_again(stage: Stage, admin: Caller) -> None:
    admin.event()
    client = stage.client()
    etag = client.get("/calendar.ics").headers["ETag"]
    for case in (etag, f"W/{etag}", f'"another", {etag}', "*"):
        assert client.get("/calendar.ics", headers={"If-None-Match": case}).status_code == 304
    admin.event(date="2025-12-07")
    assert client.get("/calendar.ics", headers={"If-None-Match": etag}).status_code == 200


def test_past_months_are_not_in_the_feed(stage: Stage, admin: Caller, clock: ManualClock) -> None:
    admin.event()
    clock.advance(40 * 86_400)
    assert b"Market" in stage.client().get("/calendar.ics").content
    clock.advance(40 * 86_400)
    assert b"Market" not in stage.client().get("/calendar.ics").content


def test_a_full_day_is_stored_with_one_name(admin: Caller, engine: Engine | ServedEngine) -> None:
    admin.event()
    slots = of_kind(all_items(engine), "EventSlot")
    assert {slot["duration"]["S"] for slot in slots} == {"FULL_DAY"}
    assert {slot["SK"]["S"] for slot in slots} == {slot["timeSlot"]["S"] for slot in slots}
    assert {slot["SK"]["S"] for slot in slots} == {"MORNING", "AFTERNOON", "EVENING"}
