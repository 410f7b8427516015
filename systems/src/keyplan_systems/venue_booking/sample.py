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


class _SampleRequest(NamedTuple):
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


class _SampleEvent(NamedTuple):
    """An administrator's event in the sample data."""

    day: int
    duration: int
    kind: EventKind
    title: str
    description: str = ""


_REQUESTS: Final = (
    _SampleRequest("ada", 7, 0, "Festa di compleanno di Giulia, con merenda e musica", 30),
    _SampleRequest("bruno", 7, -1, "Assemblea annuale e pranzo sociale", 60, "Amici del Casello"),
    _SampleRequest("ada", 9, 1, "Laboratorio di ceramica per bambini", 15, "Mani in pasta"),
    _SampleRequest("bruno", 10, -2, "Prove del coro prima del concerto", 25, "Coro delle Querce"),
)
_PROGRAM: Final = (
    _SampleEvent(1, 1, EventKind.PUBLIC_EVENT, "Letture per bambini", "Storie ad alta voce, dai quattro anni."),
    _SampleEvent(4, -1, EventKind.CLOSURE, "Manutenzione del riscaldamento"),
    _SampleEvent(5, 2, EventKind.PUBLIC_EVENT, "Cineforum", "Un film e una conversazione."),
    _SampleEvent(12, 2, EventKind.PUBLIC_EVENT, "Cineforum", "Un film e una conversazione."),
    _SampleEvent(14, 0, EventKind.PUBLIC_EVENT, "Mercatino", "Libri e giocattoli usati."),
    _SampleEvent(16, -1, EventKind.PUBLIC_EVENT, "Festa di quartiere", "Pranzo insieme, giochi e musica dal vivo."),
    _SampleEvent(19, 1, EventKind.PUBLIC_EVENT, "Caffè delle lingue", "Italiano, inglese e tedesco a ogni tavolo."),
    _SampleEvent(21, -1, EventKind.CLOSURE, "Chiuso per inventario"),
    _SampleEvent(26, 2, EventKind.PUBLIC_EVENT, "Serata di giochi da tavolo"),
    _SampleEvent(33, 1, EventKind.PUBLIC_EVENT, "Letture per bambini", "Storie ad alta voce, dai quattro anni."),
    _SampleEvent(40, 0, EventKind.PUBLIC_EVENT, "Mercatino", "Libri e giocattoli usati."),
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
        logger.warning("the sample data is incomplete: %s", refusal.message)


def _load(service: Service) -> None:
    venue = service.base.venue
    first, durations = venue.earliest_date(service.base.now()), list(venue.durations)

    def duration(number: int) -> str:
        return durations[number % len(durations)]

    bookings = []
    for sample in _REQUESTS:
        day = first + timedelta(days=sample.day)
        request = _request(sample, day, duration(sample.duration), venue.capacity)
        bookings.append(service.bookings.request(_person(sample.person), request))
    approved_booking = service.bookings.decide(_ADMIN, bookings[0].booking_id, Action.APPROVE, reason="Benvenuti!")
    payment = {"booking_id": approved_booking.booking_id, "amount_cents": 5_000, "method": PaymentMethod.TRANSFER}
    service.records.add_payment(_ADMIN, payment)
    if approved_booking.event_id is not None:
        service.records.issue_lock_code(_ADMIN, approved_booking.event_id)
    for event in _PROGRAM:
        values = {"date": first + timedelta(days=event.day), "duration": duration(event.duration), "kind": event.kind}
        service.calendar.create(_ADMIN, {**values, "title": event.title, "description": event.description})


def _person(name: str) -> Person:
    return Person(Actor(name), f"{name}@example.org", _PEOPLE[name])


def _request(sample: _SampleRequest, day: object, duration: str, capacity: int) -> dict[str, Any]:
    contact = {"full_name": _PEOPLE[sample.person], "email": f"{sample.person}@example.org", "phone": "+39 333 1234567"}
    return {
        "date": day,
        "duration": duration,
        "description": sample.description,
        "attendees": min(sample.attendees, capacity),
        "association": sample.association,
        "contact": contact,
        "consent": True,
    }
