"""Venue, time, bookings and events for tests of the rules."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

from keyplan_systems.venue_booking.domain.bookings import Booking, request_booking
from keyplan_systems.venue_booking.domain.contacts import Contact
from keyplan_systems.venue_booking.domain.events import Event
from keyplan_systems.venue_booking.domain.requests import BookingRequest, EventKind
from keyplan_systems.venue_booking.domain.users import Actor, Role
from keyplan_systems.venue_booking.domain.venue import Venue

VENUE = Venue(name="Casello", letters_per_user=10_000, letters_per_address=10_000)
NOW = datetime(2025, 10, 21, 10, 0, tzinfo=UTC)
DAY = date(2025, 11, 15)
OWNER = Actor("ada")
STRANGER = Actor("bob")
ADMIN = Actor("root", Role.ADMIN)

REQUEST: dict[str, Any] = {
    "date": "2025-11-15",
    "duration": "FULL_DAY",
    "description": "Birthday party",
    "attendees": 50,
    "contact": {"full_name": "Ada Rossi", "email": "ada@example.org", "phone": "+39 333 123 4567"},
    "consent": True,
}


def booking(**changes: Any) -> Booking:
    """Return a pending booking of the owner, with changes."""
    contact = Contact(full_name="Ada Rossi", email="ada@example.org", phone="+393331234567")
    request = BookingRequest.model_validate({**REQUEST, "contact": contact})
    new_booking = request_booking(request, booking_id="b1", user_id=OWNER.user_id, code="ABCD1234", now=NOW).booking
    return replace(new_booking, **changes)


def event(**changes: Any) -> Event:
    """Return a public event in the morning, with changes."""
    values: dict[str, Any] = {
        "event_id": "e1",
        "date": DAY,
        "duration": "HALF_DAY_MORNING",
        "slots": ("MORNING",),
        "kind": EventKind.PUBLIC_EVENT,
        "title": "Market",
        "created_by": "root",
        "updated_at": NOW,
    }
    return Event(**{**values, **changes})
