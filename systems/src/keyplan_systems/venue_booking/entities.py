"""The table of venue booking and its entities. Attribute names are in camel case, as in the published design that the
system implements.

Reserved slots are stored as one item per date and slot, so that a half-day and a full-day booking of the same morning
conflict. The description of an event is stored only in the item with the event's ID, not in its slot items.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date as Day  # noqa: N812 - a field of several entities is called date
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, Field

from keyplan import GSI, Attribute, Bytes, Distinct, Entity, F, Table, Volume, key, unique
from keyplan_systems.venue_booking.domain.contacts import Contact
from keyplan_systems.venue_booking.domain.notices import NoticeKind
from keyplan_systems.venue_booking.domain.records import AuditAction, PaymentMethod
from keyplan_systems.venue_booking.domain.requests import EventKind, Language
from keyplan_systems.venue_booking.domain.users import Role, Status

venue = Table(
    "venue-booking",
    pk="PK",
    sk="SK",
    indexes=[GSI("GSI1", pk="GSI1PK", sk="GSI1SK"), GSI("GSI2", pk="GSI2PK", sk="GSI2SK")],
    ttl="expiresAt",
    stream="NEW_AND_OLD_IMAGES",
    point_in_time_recovery=True,
    deletion_protection=True,
    discriminator="entityType",
)


class LetterScope(StrEnum):
    """The scope of an email counter: the emails that a user triggered, or the emails to an address."""

    USER = "USER"
    ADDRESS = "ADDRESS"


UserId = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[0-9A-Za-z._|:@+-]+$"), Attribute("userId")]
BookingId = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[0-9A-Za-z-]+$"), Attribute("bookingId")]
EventId = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[0-9A-Za-z-]+$"), Attribute("eventId")]
SlotName = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,39}$")]
NoticeKey = Annotated[str, Field(min_length=1, max_length=120, pattern=r"^[0-9A-Za-z._-]+$"), Attribute("noticeKey")]
Address = Annotated[str, Field(min_length=3, max_length=254)]
STATUSES: Mapping[object, float] = {
    Status.PENDING: 0.05,
    Status.APPROVED: 0.7,
    Status.REJECTED: 0.15,
    Status.CANCELLED: 0.1,
}


@venue.entity(
    name="User",
    key=key("USER#{user_id}", "METADATA"),
    indexes={
        "GSI1": key("EMAIL#{email}", "USER"),
        "GSI2": key("USERS", "{created_at:utc_ms}#{user_id}"),
    },
    unique=[unique("email", key=key("EMAIL#{email}", "GUARD"))],
    version="version",
    volume=Volume(count=2_000, bytes=Bytes(420, p99=700), distinct={"user_id": 2_000, "email": 2_000}),
)
class UserItem(Entity):
    """A user's profile and the number of the user's bookings by status.

    A separate item reserves the email address, so that no other user can have it.
    """

    user_id: UserId
    email: Address | None = None
    """Normalized email address. None if an administrator removed it or another user has verified it."""
    email_verified_at: Annotated[datetime | None, Attribute("emailVerifiedAt")] = None
    """Time at which the email address was verified. None for an address that was stored before the system verified
    addresses.
    """
    name: Annotated[str, Field(min_length=1, max_length=100)]
    phone: str | None = None
    role: Role = Role.USER
    """Role in the token with which the profile was created. It is only displayed; permissions depend on the current
    token.
    """
    language: Language = Language.ITALIAN
    created_at: Annotated[datetime, Attribute("createdAt")]
    pending: Annotated[int, Attribute("pendingBookings")] = 0
    approved: Annotated[int, Attribute("approvedBookings")] = 0
    rejected: Annotated[int, Attribute("rejectedBookings")] = 0
    cancelled: Annotated[int, Attribute("cancelledBookings")] = 0
    version: int = 0


class BookingFields(BaseModel):
    """The fields of a booking. An email in the outbox contains a copy of these fields, which is made when the email is
    queued.
    """

    booking_id: BookingId
    user_id: UserId
    code: Annotated[str, Attribute("confirmationCode")]
    date: Day
    duration: SlotName
    description: Annotated[str, Attribute("eventDescription")]
    attendees: int
    contact: Contact
    association: str | None = None
    language: Language = Language.ITALIAN
    requested_at: Annotated[datetime, Attribute("requestedAt")]
    status: Status = Status.PENDING
    decided_at: Annotated[datetime | None, Attribute("decidedAt")] = None
    decided_by: Annotated[str | None, Attribute("decidedBy")] = None
    reason: str | None = None
    slots: list[SlotName] = []
    event_id: Annotated[str | None, Attribute("eventId")] = None
    version: int = 0


@venue.entity(
    name="Booking",
    key=key("BOOKING#{booking_id}", "METADATA"),
    indexes={
        "GSI1": key("STATUS#{status:upper}", "{requested_at:utc_ms}#{booking_id}"),
        "GSI2": key("BOOKINGS#{date:month}", "{status:upper}#{date}#{booking_id}"),
    },
    version="version",
    volume=Volume(
        count=5_000,
        bytes=Bytes(900, p99=3_500),
        distinct={"user_id": Distinct(2_000, hottest=0.02), "status": STATUSES, "date": 1_500, "booking_id": 5_000},
    ),
)
class BookingItem(BookingFields, Entity):
    """A booking request and the decision on it."""


@venue.entity(
    name="UserBooking",
    key=key("USER#{user_id}", "BOOKING#{date}#{booking_id}"),
    version="version",
    volume=Volume(
        count=5_000,
        bytes=Bytes(220, p99=260),
        distinct={"user_id": Distinct(2_000, hottest=0.02), "date": 1_500, "booking_id": 5_000},
    ),
)
class UserBookingItem(Entity):
    """A copy of a booking in its user's partition, where bookings are sorted by date.

    Each transaction that writes the booking also writes this copy.
    """

    user_id: UserId
    booking_id: BookingId
    date: Day
    duration: SlotName
    status: Status
    requested_at: Annotated[datetime, Attribute("requestedAt")]
    version: int = 0
    """The version of the copied booking."""


@venue.entity(
    name="Event",
    key=key("EVENT#{event_id}", "METADATA"),
    version="version",
    volume=Volume(count=6_000, bytes=Bytes(450, p99=2_700), distinct={"event_id": 6_000}),
)
class EventItem(Entity):
    """An event that reserves slots on a date: an approved booking, a public event or a closure."""

    event_id: EventId
    booking_id: Annotated[str | None, Attribute("bookingId")] = None
    """ID of the approved booking, or None for an administrator's event."""
    date: Day
    duration: SlotName
    slots: list[SlotName]
    kind: Annotated[EventKind, Attribute("eventType")]
    title: str
    description: str = ""
    created_by: Annotated[str, Attribute("createdBy")]
    updated_at: Annotated[datetime, Attribute("updatedAt")]
    version: int = 0


