"""Access patterns that read items. The patterns that have a number in the published design come first, in the same
order.
"""

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
from keyplan_systems.venue_booking.load import FREQUENT, OCCASIONAL, RARE

Ids = Annotated[list[str], Field(max_length=100)]

# The document's access patterns, by their numbers.


@venue.get(UserItem, consistent=True, rate=FREQUENT)
def user_by_id(user_id: str) -> ItemKey:
    """1. Get a user by ID."""
    return item(user_id=user_id)


@venue.get(BookingItem, consistent=True, rate=FREQUENT)
def booking_by_id(booking_id: str) -> ItemKey:
    """2. Get a booking by ID."""
    return item(booking_id=booking_id)


@venue.query(UserBookingItem, consistent=True, rate=OCCASIONAL, expected_items=5, ordered_by="-date", descending=True)
def bookings_of_user(user_id: str) -> KeyCondition:
    """3. List a user's bookings, latest date first."""
    return pk(user_id=user_id)


@venue.query(EventSlotItem, consistent=True, rate=OCCASIONAL, expected_items=2)
def slots_on_date(date: Day) -> KeyCondition:
    """4. List the reserved slots on a date, from which the date's events are determined."""
    return pk(date=date)


@venue.query(BookingItem, index="GSI1", rate=OCCASIONAL, expected_items=20)
def bookings_with_status(status: Status) -> KeyCondition:
    """5. List the bookings with a given status, such as pending bookings for administrators, oldest request first."""
    return pk(status=status)


@venue.query(EventSlotItem, index="GSI2", rate=FREQUENT, expected_items=30)
def slots_in_months(months: Annotated[list[Day], Field(max_length=13)]) -> KeyCondition:
    """6. List the reserved slots of several months, with one query per month, to compute the availability."""
    return pk(date=each(months))


@venue.query(UserItem, index="GSI1", rate=RARE, expected_items=1)
def user_by_email(email: str) -> KeyCondition:
    """7. Get a user by email address.

    The query is not used for login, because an identity provider authenticates users.
    """
    return pk(email=email)


@venue.query(PaymentItem, consistent=True, rate=RARE, expected_items=1)
def payments_of_booking(booking_id: str) -> KeyCondition:
    """8. List the payments for a booking, oldest first."""
    return pk(booking_id=booking_id)


@venue.query(NotificationItem, rate=RARE, expected_items=10, descending=True)
def notifications_of_user(user_id: str) -> KeyCondition:
    """9. List the emails sent to a user, newest first."""
    return pk(user_id=user_id)


@venue.get(LockCodeItem, consistent=True, rate=RARE)
def lock_code_of_event(event_id: str) -> ItemKey:
    """10. Get the lock code for an event."""
    return item(event_id=event_id)


@venue.get(EmailCodeItem, consistent=True, rate=RARE)
def email_code(user_id: str, claim_id: str) -> ItemKey:
    """Get a user's claim to an email address."""
    return item(user_id=user_id, claim_id=claim_id)


@venue.query(EmailCodeItem, consistent=True, rate=RARE, expected_items=1)
def email_codes_of_user(user_id: str) -> KeyCondition:
    """List the email addresses that a user has claimed in the last hour."""
    return pk(user_id=user_id)


@venue.get(AnswerItem, consistent=True, rate=RARE)
def answer_given(user_id: str, request_key: str) -> ItemKey:
    """Get the stored response to a mutation with an idempotency key. It expires after 24 hours."""
    return item(user_id=user_id, request_key=request_key)


# Additional patterns, which the document does not number.


@venue.query(UserItem, UserBookingItem, consistent=True, rate=RARE, expected_items=6)
def user_with_bookings(user_id: str) -> KeyCondition:
    """Get a user and all their bookings in a single query, excluding the user's other items."""
    return pk(user_id=user_id).sk.text("between", "BOOKING#", "METADATA")


@venue.query(BookingItem, index="GSI2", rate=OCCASIONAL, expected_items=15)
def bookings_in_month(date: Day, status: Status) -> KeyCondition:
    """List the bookings with a given status in the month that contains a date, sorted by date."""
    return pk(date=date).sk(status=status)


@venue.query(BookingItem, index="GSI2", rate=RARE, expected_items=20)
def all_bookings_in_month(date: Day) -> KeyCondition:
    """List the bookings in the month that contains a date, grouped by status."""
    return pk(date=date)


@venue.query(UserItem, index="GSI2", rate=RARE, expected_items=50)
def all_users() -> KeyCondition:
    """List all users in the order of registration."""
    return pk.text("USERS")


@venue.batch_get(BookingItem, consistent=True, rate=OCCASIONAL, expected_items=10)
def bookings_by_id(booking_ids: Ids) -> ItemKey:
    """Get several bookings by ID."""
    return item(booking_id=each(booking_ids))


@venue.batch_get(UserItem, rate=OCCASIONAL, expected_items=10)
def users_by_id(user_ids: Ids) -> ItemKey:
    """Get several users by ID."""
    return item(user_id=each(user_ids))


@venue.batch_get(EventItem, rate=OCCASIONAL, expected_items=10)
def events_by_id(event_ids: Ids) -> ItemKey:
    """Get several events by ID."""
    return item(event_id=each(event_ids))


@venue.get(EventItem, consistent=True, rate=RARE)
def event_by_id(event_id: str) -> ItemKey:
    """Get an event by ID."""
    return item(event_id=event_id)


@venue.query(AuditItem, rate=RARE, expected_items=50, descending=True)
def audit_in_month(at: datetime) -> KeyCondition:
    """List the administrators' actions in the month that contains a timestamp, newest first."""
    return pk(at=at)


@venue.query(AuditItem, index="GSI1", rate=RARE, expected_items=3)
def audit_of_subject(subject: str) -> KeyCondition:
    """List the administrators' actions on one booking, event or user."""
    return pk(subject=subject)


@venue.get(OutboxItem, consistent=True, rate=OCCASIONAL)
def letter_by_key(notice_key: str) -> ItemKey:
    """Get an email from the outbox."""
    return item(notice_key=notice_key)


@venue.batch_get(OutboxItem, consistent=True, rate=RARE, expected_items=3)
def letters_by_key(notice_keys: Ids) -> ItemKey:
    """Get several emails from the outbox, which contains unsent emails and those sent in the last 30 days."""
    return item(notice_key=each(notice_keys))


@venue.query(OutboxItem, index="GSI1", rate=Rate(average=0.02), expected_items=1)
def unsent_letters() -> KeyCondition:
    """List the unsent emails, oldest first."""
    return pk.text("OUTBOX#UNSENT")
