"""Requests, decisions, cancellations and reads, over GraphQL on a real socket."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from tests.systems.served_engine import ServedEngine
from tests.systems.venue_booking.consistency import check, of_kind
from tests.systems.venue_booking.stage import Caller, Refused, Stage, all_items, booking_input

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine


def slots_of(caller: Caller, day: str = "2025-11-15") -> dict[str, str]:
    """Return the free slots of a date."""
    query = (
        "query ($day: Date!) { availability(firstDate: $day, lastDate: $day)"
        " { slots { name state } morningAvailable afternoonAvailable } }"
    )
    (result,) = caller.ask(query, day=day)["availability"]
    return {slot["name"]: slot["state"] for slot in result["slots"]}


def refusal(caller: Caller, action: str, booking_id: str, **values: Any) -> Refused:
    with pytest.raises(Refused) as refused:
        caller.decide(action, booking_id, **values)
    return refused.value


def test_a_request_is_pending_has_a_code_and_reserves_nothing(
    stage: Stage, ada: Caller, engine: Engine | ServedEngine
) -> None:
    booking = ada.request()
    assert (booking["status"], booking["version"], booking["duration"]) == ("PENDING", 1, "FULL_DAY")
    assert len(booking["code"]) == 9
    assert booking["code"][4] == "-"
    assert set(slots_of(ada).values()) == {"FREE"}
    assert check(engine) == 1


def test_approving_reserves_every_slot_of_the_duration(
    ada: Caller, admin: Caller, engine: Engine | ServedEngine
) -> None:
    booking = ada.request()
    approved = admin.decide("approve", booking["id"], version=1, reason="Welcome")
    assert (approved["status"], approved["version"]) == ("APPROVED", 2)
    assert slots_of(ada) == {"MORNING": "TAKEN", "AFTERNOON": "TAKEN", "EVENING": "TAKEN"}
    keys = {(item["PK"]["S"], item["SK"]["S"]) for item in of_kind(all_items(engine), "EventSlot")}
    assert keys == {("EVENTDATE#2025-11-15", slot) for slot in ("MORNING", "AFTERNOON", "EVENING")}
    assert check(engine) == 1


def test_a_full_day_and_half_a_day_cannot_both_reserve_the_morning(
    ada: Caller, admin: Caller, engine: Engine | ServedEngine
) -> None:
    whole_day, half_day = ada.request(), ada.request(duration="HALF_DAY_MORNING")
    admin.decide("approve", half_day["id"])
    error = refusal(admin, "approve", whole_day["id"])
    assert error.code == "slot_taken"
    assert error.details == {"date": "2025-11-15", "slots": ["MORNING"]}
    assert check(engine) == 2


def test_slot_taken_and_already_decided_are_distinguished(ada: Caller, admin: Caller) -> None:
    first, second = ada.request(), ada.request()
    admin.decide("approve", first["id"])
    assert refusal(admin, "approve", second["id"]).code == "slot_taken"
    decided = refusal(admin, "approve", first["id"])
    assert (decided.code, decided.details) == ("already_decided", {"status": "approved"})
    stale = refusal(admin, "reject", first["id"], version=1)
    assert (stale.code, stale.details) == ("stale_version", {"known": 1, "current": 2})
    assert refusal(admin, "approve", "nobody").code == "not_found"


@pytest.mark.parametrize("action", ["reject", "cancel"])
def test_an_approved_booking_that_ends_frees_its_slots(
    action: str, ada: Caller, admin: Caller, engine: Engine | ServedEngine
) -> None:
    first, second = ada.request(), ada.request(duration="EVENING")
    admin.decide("approve", first["id"])
    ended = admin.decide(action, first["id"], reason="The roof leaks")
    assert (ended["slots"], ended["eventId"]) == ([], None)
    assert set(slots_of(ada).values()) == {"FREE"}
    admin.decide("approve", second["id"])
    assert slots_of(ada) == {"MORNING": "FREE", "AFTERNOON": "FREE", "EVENING": "TAKEN"}
    assert refusal(admin, action, first["id"]).code == "already_decided"
    assert check(engine) == 2


def test_ending_a_booking_never_frees_slots_of_another(
    stage: Stage, ada: Caller, admin: Caller, engine: Engine | ServedEngine
) -> None:
    booking = ada.request(duration="EVENING")
    admin.decide("approve", booking["id"])
    key = {"PK": {"S": "EVENTDATE#2025-11-15"}, "SK": {"S": "EVENING"}}
    update = {"UpdateExpression": "SET bookingId = :other", "ExpressionAttributeValues": {":other": {"S": "other"}}}
    engine.call("UpdateItem", {"TableName": "venue-booking", "Key": key, **update})
    assert refusal(ada, "cancel", booking["id"]).code == "try_again"
    assert engine.call("GetItem", {"TableName": "venue-booking", "Key": key})["Item"]["bookingId"]["S"] == "other"


def test_owners_cancel_their_bookings_and_strangers_find_out_nothing(
    stage: Stage, ada: Caller, engine: Engine | ServedEngine
) -> None:
    bob, booking = stage.person("bob"), ada.request()
    assert refusal(bob, "cancel", booking["id"]).code == "not_found"
    assert refusal(ada, "approve", booking["id"]).code == "forbidden"
    assert ada.decide("cancel", booking["id"])["status"] == "CANCELLED"
    with pytest.raises(Refused) as refused:
        bob.ask("query ($id: ID!) { booking(id: $id) { id } }", id=booking["id"])
    assert refused.value.code == "not_found"
    assert check(engine) == 1


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"date": "2025-10-23"}, "date_not_bookable"),
        ({"date": "2030-01-01"}, "date_not_bookable"),
        ({"duration": "FULLDAY"}, "invalid"),
        ({"attendees": 0}, "invalid"),
        ({"attendees": 101}, "invalid"),
        ({"description": "  "}, "invalid"),
        ({"consent": False}, "invalid"),
        ({"contact": {"phone": "12"}}, "invalid"),
        ({"contact": {"email": "nobody"}}, "invalid"),
        ({"date": "tomorrow"}, "bad_query"),
    ],
    ids=str,
)
@pytest.mark.embedded("refused before any table is met")
def test_an_invalid_request_is_rejected_and_stores_nothing(
    changes: dict[str, Any], code: str, ada: Caller, engine: Engine | ServedEngine
) -> None:
    with pytest.raises(Refused) as refused:
        ada.request(**changes)
    assert refused.value.code == code
    assert of_kind(all_items(engine), "Booking") == []


def test_reserved_slots_cannot_be_requested_until_they_are_free(
    ada: Caller, admin: Caller, engine: Engine | ServedEngine
) -> None:
    reserved = ada.request(duration="HALF_DAY_MORNING")
    admin.decide("approve", reserved["id"])
    admin.event(date="2025-11-15", duration="EVENING", kind="CLOSURE", title="Works")
    with pytest.raises(Refused) as refused:
        ada.request()
    assert (refused.value.code, refused.value.details["slots"]) == ("slot_taken", ["MORNING", "EVENING"])
    ada.request(duration="HALF_DAY_AFTERNOON")
    ada.decide("cancel", reserved["id"])
    ada.request(duration="HALF_DAY_MORNING")
    assert check(engine) == 3


def test_the_history_is_in_date_order_and_paged(ada: Caller) -> None:
    days = [f"2025-11-{number}" for number in (20, 12, 28, 16, 24)]
    bookings = {ada.request(date=day)["id"] for day in days}
    query = (
        "query ($after: String) { myBookings(first: 2, after: $after)"
        " { cursor entries { date status booking { id description contact { email } } } } }"
    )
    entries: list[dict[str, Any]] = []
    after = None
    while True:
        result = ada.ask(query, after=after)["myBookings"]
        entries += result["entries"]
        after = result["cursor"]
        if after is None:
            break
    assert [entry["date"] for entry in entries] == sorted(days, reverse=True)
    assert {entry["booking"]["id"] for entry in entries} == bookings
    assert entries[0]["booking"]["contact"]["email"] == "ada@example.org"


def test_a_cursor_of_another_list_is_rejected(ada: Caller, admin: Caller) -> None:
    for day in ("2025-11-12", "2025-11-13"):
        ada.request(date=day)
    cursor = ada.ask("{ myBookings(first: 1) { cursor } }")["myBookings"]["cursor"]
    with pytest.raises(Refused) as refused:
        admin.ask("query ($after: String) { bookings(after: $after) { cursor } }", after=cursor)
    assert refused.value.code == "invalid"


def test_bookings_are_listed_by_status_and_by_month(
    stage: Stage, ada: Caller, admin: Caller, clock: ManualClock
) -> None:
    bob = stage.person("bob")
    first = ada.request(date="2025-11-28")
    clock.advance(60)
    second = bob.request(date="2025-11-10")
    clock.advance(60)
    third = ada.request(date="2025-12-03")
    admin.decide("reject", first["id"])
    listed = admin.ask("{ bookings { entries { id user { name } requestedAt } } }")["bookings"]["entries"]
    assert [(entry["id"], entry["user"]["name"]) for entry in listed] == [(second["id"], "Bob"), (third["id"], "Ada")]
    rejected = admin.ask("{ bookings(status: REJECTED) { entries { id } } }")["bookings"]["entries"]
    assert rejected == [{"id": first["id"]}]
    query = 'query ($s: BookingStatus) { bookingsByMonth(month: "2025-11", status: $s) { entries { id } } }'
    assert [entry["id"] for entry in admin.ask(query, s="PENDING")["bookingsByMonth"]["entries"]] == [second["id"]]
    every = admin.ask(query)["bookingsByMonth"]["entries"]
    assert {entry["id"] for entry in every} == {first["id"], second["id"]}
    earlier = ada.request(date="2025-11-05")
    by_date = admin.ask(query, s="PENDING")["bookingsByMonth"]["entries"]
    assert [entry["id"] for entry in by_date] == [earlier["id"], second["id"]]
    with pytest.raises(Refused) as refused:
        admin.ask('{ bookingsByMonth(month: "11/2025") { cursor } }')
    assert refused.value.code == "invalid"


def test_pending_requests_that_conflict_with_a_reserved_slot_are_marked(ada: Caller, admin: Caller) -> None:
    reserved, meets, free = ada.request(), ada.request(duration="EVENING"), ada.request(date="2025-11-16")
    admin.decide("approve", reserved["id"])
    listed = admin.ask("{ bookings { entries { id conflicting } } }")["bookings"]["entries"]
    assert {entry["id"]: entry["conflicting"] for entry in listed} == {meets["id"]: True, free["id"]: False}


def test_counters_follow_every_status_change(ada: Caller, admin: Caller) -> None:
    first, second, third = ada.request(), ada.request(duration="EVENING"), ada.request(date="2025-11-20")
    admin.decide("approve", first["id"])
    admin.decide("reject", second["id"])
    ada.decide("cancel", third["id"])
    stats = ada.ask("{ me { stats { pending approved rejected cancelled total } } }")["me"]["stats"]
    assert stats == {"pending": 0, "approved": 1, "rejected": 1, "cancelled": 1, "total": 3}


def test_a_past_date_cannot_be_approved(ada: Caller, admin: Caller, clock: ManualClock) -> None:
    booking = ada.request()
    clock.advance(26 * 86_400)
    assert refusal(admin, "approve", booking["id"]).code == "date_not_bookable"
    assert admin.decide("reject", booking["id"])["status"] == "REJECTED"


def test_user_and_bookings_are_read_by_one_query_without_letters(stage: Stage, ada: Caller) -> None:
    booking = ada.request()
    result = ada.ask("{ profile { user { email stats { pending } } bookings { bookingId booking { attendees } } } }")
    assert result["profile"]["user"] == {"email": "ada@example.org", "stats": {"pending": 1}}
    assert result["profile"]["bookings"] == [{"bookingId": booking["id"], "booking": {"attendees": 50}}]


def test_a_complete_profile_query_is_within_the_complexity_limit(ada: Caller) -> None:
    new_booking = ada.request()
    user = "id email name phone role language createdAt version stats { pending approved rejected cancelled total }"
    booking = (
        "id code date duration description attendees association language status requestedAt decidedAt reason slots"
        " eventId version conflicting contact { fullName email phone } user { name } event { id title }"
    )
    copies = f"bookings {{ bookingId date duration status requestedAt booking {{ {booking} }} }}"
    result = ada.ask(f"{{ profile {{ user {{ {user} }} {copies} }} }}")["profile"]
    assert result["user"]["stats"]["total"] == 1
    assert [(entry["bookingId"], entry["booking"]["code"]) for entry in result["bookings"]] == [
        (new_booking["id"], new_booking["code"])
    ]


def test_the_test_input_is_valid() -> None:
    assert date.fromisoformat(booking_input()["date"]) == date(2025, 11, 15)
