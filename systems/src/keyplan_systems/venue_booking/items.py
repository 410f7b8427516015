"""Conversion between domain values and items."""

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
"""Time for which a code is kept after it expires, to answer questions about who could enter."""


def user_of(item: UserItem) -> User:
    """Convert a stored user to a domain value."""
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
    """Return a user to store. `version` is the version that was read, or 0 for a new user."""
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
    """Convert a stored booking to a domain value."""
    values: dict[str, Any] = {name: getattr(fields, name) for name in BookingFields.model_fields}
    return Booking(**{**values, "slots": tuple(fields.slots)})


def booking_item(booking: Booking, version: int) -> BookingItem:
    """Return a booking to store. `version` is the version that was read, or 0 for a new booking."""
    return BookingItem(**_booking_values(booking, version))


def user_booking_item(booking: Booking, version: int) -> UserBookingItem:
    """Return the user's copy of a booking."""
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
    """Return the email to send for a notice. The notice and the booking have the same version."""
    return OutboxItem(
        notice_key=notice.key,
        kind=notice.kind,
        created_at=notice.created_at,
        booking=BookingFields(**_booking_values(booking, booking.version)),
    )


def notice_of(item: OutboxItem) -> Notice:
    """Return the notice of an email in the outbox."""
    return Notice(item.kind, item.booking.booking_id, item.booking.version, item.created_at)


def event_of(item: EventItem) -> Event:
    """Convert a stored event to a domain value."""
    values: dict[str, Any] = {name: getattr(item, name) for name in EventItem.model_fields}
    return Event(**{**values, "slots": tuple(item.slots)})


def event_item(event: Event, version: int = 0) -> EventItem:
    """Return an event to store."""
    values: dict[str, Any] = {name: getattr(event, name) for name in EventItem.model_fields}
    return EventItem(**{**values, "slots": list(event.slots), "version": version})


def slot_items(event: Event) -> list[EventSlotItem]:
    """Return one item for each slot that an event holds."""
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
    """Return the slots that an approved booking holds, with the fields that freeing them requires."""
    assert booking.event_id is not None, "what holds slots has an event"
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
    """Return the events that hold these slots, sorted by time."""
    grouped: dict[str, list[EventSlotItem]] = {}
    for slot in slots:
        grouped.setdefault(slot.event_id, []).append(slot)
    events = [_held_event(parts, venue) for parts in grouped.values()]
    return sorted(events, key=lambda event: (event.date, _place(event.slots[0], venue)))


def _held_event(parts: list[EventSlotItem], venue: Venue) -> Event:
    first = parts[0]
    return Event(
        event_id=first.event_id,
        date=first.date,
        duration=first.duration,
        slots=tuple(sorted((part.slot for part in parts), key=lambda slot: _place(slot, venue))),
        kind=first.kind,
        title=first.title,
        created_by=first.created_by,
        updated_at=first.updated_at,
        booking_id=first.booking_id,
        description=None,
    )


def _place(slot: str, venue: Venue) -> int:
    """Return the position of a slot in the day. Removed slots come last."""
    names = venue.slot_names
    return names.index(slot) if slot in names else len(names)


def payment_item(payment: Payment) -> PaymentItem:
    """Return a payment to store."""
    return PaymentItem(**{name: getattr(payment, name) for name in PaymentItem.model_fields})


def payment_of(item: PaymentItem) -> Payment:
    """Convert a stored payment to a domain value."""
    return Payment(**{name: getattr(item, name) for name in PaymentItem.model_fields})


def lock_code_item(code: LockCode) -> LockCodeItem:
    """Return a lock code to store."""
    return LockCodeItem(
        event_id=code.event_id,
        digits=code.digits,
        valid_from=code.valid_from,
        valid_until=code.valid_until,
        expires_at=code.valid_until + LOCK_CODE_KEPT,
    )


def lock_code_of(item: LockCodeItem) -> LockCode:
    """Convert a stored lock code to a domain value."""
    return LockCode(item.event_id, item.digits, item.valid_from, item.valid_until)


def audit_item(entry: AuditEntry) -> AuditItem:
    """Return an entry of the audit log to store."""
    return AuditItem(
        entry_id=entry.entry_id,
        actor_id=entry.actor_id,
        action=entry.action,
        subject=entry.subject,
        at=entry.at,
        details=dict(entry.details),
    )


def audit_of(item: AuditItem) -> AuditEntry:
    """Convert a stored audit entry to a domain value."""
    return AuditEntry(item.entry_id, item.actor_id, item.action, item.subject, item.at, dict(item.details))