@venue.entity(
    name="EventSlot",
    key=key("EVENTDATE#{date}", "{slot}"),
    indexes={"GSI2": key("EVENTS#{date:month}", "{date}#{slot}")},
    volume=Volume(
        count=9_000,
        bytes=Bytes(380, p99=560),
        distinct={"date": 6_000, "slot": {"MORNING": 0.4, "AFTERNOON": 0.35, "EVENING": 0.25}},
    ),
)
class EventSlotItem(Entity):
    """A slot that an event has reserved on a date. While this item exists, no other event can reserve the slot."""

    date: Day
    slot: Annotated[SlotName, Attribute("timeSlot")]
    duration: SlotName
    event_id: EventId
    booking_id: Annotated[str | None, Attribute("bookingId")] = None
    kind: Annotated[EventKind, Attribute("eventType")]
    title: str
    created_by: Annotated[str, Attribute("createdBy")]
    updated_at: Annotated[datetime, Attribute("updatedAt")]


@venue.entity(
    name="Payment",
    key=key("BOOKING#{booking_id}", "PAYMENT#{received_at:utc_ms}#{payment_id}"),
    volume=Volume(count=4_000, bytes=Bytes(260), distinct={"booking_id": 3_500, "payment_id": 4_000}),
)
class PaymentItem(Entity):
    """A received payment for a booking."""

    booking_id: BookingId
    payment_id: Annotated[str, Field(pattern=r"^[0-9A-Za-z-]{1,64}$"), Attribute("paymentId")]
    amount_cents: Annotated[int, Attribute("amountCents")]
    currency: str
    method: PaymentMethod
    received_at: Annotated[datetime, Attribute("receivedAt")]
    recorded_by: Annotated[str, Attribute("recordedBy")]


@venue.entity(
    name="Notification",
    key=key("USER#{user_id}", "NOTIFICATION#{sent_at:utc_ms}#{notice_key}"),
    volume=Volume(count=12_000, bytes=Bytes(280), distinct={"user_id": Distinct(2_000, hottest=0.02)}),
)
class NotificationItem(Entity):
    """An email that was sent to a user."""

    user_id: UserId
    notice_key: NoticeKey
    kind: NoticeKind
    booking_id: BookingId
    sent_at: Annotated[datetime, Attribute("sentAt")]
    refused: list[str]
    """Email addresses of the recipients that the mail server rejected."""


