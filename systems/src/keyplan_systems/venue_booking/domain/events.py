"""Events that reserve slots (approved bookings, public events and closures), and the availability of slots.

Reserved slots are stored per date and slot. A full-day event and a half-day event on the same date therefore cannot
both hold the morning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Final

from keyplan_systems.venue_booking.domain.refusals import InvalidRequestError
from keyplan_systems.venue_booking.domain.requests import EventKind, EventRequest
from keyplan_systems.venue_booking.domain.venue import Venue

TITLE_CHARACTERS: Final = 120


@dataclass(frozen=True)
class Event:
    """An event that reserves slots on a date: a private booking, a public event or a closure.

    `booking_id` is set only for private bookings. `created_by` is the ID of the booking's user or of the administrator
    who created the event. `updated_at` is in UTC. `description` is None if the event was read from its slot items,
    which do not contain it.
    """

    event_id: str
    date: date
    duration: str
    slots: tuple[str, ...]
    kind: EventKind
    title: str
    created_by: str
    updated_at: datetime
    booking_id: str | None = None
    description: str | None = ""
    version: int = 1

    def __post_init__(self) -> None:
        if (self.kind is EventKind.PRIVATE_BOOKING) is (self.booking_id is None):
            raise ValueError("an event belongs to a booking exactly if it is a private booking")

    @property
    def is_public(self) -> bool:
        """Whether all users may view the event's title."""
        return self.kind is not EventKind.PRIVATE_BOOKING


def event_of_booking(
    *,
    event_id: str,
    booking_id: str,
    user_id: str,
    day: date,
    duration: str,
    slots: tuple[str, ...],
    description: str,
    now: datetime,
) -> Event:
    """Return the event for an approved booking. Its title is the first line of the booking's description."""
    title = description.splitlines()[0][:TITLE_CHARACTERS]
    return Event(
        event_id=event_id,
        booking_id=booking_id,
        date=day,
        duration=duration,
        slots=slots,
        kind=EventKind.PRIVATE_BOOKING,
        title=title,
        created_by=user_id,
        updated_at=now,
    )


def event_of_request(request: EventRequest, venue: Venue, *, event_id: str, admin_id: str, now: datetime) -> Event:
    """Return the event for an administrator's validated request."""
    return Event(
        event_id=event_id,
        date=request.date,
        duration=request.duration,
        slots=venue.slots_of(request.duration),
        kind=request.kind,
        title=request.title,
        description=request.description,
        created_by=admin_id,
        updated_at=now,
    )


class SlotState(StrEnum):
    """The state of a slot on a date: free, held by a booking or public event, or closed because of a closure."""

    FREE = "free"
    TAKEN = "taken"
    CLOSED = "closed"


@dataclass(frozen=True)
class DayAvailability:
    """The availability of a date: the state of each slot, the durations whose slots are all free, and whether the date
    can be requested.

    If the date is outside the booking window, `bookable` is False, but the state of each slot is still correct.
    """

    date: date
    slots: Mapping[str, SlotState]
    durations: tuple[str, ...]
    bookable: bool

    def is_free(self, slot: str) -> bool:
        """Return True if the slot is free and the date can be requested. Return False if the slot is unknown."""
        return self.bookable and self.slots.get(slot) is SlotState.FREE


def availability(
    venue: Venue, first: date, last: date, events: Iterable[Event], now: datetime
) -> tuple[DayAvailability, ...]:
    """Return the availability of all dates from `first` to `last`, inclusive. Pending requests hold no slots.

    Raises InvalidRequestError if the range is empty or longer than the venue allows.
    """
    states = {
        (event.date, slot): SlotState.CLOSED if event.kind is EventKind.CLOSURE else SlotState.TAKEN
        for event in events
        for slot in event.slots
    }
    return tuple(_day(venue, day, states, now) for day in dates(venue, first, last))


def dates(venue: Venue, first: date, last: date) -> tuple[date, ...]:
    """Return the dates from `first` to `last`, inclusive.

    Raises InvalidRequestError if the range is empty or longer than the venue allows.
    """
    count = (last - first).days + 1
    if count < 1:
        raise InvalidRequestError("The range ends before it starts.", {"field": "lastDate"})
    if count > venue.availability_days:
        message = f"Request at most {venue.availability_days} days, not {count}."
        raise InvalidRequestError(message, {"field": "lastDate", "limit": venue.availability_days})
    return tuple(first + timedelta(days=offset) for offset in range(count))


def _day(venue: Venue, day: date, states: Mapping[tuple[date, str], SlotState], now: datetime) -> DayAvailability:
    slots = {name: states.get((day, name), SlotState.FREE) for name in venue.slot_names}
    bookable = venue.is_bookable(day, now)
    durations = tuple(
        duration
        for duration in venue.durations
        if bookable and all(slots[slot] is SlotState.FREE for slot in venue.slots_of(duration))
    )
    return DayAvailability(day, slots, durations, bookable)


def taken_slots(events: Collection[Event]) -> frozenset[tuple[date, str]]:
    """Return the slots that the events hold, as pairs of a date and a slot name."""
    return frozenset((event.date, slot) for event in events for slot in event.slots)
