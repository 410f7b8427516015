"""Invariants of the table: copies, index keys, counters, slots, letters and audit entries agree."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.systems.served_engine import ServedEngine, raw
from tests.systems.venue_booking.stage import TABLE, all_items

from keyplan.engine.engine import Engine
from keyplan_systems.venue_booking.domain.users import Status


def of_kind(items: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the items of an entity."""
    return [item for item in items if item.get("entityType", {}).get("S") == kind]


def text(item: dict[str, Any], name: str) -> str:
    """Return a text of an item."""
    value: str = item[name]["S"]
    return value


def check(engine: Engine | ServedEngine) -> int:
    """Compare all items with each other; return the number of bookings."""
    items = all_items(engine)
    bookings = of_kind(items, "Booking")
    _check_copies(bookings, of_kind(items, "UserBooking"))
    _check_index(engine, bookings)
    _check_counters(bookings, of_kind(items, "User"))
    _check_slots(bookings, of_kind(items, "Event"), of_kind(items, "EventSlot"))
    _check_letters(bookings, of_kind(items, "Outbox"), of_kind(items, "AuditEntry"))
    return len(bookings)


def _check_copies(bookings: list[dict[str, Any]], copies: list[dict[str, Any]]) -> None:
    result = {text(copy, "bookingId"): (text(copy, "status"), copy["version"]["N"]) for copy in copies}
    assert result == {
        text(booking, "bookingId"): (text(booking, "status"), booking["version"]["N"]) for booking in bookings
    }


def _check_index(engine: Engine | ServedEngine, bookings: list[dict[str, Any]]) -> None:
    listed: dict[str, str] = {}
    for status in Status:
        response = raw(
            engine,
            "Query",
            {
                "TableName": TABLE,
                "IndexName": "GSI1",
                "KeyConditionExpression": "GSI1PK = :status",
                "ExpressionAttributeValues": {":status": {"S": f"STATUS#{status.value.upper()}"}},
            },
        )
        assert "LastEvaluatedKey" not in response
        for item in response["Items"]:
            assert text(item, "bookingId") not in listed
            assert text(item, "GSI2SK").startswith(f"{status.value.upper()}#")
            listed[text(item, "bookingId")] = status.value
    assert listed == {text(booking, "bookingId"): text(booking, "status") for booking in bookings}


def _check_counters(bookings: list[dict[str, Any]], users: list[dict[str, Any]]) -> None:
    counted = Counter((text(booking, "userId"), text(booking, "status")) for booking in bookings)
    for user in users:
        for status in Status:
            stored = int(user[f"{status.value}Bookings"]["N"])
            assert stored == counted[text(user, "userId"), status.value], f"{text(user, 'userId')} {status}"


def _check_slots(bookings: list[dict[str, Any]], events: list[dict[str, Any]], slots: list[dict[str, Any]]) -> None:
    reserved = {(text(slot, "date"), text(slot, "timeSlot"), text(slot, "eventId")) for slot in slots}
    meant = {
        (text(event, "date"), slot["S"], text(event, "eventId")) for event in events for slot in event["slots"]["L"]
    }
    assert reserved == meant
    assert len(reserved) == len({(day, slot) for day, slot, _ in reserved})
    approved = {text(booking, "bookingId") for booking in bookings if text(booking, "status") == "approved"}
    assert {text(event, "bookingId") for event in events if "bookingId" in event} == approved
    assert sum("bookingId" in event for event in events) == len(approved)


def _check_letters(bookings: list[dict[str, Any]], letters: list[dict[str, Any]], acts: list[dict[str, Any]]) -> None:
    """Check that every version of every booking has its letters, and every administrator's decision its audit entry."""
    parts = {text(letter, "noticeKey").rsplit(".", 1)[0] for letter in letters}
    every = {
        f"{text(booking, 'bookingId')}.{step + 1}"
        for booking in bookings
        for step in range(int(booking["version"]["N"]))
    }
    assert parts == every
    recorded = Counter(text(run_step, "subject") for run_step in acts)
    for booking in bookings:
        if text(booking, "status") in {"approved", "rejected"}:
            assert recorded[text(booking, "bookingId")] == int(booking["version"]["N"]) - 1