@venue.entity(
    name="EmailCode",
    key=key("USER#{user_id}", "VERIFICATION#{claim_id}"),
    volume=Volume(count=100, bytes=Bytes(520), distinct={"user_id": 100, "claim_id": 100}),
)
class EmailCodeItem(Entity):
    """A user's claim to an email address, with the hashes of the codes that verify it. A claim does not reserve the
    address.
    """

    user_id: UserId
    claim_id: Annotated[str, Field(pattern=r"^[0-9A-Za-z-]{1,64}$"), Attribute("claimId")]
    email: Address
    name: Annotated[str, Field(min_length=1, max_length=100)]
    language: Language
    created_at: Annotated[datetime, Attribute("createdAt")]
    expires_at: Annotated[datetime, Attribute("expiresAt")]
    sent_at: Annotated[datetime | None, Attribute("sentAt")] = None
    code_hashes: Annotated[list[str], Attribute("codeHashes")] = Field(default_factory=list, max_length=3, repr=False)
    tries: int = 0


@venue.entity(
    name="LetterCount",
    key=key("LETTERS#{scope}#{subject}", "{day}"),
    volume=Volume(count=600, bytes=Bytes(150), distinct={"subject": 500, "day": 2}),
)
class LetterCountItem(Entity):
    """The number of emails that a user triggered, or that were sent to an address, on one UTC day."""

    scope: LetterScope
    subject: Annotated[str, Field(min_length=1, max_length=254)]
    day: Day
    letters: int = 0
    expires_at: Annotated[datetime, Attribute("expiresAt")]


@venue.entity(
    name="Answer",
    key=key("ANSWERS#{user_id}", "{request_key}"),
    volume=Volume(count=100, bytes=Bytes(1_100, p99=4_500), distinct={"user_id": 50, "request_key": 100}),
)
class AnswerItem(Entity):
    """The stored response to a mutation with an idempotency key. It is kept for 24 hours."""

    user_id: UserId
    request_key: Annotated[str, Field(min_length=1, max_length=140, pattern=r"^[ -~]+$"), Attribute("requestKey")]
    fingerprint: str
    """Hash of the mutation's name and arguments. A mutation with the same key but a different hash is rejected."""
    response_data: Annotated[str, Field(repr=False), Attribute("responseData")]
    http_status_code: Annotated[int, Attribute("httpStatusCode")]
    created_at: Annotated[datetime, Attribute("createdAt")]
    expires_at: Annotated[datetime, Attribute("expiresAt")]


@venue.entity(
    name="LockCode",
    key=key("EVENT#{event_id}", "LOCKCODE"),
    volume=Volume(count=3_000, bytes=Bytes(190), distinct={"event_id": 3_000}),
)
class LockCodeItem(Entity):
    """A code for the door lock during an event. It is deleted 30 days after it becomes invalid."""

    event_id: EventId
    digits: Annotated[str, Field(pattern=r"^[0-9]{4,12}$", repr=False)]
    valid_from: Annotated[datetime, Attribute("validFrom")]
    valid_until: Annotated[datetime, Attribute("validUntil")]
    expires_at: Annotated[datetime, Attribute("expiresAt")]


@venue.entity(
    name="AuditEntry",
    key=key("AUDIT#{at:month}", "{at:utc_ms}#{entry_id}"),
    indexes={"GSI1": key("AUDITOF#{subject}", "{at:utc_ms}#{entry_id}")},
    volume=Volume(count=12_000, bytes=Bytes(320), distinct={"at": 60, "subject": 6_000}),
)
class AuditItem(Entity):
    """An administrator's action, as recorded in the audit log."""

    entry_id: Annotated[str, Field(pattern=r"^[0-9A-Za-z-]{1,64}$"), Attribute("entryId")]
    actor_id: Annotated[str, Attribute("actorId")]
    action: AuditAction
    subject: Annotated[str, Field(min_length=1, max_length=128)]
    at: datetime
    details: dict[str, str]


@venue.entity(
    name="Outbox",
    key=key("OUTBOX#{notice_key}", "LETTER"),
    indexes={"GSI1": key("OUTBOX#UNSENT", "{created_at:utc_ms}#{notice_key}", only_if=F.sent_at.missing())},
    volume=Volume(count=1_000, bytes=Bytes(1_100, p99=3_800), distinct={"notice_key": 1_000}, present={"sent_at": 0.9}),
)
class OutboxItem(Entity):
    """An email to send, with a copy of the booking as of the time when the email was queued.

    The item is deleted 30 days after the email was sent or failed permanently.
    """

    notice_key: NoticeKey
    kind: NoticeKind
    created_at: Annotated[datetime, Attribute("createdAt")]
    booking: BookingFields
    sent_at: Annotated[datetime | None, Attribute("sentAt")] = None
    failure: str | None = None
    """Reason why the email failed permanently, or None if it was sent or is still unsent."""
    expires_at: Annotated[datetime | None, Attribute("expiresAt")] = None
