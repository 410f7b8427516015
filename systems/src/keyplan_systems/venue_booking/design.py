"""The design of venue booking: one table with two indexes, its access patterns and its load.

Keys and attributes have the names from the published design that the system implements. This design differs from the
published design in these points:

* Slots that an event holds are stored as one item per date and slot under EVENTDATE#. The item is created only if it
  does not exist. A full-day event reserves every slot of its date, so it cannot overlap with a half-day event. The
  event itself is stored under EVENT# and found by its ID.
* The booking, its copy in the user's partition and the user's counters change in one transaction, on the condition that
  the booking and the copy are unchanged since they were read. The event and its slots, the emails to send and the audit
  log entry are part of the transaction.
* A slot is freed only if the same booking or event still holds it.
* An email address is reserved by a separate item (a uniqueness guard item), because an index cannot reject duplicates.
  The index by address is only used for reading. The guard item is written when the address is verified. Before that, a
  claim is stored as a separate item that reserves nothing.
* Emails are counted in one item per user and one item per address. The condition of each update enforces the limit.
* Queries of GSI1 return the bookings with a status. Queries of GSI2 return the bookings of a month by status, and all
  held slots of a month, so a calendar requires one request. A user's bookings are sorted by date.
* Users, bookings and events have a version, which is checked when they are changed.
* Emails are queued in an outbox. A consumer of the table's stream sends them. A sparse index finds unsent emails.

A pending request reserves no slots. Several requests may be pending for one slot. Approving a request reserves the
slot, or fails if another event holds the slot.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from keyplan import Inserted, WriteCall, each, transaction
from keyplan_systems.venue_booking import reads  # noqa: F401 - part of the design
from keyplan_systems.venue_booking.domain.venue import MAX_SLOTS
from keyplan_systems.venue_booking.entities import (
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
from keyplan_systems.venue_booking.writes import (
    add_payment,
    booking_exists,
    claim_email,
    close_letter,
    count_bookings,
    count_letter,
    create_booking,
    create_event,
    create_user,
    create_user_booking,
    enqueue,
    event_exists,
    free_slot_of_booking,
    free_slot_of_event,
    put_lock_code,
    record_act,
    remember_letter,
    remove_event,
    remove_event_of_booking,
    remove_lock_code,
    replace_booking,
    replace_user,
    replace_user_booking,
    take_slot,
    use_code,
)

Slots = Annotated[list[EventSlotItem], Field(max_length=MAX_SLOTS)]
Letters = Annotated[list[OutboxItem], Field(max_length=4)]
Entries = Annotated[list[AuditItem], Field(max_length=1)]
EventIds = Annotated[list[str], Field(max_length=1)]

# Transactions: all writes of one step of the domain, committed together or not at all.


@transaction(rate=RARE)
def write_claim(
    *, code: EmailCodeItem, user_count: LetterCountItem, user_limit: int, address_count: LetterCountItem,
    address_limit: int,
) -> list[WriteCall[Any]]:  # fmt: skip
    """Store a user's claim to an unverified email address, and count the email with the verification code.

    The transaction fails if a daily limit on emails is reached.
    """
    return [
        count_letter(user_count, user_limit),
        count_letter(address_count, address_limit),
        claim_email(code),
    ]


@transaction(rate=RARE)
def write_change_with_claim(
    *, user: UserItem, code: EmailCodeItem, user_count: LetterCountItem, user_limit: int,
    address_count: LetterCountItem, address_limit: int,
) -> list[WriteCall[Any]]:  # fmt: skip
    """Store a changed profile together with the user's claim to a new email address that is not verified yet."""
    return [
        replace_user(user),
        count_letter(user_count, user_limit),
        count_letter(address_count, address_limit),
        claim_email(code),
    ]


@transaction(rate=RARE)
def write_verified_newcomer(user: UserItem, claim_id: str) -> list[WriteCall[Any]]:
    """Create a user with a verified email address, and delete the user's claim to the address."""
    return [create_user(user), use_code(user.user_id, claim_id)]


@transaction(rate=RARE)
def write_verified_address(user: UserItem, claim_id: str) -> list[WriteCall[Any]]:
    """Store a user's verified email address, and delete the user's claim to the address."""
    return [replace_user(user), use_code(user.user_id, claim_id)]


@transaction(rate=RARE)
def write_release(user: UserItem, entry: AuditItem) -> list[WriteCall[Any]]:
    """Remove a user's email address on behalf of an administrator, so that the owner of the address can verify it."""
    return [replace_user(user), record_act(entry)]


