"""Stored items: the attributes of the document's examples, with their types."""

from __future__ import annotations

from typing import Any

import pytest
from tests.systems.served_engine import ServedEngine
from tests.systems.venue_booking.consistency import of_kind
from tests.systems.venue_booking.stage import Caller, Refused, all_items

from keyplan.engine.engine import Engine

KEYS = {"PK": "S", "SK": "S", "entityType": "S"}
DOCUMENTED = {
    "User": {
        **KEYS, "GSI1PK": "S", "GSI1SK": "S", "userId": "S", "email": "S", "name": "S", "phone": "S", "role": "S",
        "createdAt": "S",
    },
    "Booking": {
        **KEYS, "GSI1PK": "S", "GSI1SK": "S", "bookingId": "S", "userId": "S", "date": "S", "duration": "S",
        "eventDescription": "S", "attendees": "N", "status": "S", "requestedAt": "S",
    },
    "UserBooking": {**KEYS, "bookingId": "S", "date": "S", "status": "S"},
    "EventSlot": {
        **KEYS, "eventId": "S", "bookingId": "S", "date": "S", "timeSlot": "S", "eventType": "S", "title": "S",
        "createdBy": "S",
    },
}  # fmt: skip


@pytest.fixture
def items(ada: Caller, admin: Caller, engine: Engine | ServedEngine) -> list[dict[str, Any]]:
    """Return a user with a telephone, an approved booking with its items, and a waiting request."""
    change = 'mutation { changeProfile(input: { phone: "+39 333 1234567" }) { id } }'
    ada.ask(change)
    admin.decide("approve", ada.request()["id"])
    ada.request(date="2025-11-20")
    return all_items(engine)


@pytest.mark.parametrize("kind", list(DOCUMENTED))
def test_items_have_the_documented_attributes(kind: str, items: list[dict[str, Any]]) -> None:
    actual = of_kind(items, kind)
    assert actual
    for item in actual:
        types = {name: next(iter(value)) for name, value in item.items()}
        assert {name: types.get(name) for name in DOCUMENTED[kind]} == DOCUMENTED[kind]


def test_booking_index_and_copy_have_the_same_status(items: list[dict[str, Any]]) -> None:
    bookings = {item["bookingId"]["S"]: item for item in of_kind(items, "Booking")}
    assert {booking["GSI1PK"]["S"] for booking in bookings.values()} == {"STATUS#APPROVED", "STATUS#PENDING"}
    for booking in bookings.values():
        assert booking["GSI1PK"]["S"] == f"STATUS#{booking['status']['S'].upper()}"
        assert booking["GSI1SK"]["S"].startswith(booking["requestedAt"]["S"][:10])
    copies = {item["bookingId"]["S"]: item["status"]["S"] for item in of_kind(items, "UserBooking")}
    assert copies == {name: item["status"]["S"] for name, item in bookings.items()}


def test_an_unreadable_item_is_named(admin: Caller, engine: Engine | ServedEngine) -> None:
    item = {"PK": {"S": "BOOKING#broken"}, "SK": {"S": "METADATA"}, "reason": {"S": "private"}}
    entry = {"GSI1PK": {"S": "STATUS#PENDING"}, "GSI1SK": {"S": "2025-10-21T10:00:00.000Z#broken"}}
    engine.call("PutItem", {"TableName": "venue-booking", "Item": {**item, **entry, "entityType": {"S": "Booking"}}})
    with pytest.raises(Refused) as refused:
        admin.ask('{ booking(id: "broken") { id } }')
    assert refused.value.code == "unreadable_item"
    assert refused.value.details == {"entity": "Booking", "key": {"PK": "BOOKING#broken", "SK": "METADATA"}}
    assert "private" not in str(refused.value.errors)
    response = admin.client.post("/graphql", json={"query": "{ bookings { entries { id } } }"})
    assert response.headers["X-Unreadable-Items"] == "1"
    assert response.json()["extensions"] == {"unreadable": 1}
    assert "errors" not in response.json()
