"""Measured cost of the documented patterns and the operations: a user with ten bookings, a month half full."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from typing import Any

from tests.systems.metered import Metered, metered
from tests.systems.venue_booking.samples import NOW, REQUEST, VENUE
from tests.systems.venue_booking.stage import connected

from keyplan.clock import ManualClock
from keyplan.design.declaring.patterns import Call
from keyplan.engine.engine import Engine
from keyplan_systems.venue_booking import reads
from keyplan_systems.venue_booking.domain.bookings import Action
from keyplan_systems.venue_booking.domain.users import Actor, Role, Status
from keyplan_systems.venue_booking.entities import venue
from keyplan_systems.venue_booking.service import Service
from keyplan_systems.venue_booking.service_users import Person

ADA = Person(Actor("ada"), "ada@example.org", "Ada")
ROOT = Actor("root", Role.ADMIN)
NOVEMBER = date(2025, 11, 1)


@dataclass
class House:
    """Service whose requests are counted, with data in its table."""

    service: Service
    counting: Metered
    waiting: str
    approved: str
    event: str

    def cost(self, work: Callable[[], Any]) -> tuple[int, float]:
        """Return requests and units of a function call."""
        self.counting.reset()
        work()
        return len(self.counting.operations), self.counting.units


@contextmanager
def house() -> Iterator[House]:
    """Yield a system with ten booked full days of a month, and a waiting request."""
    clock = ManualClock(NOW.timestamp())
    with Engine.memory(clock=clock, ttl_sweep_s=None) as engine, connected(engine, clock) as below:
        connection, counting = metered(below)
        connection.create_tables(venue)
        service = Service.from_connection(connection, clock, VENUE)
        bookings = [_request(service, day) for day in range(10)]
        approved = [service.bookings.decide(ROOT, booking_id, Action.APPROVE) for booking_id in bookings]
        event = approved[0].event_id
        assert event is not None
        service.records.issue_lock_code(ROOT, event)
        payment = {"booking_id": bookings[0], "amount_cents": 5_000, "method": "cash"}
        service.records.add_payment(ROOT, payment)
        yield House(service, counting, _request(service, 20), bookings[1], event)


def _request(service: Service, number: int) -> str:
    day = NOVEMBER + timedelta(days=5 + number)
    return service.bookings.request(ADA, {**REQUEST, "date": day}).booking_id


def patterns(of: House) -> Iterator[tuple[str, float]]:
    """Yield the documented patterns, in their order, each with its read units."""
    calls = [
        reads.user_by_id("ada"),
        reads.booking_by_id(of.approved),
        reads.bookings_of_user("ada"),
        reads.slots_on_date(NOVEMBER + timedelta(days=5)),
        reads.bookings_with_status(Status.APPROVED),
        reads.slots_in_months([NOVEMBER]),
        reads.user_by_email("ada@example.org"),
        reads.payments_of_booking(of.approved),
        reads.notifications_of_user("ada"),
        reads.lock_code_of_event(of.event),
    ]

    def run(call: Call[Any]) -> object:
        return of.service.base.connection.run(call)

    for call in calls:
        requests, units = of.cost(partial(run, call))
        assert requests == 1, call.pattern.name
        yield call.pattern.name, units


def uses(of: House) -> Iterator[tuple[str, int, float]]:
    """Yield the operations, each with its requests and units, reads and writes together."""
    bookings, calendar = of.service.bookings, of.service.calendar
    last = NOVEMBER + timedelta(days=29)
    closure = {"date": last, "duration": "FULL_DAY", "kind": "closure", "title": "Works"}
    works: list[tuple[str, Callable[[], Any]]] = [
        ("request a booking", lambda: _request(of.service, 21)),
        ("approve a full day", lambda: bookings.decide(ROOT, of.waiting, Action.APPROVE)),
        ("cancel an approved full day", lambda: bookings.decide(ROOT, of.waiting, Action.CANCEL, known_version=2)),
        ("close a full day", lambda: calendar.create(ROOT, closure)),
        ("view a month", lambda: calendar.availability(NOVEMBER, last)),
        ("list one's bookings", lambda: bookings.of_user(ADA.actor, 25, None)),
        ("change the email address", lambda: of.service.users.change(ADA, {"email": "new@example.org"})),
    ]
    for name, work in works:
        yield (name, *of.cost(work))


def table() -> str:
    """Return both as one Markdown table."""
    lines = ["| operation | requests | units |", "| --- | --- | --- |"]
    with house() as built:
        lines += [f"| {number}. `{name}` | 1 | {units:g} |" for number, (name, units) in enumerate(patterns(built), 1)]
        lines += [f"| {name} | {requests} | {units:g} |" for name, requests, units in uses(built)]
    return "\n".join(lines) + "\n"
