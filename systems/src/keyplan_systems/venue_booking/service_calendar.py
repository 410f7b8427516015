"""Uses of the calendar: what is free, what is on, and what administrators enter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

from keyplan_systems.venue_booking import design, reads
from keyplan_systems.venue_booking.asking import Asking, is_id
from keyplan_systems.venue_booking.domain.bookings import Booking, is_conflicting
from keyplan_systems.venue_booking.domain.events import (
    DayAvailability,
    Event,
    availability,
    dates,
    event_of_request,
)
from keyplan_systems.venue_booking.domain.records import AuditAction, AuditEntry
from keyplan_systems.venue_booking.domain.refusals import InvalidRequestError, NotFoundError
from keyplan_systems.venue_booking.domain.requests import EventRequest, checked_event, parse
from keyplan_systems.venue_booking.domain.users import Actor, check_version, require_admin
from keyplan_systems.venue_booking.entities import EventItem
from keyplan_systems.venue_booking.items import audit_item, event_item, event_of, held_events, slot_items
from keyplan_systems.venue_booking.writing import Step, act
from keyplan_systems.web.once import Request

MONTHS_PER_YEAR: Final = 12
FEED_MONTHS: Final = 12
"""How many months after this one the calendar feed tells of."""
_FEED_EVENTS: Final = 100
"""How many events are read in one request of the feed."""


@dataclass(frozen=True)
class Calendar:
    """Uses of the calendar."""

    asking: Asking

    def availability(self, first: date, last: date) -> tuple[DayAvailability, ...]:
        """Every date from first to last: one request for each month. Approving looks again, consistently."""
        days = dates(self.asking.venue, first, last)
        events = self.held_in(months_of(days[0], days[-1]))
        return availability(self.asking.venue, first, last, events, self.asking.now())

    def held_in(self, months: Sequence[date]) -> list[Event]:
        """What holds slots in these months, each given by its first day; titles are not for strangers."""
        slots = self.asking.connection.all(reads.slots_in_months(list(months)))
        return held_events(slots, self.asking.venue)

    def on_date(self, day: date) -> list[Event]:
        """What holds slots of a date as it is now."""
        return held_events(self.asking.connection.all(reads.slots_on_date(day)), self.asking.venue)

    def is_conflicting(self, booking: Booking, events: Sequence[Event]) -> bool:
        """Whether a booking waits that cannot be approved beside these events."""
        return is_conflicting(booking, events, self.asking.venue)

    def several(self, event_ids: Sequence[str]) -> list[Event | None]:
        """Some events, each in the place of its id."""
        items = self.asking.connection.run(reads.events_by_id(list(event_ids)))
        return [None if item is None else event_of(item) for item in items]

    def create(self, actor: Actor, values: Mapping[str, Any], once: Request | None = None) -> Event:
        """Enter a public event or a closure, for administrators. SlotTakenError where something holds a slot."""
        require_admin(actor)

        def step() -> Step[Event]:
            now = self.asking.now()
            request = checked_event(parse(EventRequest, values), self.asking.venue, now)
            event = event_of_request(
                request, self.asking.venue, event_id=self.asking.new_id(), admin_id=actor.user_id, now=now
            )
            entry = self._entry(actor, AuditAction.CREATE_EVENT, event)
            call = design.write_event(event_item(event), slot_items(event), audit_item(entry))
            return Step(event, call, is_done=lambda: self._is_there(event.event_id))

        return act(self.asking, once, Event, step)

    def _is_there(self, event_id: str) -> bool:
        return self.asking.connection.run(reads.event_by_id(event_id)) is not None

    def stored(self, event_id: str) -> EventItem:
        """An event as it is stored now. NotFoundError if there is none."""
        item = self.asking.connection.run(reads.event_by_id(event_id)) if is_id(event_id) else None
        if item is None:
            raise NotFoundError(f"There is no event {event_id[:64]}.")
        return item

    def delete(
        self, actor: Actor, event_id: str, known_version: int | None = None, once: Request | None = None
    ) -> Event:
        """Remove an event that an administrator entered, and free its slots."""
        require_admin(actor)

        def step() -> Step[Event]:
            item = self.stored(event_id)
            if item.booking_id is not None:
                raise InvalidRequestError("This event belongs to a booking: cancel the booking.", {"field": "id"})
            check_version(known_version, item.version)
            event = event_of(item)
            entry = audit_item(self._entry(actor, AuditAction.DELETE_EVENT, event))
            return Step(event, design.write_event_removal(item, slot_items(event), event.event_id, entry))

        return act(self.asking, once, Event, step)

    def upcoming(self) -> list[Event]:
        """What the feed tells of: from this month on, public events with what is said of them."""
        today = self.asking.venue.today(self.asking.now())
        held = self.held_in(months_of(today, _month(_number(today) + FEED_MONTHS)))
        ids = [event.event_id for event in held if event.is_public]
        whole: dict[str, Event] = {}
        for start in range(0, len(ids), _FEED_EVENTS):
            found = self.several(ids[start : start + _FEED_EVENTS])
            whole |= {event.event_id: event for event in found if event is not None}
        # An event that was deleted a moment ago may still be in the index, and is left out.
        return [
            replace(event, description=whole[event.event_id].description) if event.is_public else event
            for event in held
            if not event.is_public or event.event_id in whole
        ]

    def _entry(self, actor: Actor, action: AuditAction, event: Event) -> AuditEntry:
        details = {"date": event.date.isoformat(), "duration": event.duration, "kind": event.kind.value}
        details["title"] = event.title
        return AuditEntry(self.asking.new_id(), actor.user_id, action, event.event_id, self.asking.now(), details)


def months_of(first: date, last: date) -> list[date]:
    """The first days of the months from one date's to another's, both included."""
    return [_month(number) for number in range(_number(first), _number(last) + 1)]


def _number(day: date) -> int:
    """Months since the year 0."""
    return day.year * MONTHS_PER_YEAR + day.month - 1


def _month(number: int) -> date:
    return date(number // MONTHS_PER_YEAR, number % MONTHS_PER_YEAR + 1, 1)
