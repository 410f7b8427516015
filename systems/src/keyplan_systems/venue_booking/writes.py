"""Access patterns that write single items, either alone or as part of a transaction."""

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
from keyplan_systems.venue_booking.load import OCCASIONAL, RARE

# Writing users.


@venue.create(UserItem, rate=RARE)
def create_user(user: UserItem) -> ItemWrite:
    """Create a user, together with an item that reserves the email address."""
    return item(user)


@venue.replace(UserItem, rate=RARE)
def replace_user(user: UserItem) -> ItemWrite:
    """Replace a user and the item that reserves the email address, if the user is unchanged since it was read."""
    return item(user)


@venue.create(AnswerItem, rate=RARE)
def remember_answer(record: AnswerItem) -> ItemWrite:
    """Store the response to a mutation, if none is stored for its idempotency key.

    If two identical mutations are concurrent, only one of them succeeds. An expired response is replaced.
    """
    return item(record)


@venue.create(EmailCodeItem)
def claim_email(code: EmailCodeItem) -> ItemWrite:
    """Store a user's claim to an email address. The stream consumer then sends a verification code to the address."""
    return item(code)


@venue.update(EmailCodeItem, rate=RARE)
def store_code(user_id: str, claim_id: str, code_hashes: list[str]) -> ItemWrite:
    """Store the hashes of the recent verification codes for a claimed email address.

    The hashes are stored before the email with the latest code is sent.
    """
    return item(user_id=user_id, claim_id=claim_id).condition(F.sent_at.missing()).set(code_hashes=code_hashes)


@venue.update(EmailCodeItem, rate=RARE)
def note_code_sent(user_id: str, claim_id: str, sent_at: datetime) -> ItemWrite:
    """Store the time at which the email with a verification code was sent."""
    return item(user_id=user_id, claim_id=claim_id).set(sent_at=sent_at)


@venue.update(EmailCodeItem, rate=RARE)
def take_try(user_id: str, claim_id: str, allowed: int) -> ItemWrite:
    """Count an attempt to enter a verification code, if fewer than `allowed` attempts were counted.

    The attempt is counted before the code is compared.
    """
    return item(user_id=user_id, claim_id=claim_id).condition(F.tries < allowed).add(tries=1)


@venue.delete(EmailCodeItem)
def use_code(user_id: str, claim_id: str) -> ItemWrite:
    """Delete a claim to an email address after the user has entered the correct code, if the claim still exists."""
    return item(user_id=user_id, claim_id=claim_id).condition(F.created_at.exists())


@venue.update(LetterCountItem, upsert=True)
def count_letter(count: LetterCountItem, allowed: int) -> ItemWrite:
    """Count an email for the user who triggers it, or for its recipient address, if the daily limit is not reached.

    The condition fails if `allowed` emails were already counted on this day.
    """
    below = F.letters.missing() | (F.letters < allowed)
    key = item(scope=count.scope, subject=count.subject, day=count.day)
    return key.condition(below).add(letters=1).set(expires_at=count.expires_at)


@venue.update(UserItem)
def count_bookings(user_id: str, pending: int, approved: int, rejected: int, cancelled: int) -> ItemWrite:
    """Add the given changes to the user's counters of bookings. Each status has one counter."""
    return item(user_id=user_id).add(pending=pending, approved=approved, rejected=rejected, cancelled=cancelled)


# Parts of transactions.


@venue.create(BookingItem)
def create_booking(booking: BookingItem) -> ItemWrite:
    """Create a booking."""
    return item(booking)


@venue.replace(BookingItem)
def replace_booking(booking: BookingItem) -> ItemWrite:
    """Replace a booking, if it still has the version that was read."""
    return item(booking)


@venue.create(UserBookingItem)
def create_user_booking(copy: UserBookingItem) -> ItemWrite:
    """Create the copy of a booking in its user's partition."""
    return item(copy)


@venue.replace(UserBookingItem)
def replace_user_booking(copy: UserBookingItem) -> ItemWrite:
    """Replace the copy of a booking in its user's partition, if it still has the version that was read."""
    return item(copy)


@venue.create(EventItem)
def create_event(event: EventItem) -> ItemWrite:
    """Create an event."""
    return item(event)


@venue.create(EventSlotItem)
def take_slot(slot: EventSlotItem) -> ItemWrite:
    """Reserve a slot on a date for an event, if no event holds the slot."""
    return item(slot)


@venue.delete(EventSlotItem)
def free_slot_of_booking(slot: EventSlotItem) -> ItemWrite:
    """Free a slot, if the booking that reserved it still holds it."""
    return item(date=slot.date, slot=slot.slot).condition(F.booking_id == slot.booking_id)


@venue.delete(EventSlotItem)
def free_slot_of_event(slot: EventSlotItem) -> ItemWrite:
    """Free a slot, if the event that reserved it still holds it."""
    return item(date=slot.date, slot=slot.slot).condition(F.event_id == slot.event_id)


@venue.delete(EventItem)
def remove_event_of_booking(event_id: str) -> ItemWrite:
    """Delete the event of a booking that is no longer approved."""
    return item(event_id=event_id)


@venue.delete(EventItem)
def remove_event(event: EventItem) -> ItemWrite:
    """Delete an administrator's event, if it is unchanged since it was read."""
    return item(event_id=event.event_id).condition((F.version == event.version) & F.booking_id.missing())


@venue.delete(LockCodeItem)
def remove_lock_code(event_id: str) -> ItemWrite:
    """Delete the lock code of a deleted event."""
    return item(event_id=event_id)


@venue.create(OutboxItem)
def enqueue(letter: OutboxItem) -> ItemWrite:
    """Add an email to the outbox."""
    return item(letter)


@venue.create(AuditItem)
def record_act(entry: AuditItem) -> ItemWrite:
    """Add an administrator's action to the audit log."""
    return item(entry)


@venue.check(BookingItem)
def booking_exists(booking_id: str) -> ItemWrite:
    """Check that a booking exists."""
    return item(booking_id=booking_id)


@venue.check(EventItem)
def event_exists(event_id: str) -> ItemWrite:
    """Check that an event exists."""
    return item(event_id=event_id)


@venue.create(PaymentItem)
def add_payment(payment: PaymentItem) -> ItemWrite:
    """Add a payment for a booking."""
    return item(payment)


@venue.put(LockCodeItem)
def put_lock_code(code: LockCodeItem) -> ItemWrite:
    """Store a lock code for an event, replacing any earlier code."""
    return item(code)


@venue.update(OutboxItem, rate=OCCASIONAL)
def close_letter(letter: OutboxItem, sent_at: datetime, failure: str | None, expires_at: datetime) -> ItemWrite:
    """Mark an unsent email in the outbox as sent or failed, unless another process has already done so.

    `failure` is the reason why the email failed permanently, or None if it was sent.
    """
    return (
        item(notice_key=letter.notice_key)
        .assuming(created_at=letter.created_at)
        .condition(F.sent_at.missing())
        .set(sent_at=sent_at, failure=failure, expires_at=expires_at)
    )


@venue.create(NotificationItem)
def remember_letter(notification: NotificationItem) -> ItemWrite:
    """Add a sent email to the history of its user's emails."""
    return item(notification)
