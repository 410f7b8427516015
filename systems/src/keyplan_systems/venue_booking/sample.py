"""Sample data: events, and two users with booking requests. One of the requests is approved, and another request
conflicts with it.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any, Final, NamedTuple

from keyplan_systems.venue_booking.domain.bookings import Action
from keyplan_systems.venue_booking.domain.records import PaymentMethod
from keyplan_systems.venue_booking.domain.refusals import RefusalError
from keyplan_systems.venue_booking.domain.requests import EventKind
from keyplan_systems.venue_booking.domain.users import Actor, Role
from keyplan_systems.venue_booking.service import Service
from keyplan_systems.venue_booking.service_users import Person

logger = logging.getLogger(__name__)

_ADMIN: Final = Actor("carla", Role.ADMIN)
_PEOPLE: Final = {"ada": "Ada Rossi", "bruno": "Bruno Conti"}


class _Wish(NamedTuple):
    """A booking request in the sample data.

    `day` is the number of days from the first bookable date to the requested date. `duration` is the index of one of
    the venue's durations.
    """

    person: str
    day: int
    duration: int
    description: str
    attendees: int
    association: str | None = None


class _Entry(NamedTuple):
    """An administrator's event in the sample data."""

    day: int
    duration: int
    kind: EventKind
    title: str
    description: str = ""


_WISHES: Final = (
    _Wish("ada", 7, 0, "Festa di compleanno di Giulia, con merenda e musica", 30),
    _Wish("bruno", 7, -1, "Assemblea annuale e pranzo sociale", 60, "Amici del Casello"),
    _Wish("ada", 9, 1, "Laboratorio di ceramica per bambini", 15, "Mani in pasta"),
    _Wish("bruno", 10, -2, "Prove del coro prima del concerto", 25, "Coro delle Querce"),
)
_PROGRAM: Final = (
    _Entry(1, 1, EventKind.PUBLIC_EVENT, "Letture per bambini", "Storie ad alta voce, dai quattro anni."),
    _Entry(4, -1, EventKind.CLOSURE, "Manutenzione del riscaldamento"),
    _Entry(5, 2, EventKind.PUBLIC_EVENT, "Cineforum", "Un film e una conversazione."),
    _Entry(12, 2, EventKind.PUBLIC_EVENT, "Cineforum", "Un film e una conversazione."),
    _Entry(14, 0, EventKind.PUBLIC_EVENT, "Mercatino", "Libri e giocattoli usati."),
    _Entry(16, -1, EventKind.PUBLIC_EVENT, "Festa di quartiere", "Pranzo insieme, giochi e musica dal vivo."),
    _Entry(19, 1, EventKind.PUBLIC_EVENT, "Caffè delle lingue", "Italiano, inglese e tedesco a ogni tavolo."),
    _Entry(21, -1, EventKind.CLOSURE, "Chiuso per inventario"),
    _Entry(26, 2, EventKind.PUBLIC_EVENT, "Serata di giochi da tavolo"),
    _Entry(33, 1, EventKind.PUBLIC_EVENT, "Letture per bambini", "Storie ad alta voce, dai quattro anni."),
    _Entry(40, 0, EventKind.PUBLIC_EVENT, "Mercatino", "Libri e giocattoli usati."),
)


def load_sample(service: Service) -> None:
    """Create the sample data: events, and two users with booking requests, one of which is approved.

    Nothing is created if the first user already has requests. If a step fails because of the venue's rules or existing
    data, the remaining steps are skipped.
    """
    if service.bookings.of_user(Actor("ada"), 1, None).entries:
        return
    try:
        _load(service)
    except RefusalError as refusal:
        logger.warning("the sample is incomplete: %s", refusal.message)


def _load(service: Service) -> None:
    venue = service.base.venue
    first, durations = venue.earliest_date(service.base.now()), list(venue.durations)

    def duration(number: int) -> str:
        return durations[number % len(durations)]

    bookings = []
    for wish in _WISHES:
        day = first + timedelta(days=wish.day)
        request = _request(wish, day, duration(wish.duration), venue.capacity)
        bookings.append(service.bookings.request(_person(wish.person), request))
    approved = service.bookings.decide(_ADMIN, bookings[0].booking_id, Action.APPROVE, reason="Benvenuti!")
    payment = {"booking_id": approved.booking_id, "amount_cents": 5_000, "method": PaymentMethod.TRANSFER}
    service.records.add_payment(_ADMIN, payment)
    if approved.event_id is not None:
        service.records.issue_lock_code(_ADMIN, approved.event_id)
    for entry in _PROGRAM:
        values = {"date": first + timedelta(days=entry.day), "duration": duration(entry.duration), "kind": entry.kind}
        service.calendar.create(_ADMIN, {**values, "title": entry.title, "description": entry.description})


def _person(name: str) -> Person:
    return Person(Actor(name), f"{name}@example.org", _PEOPLE[name])


def _request(wish: _Wish, day: object, duration: str, capacity: int) -> dict[str, Any]:
    contact = {"full_name": _PEOPLE[wish.person], "email": f"{wish.person}@example.org", "phone": "+39 333 1234567"}
    return {
        "date": day,
        "duration": duration,
        "description": wish.description,
        "attendees": min(wish.attendees, capacity),
        "association": wish.association,
        "contact": contact,
        "consent": True,
    }
