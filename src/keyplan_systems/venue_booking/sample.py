"""A little data to look at."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from keyplan_systems.venue_booking.domain.bookings import Action
from keyplan_systems.venue_booking.domain.requests import EventKind
from keyplan_systems.venue_booking.domain.users import Actor, Role
from keyplan_systems.venue_booking.service import Service
from keyplan_systems.venue_booking.service_users import Person

_ADMIN = Actor("sample-admin", Role.ADMIN)
_PEOPLE = {"ada": "Ada Rossi", "bruno": "Bruno Conti"}


def load_sample(service: Service) -> None:
    """Two people who ask for dates, one approved, and a public event; nothing where the first asked already."""
    if service.bookings.of_user(Actor("ada"), 1, None).entries:
        return
    first = service.asking.venue.earliest_date(service.asking.now())
    duration = next(iter(service.asking.venue.durations))
    made = [
        service.bookings.request(_person(name), _request(name, first + timedelta(days=7 + number), duration))
        for number, name in enumerate([*_PEOPLE, *_PEOPLE])
    ]
    service.bookings.decide(_ADMIN, made[0].booking_id, Action.APPROVE, reason="Benvenuti!")
    event = {"date": first + timedelta(days=14), "duration": duration, "kind": EventKind.PUBLIC_EVENT}
    service.calendar.create(_ADMIN, {**event, "title": "Mercatino", "description": "Libri e giocattoli usati."})


def _person(name: str) -> Person:
    return Person(Actor(name), f"{name}@example.org", _PEOPLE[name])


def _request(name: str, day: object, duration: str) -> dict[str, Any]:
    contact = {"full_name": _PEOPLE[name], "email": f"{name}@example.org", "phone": "+39 333 1234567"}
    return {
        "date": day,
        "duration": duration,
        "description": "Festa di compleanno",
        "attendees": 30,
        "contact": contact,
        "consent": True,
    }
