"""The writes of single items, by themselves or as parts of transactions."""

from __future__ import annotations

from datetime import datetime

from keyplan.design import Change, F, add, key_of, known, put, set_, when
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
def create_user(user: UserItem) -> Change:
    """Create user, with the guard of the e-mail address."""
    return put(user)


@venue.replace(UserItem, rate=FEW)
def replace_user(user: UserItem) -> Change:
    """Change user as it was read; the guard moves to a new address."""
    return put(user)


@venue.create(AnswerItem, rate=FEW)
def remember_answer(record: AnswerItem) -> Change:
    """Keep the answer, unless one is kept: the first of two equal mutations wins. An expired one is overwritten."""
    return put(record)


@venue.create(EmailCodeItem)
def claim_email(code: EmailCodeItem) -> Change:
    """Claim an address. The consumer of the stream sends a code to it."""
    return put(code)


@venue.update(EmailCodeItem, rate=FEW)
def store_code(user_id: str, claim_id: str, code_hashes: list[str]) -> Change:
    """Store the hashes of the codes that verify an address, before the letter with the last of them is sent."""
    return key_of(user_id=user_id, claim_id=claim_id) & when(F.sent_at.missing()) & set_(code_hashes=code_hashes)


@venue.update(EmailCodeItem, rate=FEW)
def note_code_sent(user_id: str, claim_id: str, sent_at: datetime) -> Change:
    """Note that the letter with a code has left."""
    return key_of(user_id=user_id, claim_id=claim_id) & set_(sent_at=sent_at)


@venue.update(EmailCodeItem, rate=FEW)
def take_try(user_id: str, claim_id: str, allowed: int) -> Change:
    """Take one of the tries at a code, before it is compared, so that concurrent tries are counted too."""
    return key_of(user_id=user_id, claim_id=claim_id) & when(F.tries < allowed) & add(tries=1)


@venue.delete(EmailCodeItem)
def use_code(user_id: str, claim_id: str) -> Change:
    """Use a code, once."""
    return key_of(user_id=user_id, claim_id=claim_id) & when(F.created_at.exists())


@venue.update(LetterCountItem, upsert=True)
def count_letter(count: LetterCountItem, allowed: int) -> Change:
    """Count a letter unless its user, or its address, already had as many as are allowed in a day."""
    below = F.letters.missing() | (F.letters < allowed)
    key = key_of(scope=count.scope, subject=count.subject, day=count.day)
    return key & when(below) & add(letters=1) & set_(expires_at=count.expires_at)


@venue.update(UserItem)
def count_bookings(user_id: str, pending: int, approved: int, rejected: int, cancelled: int) -> Change:
    """Add to the counters of a user's bookings."""
    return key_of(user_id=user_id) & add(pending=pending, approved=approved, rejected=rejected, cancelled=cancelled)


# The parts of transactions.


@venue.create(BookingItem)
def create_booking(booking: BookingItem) -> Change:
    """A new request."""
    return put(booking)


@venue.replace(BookingItem)
def replace_booking(booking: BookingItem) -> Change:
    """A booking that moves on, from the version it was read in, with its place in both indexes."""
    return put(booking)


@venue.create(UserBookingItem)
def create_user_booking(copy: UserBookingItem) -> Change:
    """The copy of a new request under its user."""
    return put(copy)


@venue.replace(UserBookingItem)
def replace_user_booking(copy: UserBookingItem) -> Change:
    """The copy of a booking that moves on, from the same version."""
    return put(copy)


@venue.create(EventItem)
def create_event(event: EventItem) -> Change:
    """A new event."""
    return put(event)


@venue.create(EventSlotItem)
def take_slot(slot: EventSlotItem) -> Change:
    """Take a slot of a date, if nobody holds it."""
    return put(slot)


@venue.delete(EventSlotItem)
def free_slot_of_booking(slot: EventSlotItem) -> Change:
    """Free a slot, if it is still this booking's."""
    return key_of(date=slot.date, slot=slot.slot) & when(F.booking_id == slot.booking_id)


@venue.delete(EventSlotItem)
def free_slot_of_event(slot: EventSlotItem) -> Change:
    """Free a slot, if it is still this event's."""
    return key_of(date=slot.date, slot=slot.slot) & when(F.event_id == slot.event_id)


@venue.delete(EventItem)
def remove_event_of_booking(event_id: str) -> Change:
    """The event of a booking that is not approved any more."""
    return key_of(event_id=event_id)


@venue.delete(EventItem)
def remove_event(event: EventItem) -> Change:
    """An administrator's event, as it was read."""
    return key_of(event_id=event.event_id) & when((F.version == event.version) & F.booking_id.missing())


@venue.delete(LockCodeItem)
def remove_lock_code(event_id: str) -> Change:
    """The code of an event that is no more."""
    return key_of(event_id=event_id)


@venue.create(OutboxItem)
def enqueue(letter: OutboxItem) -> Change:
    """A letter to be sent."""
    return put(letter)


@venue.create(AuditItem)
def record_act(entry: AuditItem) -> Change:
    """An act of an administrator."""
    return put(entry)


@venue.check(BookingItem)
def booking_is_there(booking_id: str) -> Change:
    """The booking that something is recorded for."""
    return key_of(booking_id=booking_id)


@venue.check(EventItem)
def event_is_there(event_id: str) -> Change:
    """The event that something is recorded for."""
    return key_of(event_id=event_id)


@venue.create(PaymentItem)
def add_payment(payment: PaymentItem) -> Change:
    """A payment."""
    return put(payment)


@venue.put(LockCodeItem)
def put_lock_code(code: LockCodeItem) -> Change:
    """A code, in place of an earlier one."""
    return put(code)


@venue.update(OutboxItem, rate=SOME)
def close_letter(letter: OutboxItem, sent_at: datetime, failure: str | None, expires_at: datetime) -> Change:
    """Take a letter out of what is to be sent, if nobody has."""
    return (
        key_of(notice_key=letter.notice_key)
        & known(created_at=letter.created_at)
        & when(F.sent_at.missing())
        & set_(sent_at=sent_at, failure=failure, expires_at=expires_at)
    )


@venue.create(NotificationItem)
def remember_letter(notification: NotificationItem) -> Change:
    """A letter that left, in its user's history."""
    return put(notification)
