"""Events hold slots: approved bookings, public events, closures; and what they leave free.

Occupancy is one entry per date and slot, so a full day and half a day cannot both hold the morning.
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
    """What holds slots of a date.

    `booking_id` is there for bookings only. `created_by` is the user whose booking it is, or the administrator who
    entered it. `updated_at` is UTC. `description` is None where only the slots were read, which do not have it.
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
            raise ValueError("a private booking, and nothing else, belongs to a booking")

    @property
    def is_public(self) -> bool:
        """Whether strangers may read its title."""
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
    """The event of an approved booking; its title is the first line of the booking's description."""
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
    """The event of an administrator's checked request."""
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
    """What a slot is to somebody who looks for a date."""

    FREE = "free"
    TAKEN = "taken"
    CLOSED = "closed"


@dataclass(frozen=True)
class DayAvailability:
    """One date: each slot's state, the durations that fit into what is free, and whether requests are taken for it.

    A date outside of the booking window has `bookable` False, and its slots still tell what stands there.
    """

    date: date
    slots: Mapping[str, SlotState]
    durations: tuple[str, ...]
    bookable: bool

    def is_free(self, slot: str) -> bool:
        """Whether the slot can be requested for this date; False for slots the venue does not have."""
        return self.bookable and self.slots.get(slot) is SlotState.FREE


def availability(
    venue: Venue, first: date, last: date, events: Iterable[Event], now: datetime
) -> tuple[DayAvailability, ...]:
    """Every date from first to last, both included, in order; waiting requests hold nothing.

    InvalidRequestError if the range is empty or longer than the venue allows to ask for.
    """
    states = {
        (event.date, slot): SlotState.CLOSED if event.kind is EventKind.CLOSURE else SlotState.TAKEN
        for event in events
        for slot in event.slots
    }
    return tuple(_day(venue, day, states, now) for day in dates(venue, first, last))


def dates(venue: Venue, first: date, last: date) -> tuple[date, ...]:
    """The dates of a range; InvalidRequestError if it is empty or too long."""
    count = (last - first).days + 1
    if count < 1:
        raise InvalidRequestError("The range ends before it begins.", {"field": "lastDate"})
    if count > venue.availability_days:
        message = f"Ask for at most {venue.availability_days} days at once, not {count}."
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
    """Every date and slot that these events hold."""
    return frozenset((event.date, slot) for event in events for slot in event.slots)
