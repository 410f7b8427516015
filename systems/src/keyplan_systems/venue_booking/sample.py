"""Sample data."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from keyplan_systems.venue_booking.domain.bookings import Action
from keyplan_systems.venue_booking.domain.refusals import RefusalError
from keyplan_systems.venue_booking.domain.requests import EventKind
from keyplan_systems.venue_booking.domain.users import Actor, Role
from keyplan_systems.venue_booking.service import Service
from keyplan_systems.venue_booking.service_users import Person

logger = logging.getLogger(__name__)

_ADMIN = Actor("sample-admin", Role.ADMIN)
_PEOPLE = {"ada": "Ada Rossi", "bruno": "Bruno Conti"}


def load_sample(service: Service) -> None:
    """Load two users with requests, one approved, and a public event; nothing if the first user has requests already.

    The venue's own rules, or existing data, may make a part of it fail; the rest is then skipped.
    """
    if service.bookings.of_user(Actor("ada"), 1, None).entries:
        return
    try:
        _load(service)
    except RefusalError as refusal:
        logger.warning("the sample is incomplete: %s", refusal.message)


def _load(service: Service) -> None:
    venue = service.base.venue
    first = venue.earliest_date(service.base.now())
    duration = next(iter(venue.durations))
    people = min(30, venue.capacity)
    bookings = [
        service.bookings.request(_person(name), _request(name, first + timedelta(days=7 + number), duration, people))
        for number, name in enumerate([*_PEOPLE, *_PEOPLE])
    ]
    service.bookings.decide(_ADMIN, bookings[0].booking_id, Action.APPROVE, reason="Benvenuti!")
    event = {"date": first + timedelta(days=14), "duration": duration, "kind": EventKind.PUBLIC_EVENT}
    service.calendar.create(_ADMIN, {**event, "title": "Mercatino", "description": "Libri e giocattoli usati."})


def _person(name: str) -> Person:
    return Person(Actor(name), f"{name}@example.org", _PEOPLE[name])


def _request(name: str, day: object, duration: str, attendees: int) -> dict[str, Any]:
    contact = {"full_name": _PEOPLE[name], "email": f"{name}@example.org", "phone": "+39 333 1234567"}
    return {
        "date": day,
        "duration": duration,
        "description": "Festa di compleanno",
        "attendees": attendees,
        "contact": contact,
        "consent": True,
    }
