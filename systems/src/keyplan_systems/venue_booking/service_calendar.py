"""Operations on the calendar: availability, and events that administrators enter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

from keyplan_systems.venue_booking import design, reads
from keyplan_systems.venue_booking.base import Base, is_id
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
from keyplan_systems.venue_booking.transactions import Step, run_step
from keyplan_systems.web.idempotency import Request

MONTHS_PER_YEAR: Final = 12
FEED_MONTHS: Final = 12
"""Number of months after the current month that the calendar feed includes."""
_FEED_EVENTS: Final = 100
"""Maximum number of events in one batch read when the descriptions for the calendar feed are loaded."""


@dataclass(frozen=True)
class Calendar:
    """Operations on the calendar: availability, and the events that administrators enter. Instances are thread-safe."""

    base: Base

    def availability(self, first: date, last: date) -> tuple[DayAvailability, ...]:
        """Return the availability of every date from `first` to `last`, using one query per month.

        The queries are eventually consistent, so the slots are checked again when a booking is approved.
        """
        days = dates(self.base.venue, first, last)
        events = self.events_in(months_of(days[0], days[-1]))
        return availability(self.base.venue, first, last, events, self.base.now())

    def events_in(self, months: Sequence[date]) -> list[Event]:
        """Return the events in several months, each given by its first day.

        Callers must hide the titles of private bookings from other users.
        """
        slots = self.base.connection.all(reads.slots_in_months(list(months)))
        return held_events(slots, self.base.venue)

    def on_date(self, day: date) -> list[Event]:
        """Return the events on a date."""
        return held_events(self.base.connection.all(reads.slots_on_date(day)), self.base.venue)

    def is_conflicting(self, booking: Booking, events: Sequence[Event]) -> bool:
        """Return True if a pending booking cannot be approved, because one of the given events holds a slot of the
        booking or the venue no longer offers the duration of the booking.
        """
        return is_conflicting(booking, events, self.base.venue)

    def get_many(self, event_ids: Sequence[str]) -> list[Event | None]:
        """Return the events with the given IDs, in the same order. The result contains None for each ID that does not
        exist.
        """
        items = self.base.connection.run(reads.events_by_id(list(event_ids)))
        return [None if item is None else event_of(item) for item in items]

    def create(self, actor: Actor, values: Mapping[str, Any], idempotency: Request | None = None) -> Event:
        """Create a public event or a closure.

        Raises NotAllowedError unless the actor is an administrator, and SlotTakenError if another event holds one of
        the slots.
        """
        require_admin(actor)

        def step() -> Step[Event]:
            now = self.base.now()
            request = checked_event(parse(EventRequest, values), self.base.venue, now)
            event = event_of_request(
                request, self.base.venue, event_id=self.base.new_id(), admin_id=actor.user_id, now=now
            )
            entry = self._entry(actor, AuditAction.CREATE_EVENT, event)
            call = design.write_event(event_item(event), slot_items(event), audit_item(entry))
            return Step(event, call, is_done=lambda: self._exists(event.event_id))

        return run_step(self.base, idempotency, Event, step)

    def _exists(self, event_id: str) -> bool:
        return self.base.connection.run(reads.event_by_id(event_id)) is not None

    def get_item(self, event_id: str) -> EventItem:
        """Return the item of an event. Raises NotFoundError if it does not exist."""
        item = self.base.connection.run(reads.event_by_id(event_id)) if is_id(event_id) else None
        if item is None:
            raise NotFoundError(f"Unknown event {event_id[:64]}.")
        return item

    def delete(
        self, actor: Actor, event_id: str, known_version: int | None = None, idempotency: Request | None = None
    ) -> Event:
        """Delete an administrator's event, and free its slots. Raises NotAllowedError unless the actor is an
        administrator.
        """
        require_admin(actor)

        def step() -> Step[Event]:
            item = self.get_item(event_id)
            if item.booking_id is not None:
                raise InvalidRequestError("This event belongs to a booking: cancel the booking.", {"field": "id"})
            check_version(known_version, item.version)
            event = event_of(item)
            entry = audit_item(self._entry(actor, AuditAction.DELETE_EVENT, event))
            return Step(event, design.write_event_removal(item, slot_items(event), event.event_id, entry))

        return run_step(self.base, idempotency, Event, step)

    def upcoming_events(self) -> list[Event]:
        """Return the events for the calendar feed, starting with the current month. Public events include their
        descriptions.
        """
        today = self.base.venue.today(self.base.now())
        events = self.events_in(months_of(today, _month(_month_number(today) + FEED_MONTHS)))
        ids = [event.event_id for event in events if event.is_public]
        by_id: dict[str, Event] = {}
        for start in range(0, len(ids), _FEED_EVENTS):
            stored_events = self.get_many(ids[start : start + _FEED_EVENTS])
            by_id |= {event.event_id: event for event in stored_events if event is not None}
        # A recently deleted event may still be in the index, and is omitted.
        return [
            replace(event, description=by_id[event.event_id].description) if event.is_public else event
            for event in events
            if not event.is_public or event.event_id in by_id
        ]

    def _entry(self, actor: Actor, action: AuditAction, event: Event) -> AuditEntry:
        details = {"date": event.date.isoformat(), "duration": event.duration, "kind": event.kind.value}
        details["title"] = event.title
        return AuditEntry(self.base.new_id(), actor.user_id, action, event.event_id, self.base.now(), details)


def months_of(first: date, last: date) -> list[date]:
    """Return the first day of each month from the month of `first` to the month of `last`."""
    return [_month(number) for number in range(_month_number(first), _month_number(last) + 1)]


def _month_number(day: date) -> int:
    """Return the number of months from year 0 to the month of a date."""
    return day.year * MONTHS_PER_YEAR + day.month - 1


def _month(number: int) -> date:
    return date(number // MONTHS_PER_YEAR, number % MONTHS_PER_YEAR + 1, 1)
