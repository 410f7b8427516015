"""The reading access patterns: the documented ones with their numbers, and additional ones."""

from __future__ import annotations

from datetime import date as Day  # noqa: N812 - a field of several entities is called date
from datetime import datetime
from typing import Annotated

from pydantic import Field

from keyplan import ItemKey, KeyCondition, Rate, each, item, pk
from keyplan_systems.venue_booking.domain.users import Status
from keyplan_systems.venue_booking.entities import (
    AnswerItem,
    AuditItem,
    BookingItem,
    EmailCodeItem,
    EventItem,
    EventSlotItem,
    LockCodeItem,
    NotificationItem,
    OutboxItem,
    PaymentItem,
    UserBookingItem,
    UserItem,
    venue,
)
from keyplan_systems.venue_booking.load import FEW, OFTEN, SOME

Ids = Annotated[list[str], Field(max_length=100)]

# The document's access patterns, by their numbers.


@venue.get(UserItem, consistent=True, rate=OFTEN)
def user_by_id(user_id: str) -> ItemKey:
    """1. Get a user by ID."""
    return item(user_id=user_id)


@venue.get(BookingItem, consistent=True, rate=OFTEN)
def booking_by_id(booking_id: str) -> ItemKey:
    """2. Get a booking by ID, with a consistent read."""
    return item(booking_id=booking_id)


@venue.query(UserBookingItem, consistent=True, rate=SOME, expected_items=5, ordered_by="-date", descending=True)
def bookings_of_user(user_id: str) -> KeyCondition:
    """3. Get all bookings of a user, latest date first."""
    return pk(user_id=user_id)


@venue.query(EventSlotItem, consistent=True, rate=SOME, expected_items=2)
def slots_on_date(date: Day) -> KeyCondition:
    """4. Get the events on a date, by the held slots with one item each."""
    return pk(date=date)


@venue.query(BookingItem, index="GSI1", rate=SOME, expected_items=20)
def bookings_with_status(status: Status) -> KeyCondition:
    """5. Get all pending bookings (admin), or those with another status, in the order of their requests."""
    return pk(status=status)


@venue.query(EventSlotItem, index="GSI2", rate=OFTEN, expected_items=30)
def slots_in_months(months: Annotated[list[Day], Field(max_length=13)]) -> KeyCondition:
    """6. Get the availability in a date range, by the held slots of its months with one request each."""
    return pk(date=each(months))


@venue.query(UserItem, index="GSI1", rate=FEW, expected_items=1)
def user_by_email(email: str) -> KeyCondition:
    """7. Get a user by email. The identity provider handles login."""
    return pk(email=email)


@venue.query(PaymentItem, consistent=True, rate=FEW, expected_items=1)
def payments_of_booking(booking_id: str) -> KeyCondition:
    """8. Get the payments for a booking, oldest first."""
    return pk(booking_id=booking_id)


@venue.query(NotificationItem, rate=FEW, expected_items=10, descending=True)
def notifications_of_user(user_id: str) -> KeyCondition:
    """9. Get the notification history, newest first."""
    return pk(user_id=user_id)


@venue.get(LockCodeItem, consistent=True, rate=FEW)
def lock_code_of_event(event_id: str) -> ItemKey:
    """10. Get the lock code for an event."""
    return item(event_id=event_id)


@venue.get(EmailCodeItem, consistent=True, rate=FEW)
def email_code(user_id: str, claim_id: str) -> ItemKey:
    """Read a claim to an address, with a consistent read."""
    return item(user_id=user_id, claim_id=claim_id)


@venue.query(EmailCodeItem, consistent=True, rate=FEW, expected_items=1)
def email_codes_of_user(user_id: str) -> KeyCondition:
    """Read the addresses to which a user was sent codes in the last hour."""
    return pk(user_id=user_id)


@venue.get(AnswerItem, consistent=True, rate=FEW)
def answer_given(user_id: str, request_key: str) -> ItemKey:
    """Read the response to a mutation with an idempotency key, unless it is older than 24 hours."""
    return item(user_id=user_id, request_key=request_key)


# Additional patterns, which the document does not number.


@venue.query(UserItem, UserBookingItem, consistent=True, rate=FEW, expected_items=6)
def user_with_bookings(user_id: str) -> KeyCondition:
    """Read a user and all their bookings in a single query, without the user's other items."""
    return pk(user_id=user_id).sk.text("between", "BOOKING#", "METADATA")


@venue.query(BookingItem, index="GSI2", rate=SOME, expected_items=15)
def bookings_in_month(date: Day, status: Status) -> KeyCondition:
    """Read bookings by month and status, sorted by date. Only the month of the date counts."""
    return pk(date=date).sk(status=status)


@venue.query(BookingItem, index="GSI2", rate=FEW, expected_items=20)
def all_bookings_in_month(date: Day) -> KeyCondition:
    """Read the bookings of a month, grouped by status."""
    return pk(date=date)


@venue.query(UserItem, index="GSI2", rate=FEW, expected_items=50)
def all_users() -> KeyCondition:
    """Read all users, in the order of registration."""
    return pk.text("USERS")


@venue.batch_get(BookingItem, consistent=True, rate=SOME, expected_items=10)
def bookings_by_id(booking_ids: Ids) -> ItemKey:
    """Read several bookings for lists."""
    return item(booking_id=each(booking_ids))


@venue.batch_get(UserItem, rate=SOME, expected_items=10)
def users_by_id(user_ids: Ids) -> ItemKey:
    """Read several users for lists of bookings."""
    return item(user_id=each(user_ids))


@venue.batch_get(EventItem, rate=SOME, expected_items=10)
def events_by_id(event_ids: Ids) -> ItemKey:
    """Read several events for lists and for the calendar feed."""
    return item(event_id=each(event_ids))


@venue.get(EventItem, consistent=True, rate=FEW)
def event_by_id(event_id: str) -> ItemKey:
    """Read an event by its ID."""
    return item(event_id=event_id)


@venue.query(AuditItem, rate=FEW, expected_items=50, descending=True)
def audit_in_month(at: datetime) -> KeyCondition:
    """Read the actions of administrators in a month, newest first."""
    return pk(at=at)


@venue.query(AuditItem, index="GSI1", rate=FEW, expected_items=3)
def audit_of_subject(subject: str) -> KeyCondition:
    """Read the actions of administrators on one booking or event."""
    return pk(subject=subject)


@venue.get(OutboxItem, consistent=True, rate=SOME)
def letter_by_key(notice_key: str) -> ItemKey:
    """Read an email in the outbox with a consistent read."""
    return item(notice_key=notice_key)


@venue.batch_get(OutboxItem, consistent=True, rate=FEW, expected_items=3)
def letters_by_key(notice_keys: Ids) -> ItemKey:
    """Read the emails about a booking: pending emails, and emails of the last month."""
    return item(notice_key=each(notice_keys))


@venue.query(OutboxItem, index="GSI1", rate=Rate(average=0.02), expected_items=1)
def unsent_letters() -> KeyCondition:
    """Read unsent emails, oldest first."""
    return pk.text("OUTBOX#UNSENT")
