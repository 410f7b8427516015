"""Writes of single items, separately or as parts of transactions."""

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
    """Create user, with the guard of the e-mail address."""
    return item(user)


@venue.replace(UserItem, rate=FEW)
def replace_user(user: UserItem) -> ItemWrite:
    """Change user if unchanged since it was read; the guard moves to a new address."""
    return item(user)


@venue.create(AnswerItem, rate=FEW)
def remember_answer(record: AnswerItem) -> ItemWrite:
    """Store the answer, unless one is stored: the first of two equal mutations wins. An expired one is overwritten."""
    return item(record)


@venue.create(EmailCodeItem)
def claim_email(code: EmailCodeItem) -> ItemWrite:
    """Claim an address. The consumer of the stream sends a code to it."""
    return item(code)


@venue.update(EmailCodeItem, rate=FEW)
def store_code(user_id: str, claim_id: str, code_hashes: list[str]) -> ItemWrite:
    """Store the hashes of the codes that verify an address, before the letter with the last of them is sent."""
    return item(user_id=user_id, claim_id=claim_id).condition(F.sent_at.missing()).set(code_hashes=code_hashes)


@venue.update(EmailCodeItem, rate=FEW)
def note_code_sent(user_id: str, claim_id: str, sent_at: datetime) -> ItemWrite:
    """Note that the letter with a code has left."""
    return item(user_id=user_id, claim_id=claim_id).set(sent_at=sent_at)


@venue.update(EmailCodeItem, rate=FEW)
def take_try(user_id: str, claim_id: str, allowed: int) -> ItemWrite:
    """Count a try at a code before it is compared, so that concurrent tries are counted too."""
    return item(user_id=user_id, claim_id=claim_id).condition(F.tries < allowed).add(tries=1)


@venue.delete(EmailCodeItem)
def use_code(user_id: str, claim_id: str) -> ItemWrite:
    """Use a code, once."""
    return item(user_id=user_id, claim_id=claim_id).condition(F.created_at.exists())


@venue.update(LetterCountItem, upsert=True)
def count_letter(count: LetterCountItem, allowed: int) -> ItemWrite:
    """Count a letter unless its user, or its address, has reached the daily limit."""
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
    """Replace a booking from the version it was read in, with its position in both indexes."""
    return item(booking)


@venue.create(UserBookingItem)
def create_user_booking(copy: UserBookingItem) -> ItemWrite:
    """Store the copy of a new request under its user."""
    return item(copy)


@venue.replace(UserBookingItem)
def replace_user_booking(copy: UserBookingItem) -> ItemWrite:
    """Replace the copy of a booking from the same version."""
    return item(copy)


@venue.create(EventItem)
def create_event(event: EventItem) -> ItemWrite:
    """Store a new event."""
    return item(event)


@venue.create(EventSlotItem)
def take_slot(slot: EventSlotItem) -> ItemWrite:
    """Take a slot of a date, if it is free."""
    return item(slot)


@venue.delete(EventSlotItem)
def free_slot_of_booking(slot: EventSlotItem) -> ItemWrite:
    """Free a slot, if it still belongs to this booking."""
    return item(date=slot.date, slot=slot.slot).condition(F.booking_id == slot.booking_id)


@venue.delete(EventSlotItem)
def free_slot_of_event(slot: EventSlotItem) -> ItemWrite:
    """Free a slot, if it still belongs to this event."""
    return item(date=slot.date, slot=slot.slot).condition(F.event_id == slot.event_id)


@venue.delete(EventItem)
def remove_event_of_booking(event_id: str) -> ItemWrite:
    """Delete the event of a booking that is not approved any more."""
    return item(event_id=event_id)


@venue.delete(EventItem)
def remove_event(event: EventItem) -> ItemWrite:
    """Delete an administrator's event, if unchanged since it was read."""
    return item(event_id=event.event_id).condition((F.version == event.version) & F.booking_id.missing())


@venue.delete(LockCodeItem)
def remove_lock_code(event_id: str) -> ItemWrite:
    """Delete the code of a deleted event."""
    return item(event_id=event_id)


@venue.create(OutboxItem)
def enqueue(letter: OutboxItem) -> ItemWrite:
    """Store a letter to be sent."""
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
    """Store a code, in place of an earlier one."""
    return item(code)


@venue.update(OutboxItem, rate=SOME)
def close_letter(letter: OutboxItem, sent_at: datetime, failure: str | None, expires_at: datetime) -> ItemWrite:
    """Remove a letter from the unsent ones, unless another process has."""
    return (
        item(notice_key=letter.notice_key)
        .assuming(created_at=letter.created_at)
        .condition(F.sent_at.missing())
        .set(sent_at=sent_at, failure=failure, expires_at=expires_at)
    )


@venue.create(NotificationItem)
def remember_letter(notification: NotificationItem) -> ItemWrite:
    """Store a sent letter in its user's history."""
    return item(notification)
