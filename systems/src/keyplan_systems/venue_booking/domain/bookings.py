"""Bookings: their statuses, the allowed transitions, and the effects of each transition.

    pending   ── approve (admin) ──────────────> approved     reserves the slots
    pending   ── reject (admin) ───────────────> rejected
    pending   ── cancel (owner, admin) ────────> cancelled
    approved  ── reject (admin) ───────────────> rejected     frees the slots
    approved  ── cancel (owner, admin) ────────> cancelled    frees the slots

Rejected and cancelled are final statuses. A pending booking reserves no slots. Several bookings may be pending for one
slot, and the first one that is approved gets the slot. `decide` returns the changes, and the caller stores them in one
transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from typing import Final

from keyplan_systems.venue_booking.domain.contacts import Contact
from keyplan_systems.venue_booking.domain.events import Event, event_of_booking, taken_slots
from keyplan_systems.venue_booking.domain.notices import Notice, notices_of_decision, notices_of_request
from keyplan_systems.venue_booking.domain.refusals import (
    AlreadyDecidedError,
    NotAllowedError,
    NotFoundError,
    SlotTakenError,
)
from keyplan_systems.venue_booking.domain.requests import BookingRequest, Language
from keyplan_systems.venue_booking.domain.users import Actor, Status, check_version, stats_changes
from keyplan_systems.venue_booking.domain.venue import Venue


@dataclass(frozen=True)
class Booking:
    """A booking request and the decision on it.

    `requested_at` and `decided_at` are in UTC. `decided_by` is the ID of the user who made the last transition, and
    `reason` is their message to the owner. While the booking is approved, `slots` contains the held slots and
    `event_id` the ID of its event. These fields are needed to free the slots, because the venue's durations may have
    changed since the approval. `version` is incremented by each write.
    """

    booking_id: str
    user_id: str
    code: str
    date: date
    duration: str
    description: str
    attendees: int
    contact: Contact
    requested_at: datetime
    association: str | None = None
    language: Language = Language.ITALIAN
    status: Status = Status.PENDING
    decided_at: datetime | None = None
    decided_by: str | None = None
    reason: str | None = None
    slots: tuple[str, ...] = ()
    event_id: str | None = None
    version: int = 1


class Action(StrEnum):
    """The actions on a booking: approve, reject and cancel."""

    APPROVE = "approve"
    REJECT = "reject"
    CANCEL = "cancel"


class SlotEffect(StrEnum):
    """The effect of a status transition on the slots of a booking: they stay unchanged, are reserved, or are freed."""

    NONE = "none"
    TAKE = "take"
    FREE = "free"


@dataclass(frozen=True)
class Transition:
    """A transition between statuses: the new status, the effect on the slots, and whether the owner of the booking may
    make the transition.
    """

    status: Status
    slots: SlotEffect
    is_owner_allowed: bool


TRANSITIONS: Final[Mapping[tuple[Status, Action], Transition]] = {
    (Status.PENDING, Action.APPROVE): Transition(Status.APPROVED, SlotEffect.TAKE, is_owner_allowed=False),
    (Status.PENDING, Action.REJECT): Transition(Status.REJECTED, SlotEffect.NONE, is_owner_allowed=False),
    (Status.PENDING, Action.CANCEL): Transition(Status.CANCELLED, SlotEffect.NONE, is_owner_allowed=True),
    (Status.APPROVED, Action.REJECT): Transition(Status.REJECTED, SlotEffect.FREE, is_owner_allowed=False),
    (Status.APPROVED, Action.CANCEL): Transition(Status.CANCELLED, SlotEffect.FREE, is_owner_allowed=True),
}
OWNER_ACTIONS: Final = frozenset(
    action for (_, action), transition in TRANSITIONS.items() if transition.is_owner_allowed
)


@dataclass(frozen=True)
class BookingChanges:
    """The changes that result from creating a booking or changing its status. They are written in one transaction.

    `stats` contains the changes to the user's counters. `reserved_event` is the event that reserves slots; the
    transaction fails if one of its slots is not free. `freed_slots` contains the slots to free; the transaction fails
    unless the booking holds all of them. `is_audited` is True if an administrator acted. In that case, an audit log
    entry is also written.
    """

    booking: Booking
    stats: Mapping[Status, int]
    reserved_event: Event | None
    freed_slots: tuple[str, ...]
    notices: tuple[Notice, ...]
    is_audited: bool


def check_free(request: BookingRequest, venue: Venue, held_slots: Collection[str]) -> None:
    """Raise SlotTakenError if `held_slots` contains one of the requested slots."""
    taken_names = [slot for slot in venue.slots_of(request.duration) if slot in held_slots]
    if taken_names:
        raise SlotTakenError(request.date, taken_names)


def request_booking(
    request: BookingRequest, *, booking_id: str, user_id: str, code: str, now: datetime
) -> BookingChanges:
    """Return the changes that store a validated request as a new pending booking."""
    booking = Booking(
        booking_id=booking_id,
        user_id=user_id,
        code=code,
        requested_at=now,
        date=request.date,
        duration=request.duration,
        description=request.description,
        attendees=request.attendees,
        contact=request.contact,
        association=request.association,
        language=request.language,
    )
    changes = stats_changes(None, Status.PENDING)
    notices = notices_of_request(booking_id, booking.version, now)
    return BookingChanges(booking, changes, None, (), notices, is_audited=False)


def decide(
    booking: Booking,
    action: Action,
    actor: Actor,
    venue: Venue,
    now: datetime,
    *,
    event_id: str,
    reason: str | None = None,
    known_version: int | None = None,
) -> BookingChanges:
    """Return the changes that result from an actor's action on a booking.

    `event_id` is the ID for the new event if the booking is approved. Raises NotFoundError if the actor is neither the
    owner nor an administrator, NotAllowedError if the owner attempts an action other than cancelling,
    AlreadyDecidedError if the booking's status does not allow the action, StaleVersionError if the booking's version
    differs from `known_version`, and DateNotBookableError if the action is an approval and the date is in the past.
    """
    check_permission(booking, action, actor)
    transition = TRANSITIONS.get((booking.status, action))
    if transition is None:
        raise AlreadyDecidedError(booking.status.value)
    check_version(known_version, booking.version)
    if transition.slots is SlotEffect.TAKE:
        venue.check_not_past(booking.date, now)
    changed_booking = replace(
        booking,
        status=transition.status,
        decided_at=now,
        decided_by=actor.user_id,
        reason=reason or None,
        slots=venue.slots_of(booking.duration) if transition.slots is SlotEffect.TAKE else (),
        event_id=event_id if transition.slots is SlotEffect.TAKE else None,
        version=booking.version + 1,
    )
    return _changes(booking, changed_booking, transition.slots, now, actor)


def _changes(
    booking: Booking, changed_booking: Booking, effect: SlotEffect, now: datetime, actor: Actor
) -> BookingChanges:
    by_owner = actor.user_id == booking.user_id
    return BookingChanges(
        booking=changed_booking,
        stats=stats_changes(booking.status, changed_booking.status),
        reserved_event=_event(changed_booking, now) if effect is SlotEffect.TAKE else None,
        freed_slots=booking.slots if effect is SlotEffect.FREE else (),
        notices=notices_of_decision(
            changed_booking.booking_id, changed_booking.status, changed_booking.version, now, by_owner=by_owner
        ),
        is_audited=actor.is_admin,
    )


def _event(booking: Booking, now: datetime) -> Event:
    assert booking.event_id is not None
    return event_of_booking(
        event_id=booking.event_id,
        booking_id=booking.booking_id,
        user_id=booking.user_id,
        day=booking.date,
        duration=booking.duration,
        slots=booking.slots,
        description=booking.description,
        now=now,
    )


def check_permission(booking: Booking, action: Action, actor: Actor) -> None:
    """Raise NotFoundError if the actor may not view the booking, or NotAllowedError if the actor may not perform the
    action.

    The function does not check whether the status of the booking allows the action.
    """
    if actor.is_admin:
        return
    check_can_view(booking, actor)
    if action not in OWNER_ACTIONS:
        raise NotAllowedError("Only administrators may decide on requests.")


def check_can_view(booking: Booking, actor: Actor) -> None:
    """Raise NotFoundError unless the actor owns the booking or is an administrator."""
    if not actor.is_admin and actor.user_id != booking.user_id:
        raise NotFoundError(f"Unknown booking {booking.booking_id}.")


def is_conflicting(booking: Booking, events: Collection[Event], venue: Venue) -> bool:
    """Return True if the booking is pending but cannot be approved.

    A booking cannot be approved if one of the given events holds a slot of the booking, or if the venue no longer
    offers the duration of the booking.
    """
    if booking.status is not Status.PENDING:
        return False
    if booking.duration not in venue.durations:
        return True
    occupied_slots = taken_slots(events)
    return any((booking.date, slot) in occupied_slots for slot in venue.slots_of(booking.duration))
