"""Writes of single items, used separately or in transactions."""

from __future__ import annotations

from datetime import datetime

from keyplan import F, ItemWrite, item
from keyplan_systems.venue_booking.entities import (
    AnswerItem,
    AuditItem,
    BookingItem,
    EmailCodeItem,
    EventItem,
    EventSlotItem,
    LetterCountItem,
    LockCodeItem,
    NotificationItem,
    OutboxItem,
    PaymentItem,
    UserBookingItem,
    UserItem,
    venue,
)
from keyplan_systems.venue_booking.load import FEW, SOME

# Writing users.


@venue.create(UserItem, rate=FEW)
def create_user(user: UserItem) -> ItemWrite:
    """Create a user, with the guard of the email address."""
    return item(user)


@venue.replace(UserItem, rate=FEW)
def replace_user(user: UserItem) -> ItemWrite:
    """Change a user if unchanged since it was read. The guard moves to a new address."""
    return item(user)


@venue.create(AnswerItem, rate=FEW)
def remember_answer(record: AnswerItem) -> ItemWrite:
    """Store the response unless one is stored, so that the first of two equal mutations wins.

    An expired response is overwritten.
    """
    return item(record)


@venue.create(EmailCodeItem)
def claim_email(code: EmailCodeItem) -> ItemWrite:
    """Claim an address. The consumer of the stream sends a code to it."""
    return item(code)


@venue.update(EmailCodeItem, rate=FEW)
def store_code(user_id: str, claim_id: str, code_hashes: list[str]) -> ItemWrite:
    """Store the hashes of the codes that verify an address, before the email with the latest code is sent."""
    return item(user_id=user_id, claim_id=claim_id).condition(F.sent_at.missing()).set(code_hashes=code_hashes)


@venue.update(EmailCodeItem, rate=FEW)
def note_code_sent(user_id: str, claim_id: str, sent_at: datetime) -> ItemWrite:
    """Record that the email with a code was sent."""
    return item(user_id=user_id, claim_id=claim_id).set(sent_at=sent_at)


@venue.update(EmailCodeItem, rate=FEW)
def take_try(user_id: str, claim_id: str, allowed: int) -> ItemWrite:
    """Count an attempt to enter a code before it is compared, so that concurrent attempts are counted too."""
    return item(user_id=user_id, claim_id=claim_id).condition(F.tries < allowed).add(tries=1)


@venue.delete(EmailCodeItem)
def use_code(user_id: str, claim_id: str) -> ItemWrite:
    """Use a code, once."""
    return item(user_id=user_id, claim_id=claim_id).condition(F.created_at.exists())


@venue.update(LetterCountItem, upsert=True)
def count_letter(count: LetterCountItem, allowed: int) -> ItemWrite:
    """Count an email unless its user or its address has reached the daily limit."""
    below = F.letters.missing() | (F.letters < allowed)
    key = item(scope=count.scope, subject=count.subject, day=count.day)
    return key.condition(below).add(letters=1).set(expires_at=count.expires_at)


@venue.update(UserItem)
def count_bookings(user_id: str, pending: int, approved: int, rejected: int, cancelled: int) -> ItemWrite:
    """Add to the counters of a user's bookings."""
    return item(user_id=user_id).add(pending=pending, approved=approved, rejected=rejected, cancelled=cancelled)


# Parts of transactions.


@venue.create(BookingItem)
def create_booking(booking: BookingItem) -> ItemWrite:
    """Store a new request."""
    return item(booking)


@venue.replace(BookingItem)
def replace_booking(booking: BookingItem) -> ItemWrite:
    """Replace a booking if it still has the version that was read, including its position in both indexes."""
    return item(booking)


@venue.create(UserBookingItem)
def create_user_booking(copy: UserBookingItem) -> ItemWrite:
    """Store the user's copy of a new request."""
    return item(copy)


@venue.replace(UserBookingItem)
def replace_user_booking(copy: UserBookingItem) -> ItemWrite:
    """Replace the user's copy of a booking if it has the same version."""
    return item(copy)


@venue.create(EventItem)
def create_event(event: EventItem) -> ItemWrite:
    """Store a new event."""
    return item(event)


@venue.create(EventSlotItem)
def take_slot(slot: EventSlotItem) -> ItemWrite:
    """Take a slot on a date if it is free."""
    return item(slot)


@venue.delete(EventSlotItem)
def free_slot_of_booking(slot: EventSlotItem) -> ItemWrite:
    """Free a slot if it still belongs to this booking."""
    return item(date=slot.date, slot=slot.slot).condition(F.booking_id == slot.booking_id)


@venue.delete(EventSlotItem)
def free_slot_of_event(slot: EventSlotItem) -> ItemWrite:
    """Free a slot if it still belongs to this event."""
    return item(date=slot.date, slot=slot.slot).condition(F.event_id == slot.event_id)


@venue.delete(EventItem)
def remove_event_of_booking(event_id: str) -> ItemWrite:
    """Delete the event of a booking that is no longer approved."""
    return item(event_id=event_id)


@venue.delete(EventItem)
def remove_event(event: EventItem) -> ItemWrite:
    """Delete an administrator's event if it is unchanged since it was read."""
    return item(event_id=event.event_id).condition((F.version == event.version) & F.booking_id.missing())


@venue.delete(LockCodeItem)
def remove_lock_code(event_id: str) -> ItemWrite:
    """Delete the code of a deleted event."""
    return item(event_id=event_id)


@venue.create(OutboxItem)
def enqueue(letter: OutboxItem) -> ItemWrite:
    """Store an email to send."""
    return item(letter)


@venue.create(AuditItem)
def record_act(entry: AuditItem) -> ItemWrite:
    """Store an action of an administrator."""
    return item(entry)


@venue.check(BookingItem)
def booking_exists(booking_id: str) -> ItemWrite:
    """Check that the booking of a record exists."""
    return item(booking_id=booking_id)


@venue.check(EventItem)
def event_exists(event_id: str) -> ItemWrite:
    """Check that the event of a record exists."""
    return item(event_id=event_id)


@venue.create(PaymentItem)
def add_payment(payment: PaymentItem) -> ItemWrite:
    """Store a payment."""
    return item(payment)


@venue.put(LockCodeItem)
def put_lock_code(code: LockCodeItem) -> ItemWrite:
    """Store a code, replacing an earlier one."""
    return item(code)


@venue.update(OutboxItem, rate=SOME)
def close_letter(letter: OutboxItem, sent_at: datetime, failure: str | None, expires_at: datetime) -> ItemWrite:
    """Remove an email from the unsent emails, unless another process has already done so."""
    return (
        item(notice_key=letter.notice_key)
        .assuming(created_at=letter.created_at)
        .condition(F.sent_at.missing())
        .set(sent_at=sent_at, failure=failure, expires_at=expires_at)
    )


@venue.create(NotificationItem)
def remember_letter(notification: NotificationItem) -> ItemWrite:
    """Store a sent email in its user's history."""
    return item(notification)
