"""The venue booking table exactly as its decision record describes it, faults included.

Keys, examples, access patterns and cost claims are those of the document. Time slots, payments and the other future
entities have no attributes there besides their keys.
"""

from __future__ import annotations

from typing import Literal

from keyplan import (
    GSI,
    Bytes,
    Claim,
    Entity,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Table,
    Volume,
    WriteCall,
    each,
    item,
    key,
    pk,
    transaction,
    unique,
)

claims = [
    Claim("$0.25 per million reads", "cost efficiency"),
    Claim("$1.25 per million writes", "cost efficiency"),
    Claim("free tier: 25 GB storage, 2.5 M read requests a month", "cost efficiency"),
    Claim("$0 a month", "cost efficiency"),
    Claim("single-table design is the pattern that AWS recommends", "best practices"),
    Claim("one table to backup and restore", "simplified backups"),
    Claim("GSI2 is reserved for future query patterns", "table design"),
    Claim("entities include a version field for optimistic locking", "implementation guidelines"),
    Claim("transactions across tables are not easy", "multi-table design"),
    Claim("Aurora Serverless costs a minimum of $15 a month", "relational database"),
    Claim("DocumentDB is not serverless", "document database"),
]

venue = Table(
    "venue",
    pk="PK",
    sk="SK",
    indexes=[GSI("GSI1", pk="GSI1PK", sk="GSI1SK", project=None), GSI("GSI2", pk="GSI2PK", sk="GSI2SK", project=None)],
    discriminator="entityType",
    literal=True,
)

Status = Literal["pending", "approved", "rejected"]


@venue.entity(
    key=key("USER#{userId}", "METADATA"),
    indexes={"GSI1": key("EMAIL#{email}", "USER")},
    unique=[unique("email", by="index")],
    volume=Volume(count=2_000, bytes=Bytes(400), distinct={"userId": 2_000, "email": 2_000}),
)
class User(Entity):
    userId: str  # noqa: N815 - the document's names
    email: str
    name: str
    phone: str
    role: Literal["user", "admin"]
    createdAt: str  # noqa: N815


@venue.entity(
    key=key("BOOKING#{bookingId}", "METADATA"),
    indexes={"GSI1": key("STATUS#{status:upper}", "{requestedAt}")},
    volume=Volume(
        count=5_000,
        bytes=Bytes(600),
        distinct={"bookingId": 5_000, "status": {"pending": 0.1, "approved": 0.7, "rejected": 0.2}},
    ),
)
class Booking(Entity):
    bookingId: str  # noqa: N815
    userId: str  # noqa: N815
    date: str
    duration: str
    eventDescription: str  # noqa: N815
    attendees: int
    status: Status
    requestedAt: str  # noqa: N815


@venue.entity(key=key("USER#{userId}", "BOOKING#{bookingId}"))
class UserBooking(Entity):
    userId: str  # noqa: N815
    bookingId: str  # noqa: N815
    date: str
    status: Status


@venue.entity(key=key("EVENT#{date}", "{slot}"), found_by=["eventId"])
class Event(Entity):
    eventId: str  # noqa: N815
    bookingId: str  # noqa: N815
    date: str
    slot: Literal["MORNING", "AFTERNOON", "FULLDAY"]
    timeSlot: str  # noqa: N815
    eventType: str  # noqa: N815
    title: str
    createdBy: str  # noqa: N815


@venue.entity(key=key("BOOKING#{bookingId}", "PAYMENT#{paymentId}"))
class Payment(Entity):
    bookingId: str  # noqa: N815
    paymentId: str  # noqa: N815


@venue.entity(key=key("USER#{userId}", "NOTIFICATION#{notificationId}"))
class Notification(Entity):
    userId: str  # noqa: N815
    notificationId: str  # noqa: N815


@venue.entity(key=key("EVENT#{eventId}", "LOCKCODE"))
class LockCode(Entity):
    eventId: str  # noqa: N815


# The access patterns, by their numbers.


@venue.get(User)
def user_by_id(userId: str) -> ItemKey:  # noqa: N803 - the document's names
    """1. Get user by ID."""
    return item(userId=userId)


@venue.get(Booking)
def booking_by_id(bookingId: str) -> ItemKey:  # noqa: N803
    """2. Get booking by ID."""
    return item(bookingId=bookingId)


@venue.query(UserBooking, ordered_by="date")
def bookings_of_user(userId: str) -> KeyCondition:  # noqa: N803
    """3. Get all bookings for user."""
    return pk(userId=userId).sk.text("begins_with", "BOOKING#")


@venue.query(Event)
def events_by_date(date: str) -> KeyCondition:
    """4. Get events by date: SK = MORNING/AFTERNOON."""
    return pk(date=date).sk.text("=", "MORNING/AFTERNOON")


@venue.query(Booking, index="GSI1", decides="state", guards=["decide_booking", "approve"])
def pending_bookings() -> KeyCondition:
    """5. Get all pending bookings (admin)."""
    return pk.text("STATUS#PENDING")


@venue.query(Event)
def availability(dates: list[str]) -> KeyCondition:
    """6. Get availability for date range: query multiple EVENT#{date} partitions."""
    return pk(date=each(dates))


@venue.query(User, index="GSI1", decides="uniqueness", guards="register")
def user_by_email(email: str) -> KeyCondition:
    """7. Get user by email (login)."""
    return pk(email=email)


@venue.query(Payment)
def payments_of_booking(bookingId: str) -> KeyCondition:  # noqa: N803
    """8. Get payments for booking."""
    return pk(bookingId=bookingId).sk.text("begins_with", "PAYMENT#")


@venue.query(Notification)
def notifications_of_user(userId: str) -> KeyCondition:  # noqa: N803
    """9. Get notification history."""
    return pk(userId=userId).sk.text("begins_with", "NOTIFICATION#")


@venue.query(LockCode)
def lock_codes_of_event(eventId: str) -> KeyCondition:  # noqa: N803
    """10. Get lock codes for event."""
    return pk(eventId=eventId).sk.text("=", "LOCKCODE")


@venue.query(User, UserBooking)
def user_with_bookings(userId: str) -> KeyCondition:  # noqa: N803
    """Better performance: get user and all their bookings in one query."""
    return pk(userId=userId)


@venue.query(Event, Booking)
def event_with_booking(date: str) -> KeyCondition:
    """Better performance: get event with booking details in one query."""
    return pk(date=date)


# Writes that the text requires.


@venue.put(User)
def register(user: User) -> ItemWrite:
    """Store a new user."""
    return item(user)


@venue.put(Booking)
def request_booking(booking: Booking) -> ItemWrite:
    """Store a booking request."""
    return item(booking)


@venue.update(Booking)
def decide_booking(bookingId: str, status: Status) -> ItemWrite:  # noqa: N803
    """Approve or reject a booking."""
    return item(bookingId=bookingId).set(status=status)


@venue.put(Event)
def create_event(event: Event) -> ItemWrite:
    """Add an event to the calendar."""
    return item(event)


@transaction()
def approve(bookingId: str, event: Event) -> list[WriteCall[Booking] | WriteCall[Event]]:  # noqa: N803
    """Approve booking, create event and update user stats atomically."""
    return [decide_booking(bookingId, "approved"), create_event(event)]