@transaction(rate=OCCASIONAL, expected_items=7)
def write_request(
    *, booking: BookingItem, copy: UserBookingItem, user_id: str, letters: Letters, user_count: LetterCountItem,
    user_limit: int, address_count: LetterCountItem, address_limit: int,
) -> list[WriteCall[Any]]:  # fmt: skip
    """Store a booking request with its copy in the user's partition and its emails, and count the emails.

    The transaction fails if a daily limit on emails is reached.
    """
    return [
        count_letter(user_count, user_limit),
        count_letter(address_count, address_limit),
        create_booking(booking),
        create_user_booking(copy),
        count_bookings(user_id, 1, 0, 0, 0),
        enqueue(each(letters)),
    ]


@transaction(rate=OCCASIONAL, expected_items=9)
def write_approval(
    *, booking: BookingItem, copy: UserBookingItem, user_id: str, event: EventItem, slots: Slots, letters: Letters,
    entries: Entries,
) -> list[WriteCall[Any]]:  # fmt: skip
    """Approve a booking: create its event, reserve its slots, and update the user's counters."""
    return [
        replace_booking(booking),
        replace_user_booking(copy),
        count_bookings(user_id, -1, 1, 0, 0),
        take_slot(each(slots)),
        create_event(event),
        enqueue(each(letters)),
        record_act(each(entries)),
    ]


@transaction(rate=OCCASIONAL, expected_items=6)
def write_refusal(
    *, booking: BookingItem, copy: UserBookingItem, user_id: str, pending: int, approved: int, rejected: int,
    cancelled: int, held_slots: Slots, event_ids: EventIds, letters: Letters, entries: Entries,
) -> list[WriteCall[Any]]:  # fmt: skip
    """Reject or cancel a booking. If it was approved, free its slots and delete its event and lock code."""
    return [
        replace_booking(booking),
        replace_user_booking(copy),
        count_bookings(user_id, pending, approved, rejected, cancelled),
        free_slot_of_booking(each(held_slots)),
        remove_event_of_booking(each(event_ids)),
        remove_lock_code(each(event_ids)),
        enqueue(each(letters)),
        record_act(each(entries)),
    ]


@transaction(rate=RARE, expected_items=4)
def write_event(event: EventItem, slots: Slots, entry: AuditItem) -> list[WriteCall[Any]]:
    """Store an administrator's event or closure, and reserve its slots."""
    return [take_slot(each(slots)), create_event(event), record_act(entry)]


@transaction(rate=RARE, expected_items=5)
def write_event_removal(event: EventItem, held_slots: Slots, event_id: str, entry: AuditItem) -> list[WriteCall[Any]]:
    """Delete an administrator's event and free its slots."""
    return [remove_event(event), free_slot_of_event(each(held_slots)), remove_lock_code(event_id), record_act(entry)]


@transaction(rate=RARE)
def write_payment(booking_id: str, payment: PaymentItem, entry: AuditItem) -> list[WriteCall[Any]]:
    """Store a payment, if its booking exists."""
    return [booking_exists(booking_id), add_payment(payment), record_act(entry)]


@transaction(rate=RARE)
def write_lock_code(event_id: str, code: LockCodeItem, entry: AuditItem) -> list[WriteCall[Any]]:
    """Store a lock code, if its event exists."""
    return [event_exists(event_id), put_lock_code(code), record_act(entry)]


@transaction(rate=OCCASIONAL)
def write_sent(
    letter: OutboxItem, sent_at: datetime, expires_at: datetime, notification: NotificationItem
) -> list[WriteCall[Any]]:
    """Mark an email in the outbox as sent, and add it to the history of the user's emails."""
    return [close_letter(letter, sent_at, None, expires_at), remember_letter(notification)]


# Consumers of the outbox.


@venue.on_change(OutboxItem, retries=6, on_failure="letters", idempotent=True)
def send_letter(change: Inserted[OutboxItem]) -> None:
    """Send a new email from the outbox.

    This function only declares the stream consumer, because a design has no mail server. The program that runs the
    consumer provides the handler.
    """
    raise LookupError(f"no handler is registered for email {change.new.notice_key}")


@venue.on_change(EmailCodeItem, retries=6, on_failure="letters", idempotent=True)
def send_code(change: Inserted[EmailCodeItem]) -> None:
    """Send a verification code to the email address that a user claims.

    This function only declares the stream consumer, because a design has no mail server. The program that runs the
    consumer provides the handler.
    """
    raise LookupError(f"no handler is registered for verification code {change.new.claim_id}")
