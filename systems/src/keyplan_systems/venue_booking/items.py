"""Functions that convert between domain values and stored items."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from keyplan_systems.venue_booking.domain.bookings import Booking
from keyplan_systems.venue_booking.domain.events import Event
from keyplan_systems.venue_booking.domain.notices import Notice
from keyplan_systems.venue_booking.domain.records import AuditEntry, LockCode, Payment
from keyplan_systems.venue_booking.domain.requests import EventKind
from keyplan_systems.venue_booking.domain.users import Stats, User
from keyplan_systems.venue_booking.domain.venue import Venue
from keyplan_systems.venue_booking.entities import (
    AuditItem,
    BookingFields,
    BookingItem,
    EventItem,
    EventSlotItem,
    LockCodeItem,
    OutboxItem,
    PaymentItem,
    UserBookingItem,
    UserItem,
)

LOCK_CODE_KEPT: Final = timedelta(days=30)
"""Time for which a lock code is kept after it becomes invalid. During this time, administrators can find out who had
access.
"""


def user_of(item: UserItem) -> User:
    """Convert an item to a user."""
    stats = Stats(item.pending, item.approved, item.rejected, item.cancelled)
    return User(
        user_id=item.user_id,
        email=item.email,
        name=item.name,
        created_at=item.created_at,
        phone=item.phone,
        role=item.role,
        language=item.language,
        stats=stats,
        version=item.version,
        email_verified_at=item.email_verified_at,
    )


def user_item(user: User, version: int) -> UserItem:
    """Convert a user to an item. `version` is the version that was read, or 0 for a new user."""
    return UserItem(
        user_id=user.user_id,
        email=user.email,
        name=user.name,
        created_at=user.created_at,
        phone=user.phone,
        role=user.role,
        language=user.language,
        pending=user.stats.pending,
        approved=user.stats.approved,
        rejected=user.stats.rejected,
        cancelled=user.stats.cancelled,
        version=version,
        email_verified_at=user.email_verified_at,
    )


def booking_of(fields: BookingFields) -> Booking:
    """Convert the stored fields of a booking to a booking."""
    values: dict[str, Any] = {name: getattr(fields, name) for name in BookingFields.model_fields}
    return Booking(**{**values, "slots": tuple(fields.slots)})


def booking_item(booking: Booking, version: int) -> BookingItem:
    """Convert a booking to an item. `version` is the version that was read, or 0 for a new booking."""
    return BookingItem(**_booking_values(booking, version))


def user_booking_item(booking: Booking, version: int) -> UserBookingItem:
    """Return the copy of a booking for its user's partition. `version` is the version that was read, or 0 for a new
    booking.
    """
    return UserBookingItem(
        user_id=booking.user_id,
        booking_id=booking.booking_id,
        date=booking.date,
        duration=booking.duration,
        status=booking.status,
        requested_at=booking.requested_at,
        version=version,
    )


def _booking_values(booking: Booking, version: int) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(booking, name) for name in BookingFields.model_fields}
    return {**values, "slots": list(booking.slots), "version": version}


def letter_item(notice: Notice, booking: Booking) -> OutboxItem:
    """Return the outbox item for a notice. The notice and the booking must have the same version."""
    return OutboxItem(
        notice_key=notice.key,
        kind=notice.kind,
        created_at=notice.created_at,
        booking=BookingFields(**_booking_values(booking, booking.version)),
    )


def notice_of(item: OutboxItem) -> Notice:
    """Return the notice that an outbox item contains."""
    return Notice(item.kind, item.booking.booking_id, item.booking.version, item.created_at)


def event_of(item: EventItem) -> Event:
    """Convert an item to an event."""
    values: dict[str, Any] = {name: getattr(item, name) for name in EventItem.model_fields}
    return Event(**{**values, "slots": tuple(item.slots)})


def event_item(event: Event, version: int = 0) -> EventItem:
    """Convert an event to an item. `version` is the version that was read, or 0 for a new event."""
    values: dict[str, Any] = {name: getattr(event, name) for name in EventItem.model_fields}
    return EventItem(**{**values, "slots": list(event.slots), "version": version})


def slot_items(event: Event) -> list[EventSlotItem]:
    """Return the items of the slots that an event holds."""
    return [
        EventSlotItem(
            date=event.date,
            slot=slot,
            duration=event.duration,
            event_id=event.event_id,
            booking_id=event.booking_id,
            kind=event.kind,
            title=event.title,
            created_by=event.created_by,
            updated_at=event.updated_at,
        )
        for slot in event.slots
    ]


def held_slots(booking: Booking) -> list[EventSlotItem]:
    """Return the items of the slots that an approved booking holds, with the fields that are needed to delete them."""
    assert booking.event_id is not None, "an approved booking has an event"
    return [
        EventSlotItem(
            date=booking.date,
            slot=slot,
            duration=booking.duration,
            event_id=booking.event_id,
            booking_id=booking.booking_id,
            kind=EventKind.PRIVATE_BOOKING,
            title="",
            created_by=booking.user_id,
            updated_at=booking.requested_at,
        )
        for slot in booking.slots
    ]


def held_events(slots: Iterable[EventSlotItem], venue: Venue) -> list[Event]:
    """Return the events that hold the given slots, sorted by time."""
    slots_by_event: dict[str, list[EventSlotItem]] = {}
    for slot in slots:
        slots_by_event.setdefault(slot.event_id, []).append(slot)
    events = [_event_from_slots(event_slots, venue) for event_slots in slots_by_event.values()]
    return sorted(events, key=lambda event: (event.date, _slot_position(event.slots[0], venue)))


def _event_from_slots(slots: list[EventSlotItem], venue: Venue) -> Event:
    first = slots[0]
    return Event(
        event_id=first.event_id,
        date=first.date,
        duration=first.duration,
        slots=tuple(sorted((slot_item.slot for slot_item in slots), key=lambda slot: _slot_position(slot, venue))),
        kind=first.kind,
        title=first.title,
        created_by=first.created_by,
        updated_at=first.updated_at,
        booking_id=first.booking_id,
        description=None,
    )


def _slot_position(slot: str, venue: Venue) -> int:
    """Return the position of a slot among the slots of a day. Slots that are not configured come last."""
    names = venue.slot_names
    return names.index(slot) if slot in names else len(names)


def payment_item(payment: Payment) -> PaymentItem:
    """Convert a payment to an item."""
    return PaymentItem(**{name: getattr(payment, name) for name in PaymentItem.model_fields})


def payment_of(item: PaymentItem) -> Payment:
    """Convert an item to a payment."""
    return Payment(**{name: getattr(item, name) for name in PaymentItem.model_fields})


def lock_code_item(code: LockCode) -> LockCodeItem:
    """Convert a lock code to an item."""
    return LockCodeItem(
        event_id=code.event_id,
        digits=code.digits,
        valid_from=code.valid_from,
        valid_until=code.valid_until,
        expires_at=code.valid_until + LOCK_CODE_KEPT,
    )


def lock_code_of(item: LockCodeItem) -> LockCode:
    """Convert an item to a lock code."""
    return LockCode(item.event_id, item.digits, item.valid_from, item.valid_until)


def audit_item(entry: AuditEntry) -> AuditItem:
    """Convert an audit log entry to an item."""
    return AuditItem(
        entry_id=entry.entry_id,
        actor_id=entry.actor_id,
        action=entry.action,
        subject=entry.subject,
        at=entry.at,
        details=dict(entry.details),
    )


def audit_of(item: AuditItem) -> AuditEntry:
    """Convert an item to an audit log entry."""
    return AuditEntry(item.entry_id, item.actor_id, item.action, item.subject, item.at, dict(item.details))
