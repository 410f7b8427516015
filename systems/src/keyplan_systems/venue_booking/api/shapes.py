"""GraphQL types, and functions that convert domain values to them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from datetime import date, datetime
from typing import Annotated, Generic, TypeVar

import strawberry

from keyplan_systems.venue_booking.api.context import RequestInfo, field
from keyplan_systems.venue_booking.base import ResultPage
from keyplan_systems.venue_booking.domain.bookings import Booking
from keyplan_systems.venue_booking.domain.codes import readable_code
from keyplan_systems.venue_booking.domain.events import DayAvailability, Event, SlotState
from keyplan_systems.venue_booking.domain.notices import NoticeKind
from keyplan_systems.venue_booking.domain.records import AuditAction, PaymentMethod
from keyplan_systems.venue_booking.domain.requests import EventKind, Language
from keyplan_systems.venue_booking.domain.users import Actor, Role, Status, User
from keyplan_systems.venue_booking.entities import EmailCodeItem, UserBookingItem

T = TypeVar("T")
From = TypeVar("From")

ENUMS: dict[str, type[enum.Enum]] = {
    "BookingStatus": Status,
    "UserRole": Role,
    "Language": Language,
    "EventKind": EventKind,
    "SlotState": SlotState,
    "PaymentMethod": PaymentMethod,
    "AuditAction": AuditAction,
    "NoticeKind": NoticeKind,
}
# The library stores its definition in the Enum itself. The names in the schema are given here.
for _name, _kind in ENUMS.items():
    strawberry.enum(_kind, name=_name)


@strawberry.type(description="A page of a list. Pass the cursor to get the next page. It is null on the last page.")
class Page(Generic[T]):
    """A page of a list of GraphQL objects."""

    entries: list[T]
    cursor: str | None


def page(results: ResultPage[From], convert: Callable[[From], T]) -> Page[T]:
    """Convert a page of results to a page of GraphQL objects."""
    return Page(entries=[convert(entry) for entry in results.entries], cursor=results.cursor)


@strawberry.type
class Stats:
    """The number of a user's bookings with each status."""

    pending: int
    approved: int
    rejected: int
    cancelled: int
    total: int


@strawberry.type(name="User")
class UserShape:
    """The profile of a user."""

    id: strawberry.ID
    email: str | None
    name: str
    phone: str | None
    role: Role
    language: Language
    created_at: datetime
    stats: Stats
    version: int

    @classmethod
    def from_user(cls, user: User) -> UserShape:
        """Convert a user to a GraphQL object."""
        stats = user.stats
        return cls(
            id=strawberry.ID(user.user_id),
            email=user.email,
            name=user.name,
            phone=user.phone,
            role=user.role,
            language=user.language,
            created_at=user.created_at,
            stats=Stats(
                pending=stats.pending,
                approved=stats.approved,
                rejected=stats.rejected,
                cancelled=stats.cancelled,
                total=stats.total,
            ),
            version=user.version,
        )


@strawberry.type(name="EmailCode")
class EmailCodeShape:
    """A code that was sent to an email address that the caller claims. To verify the address, pass the ID and the code
    to `verifyEmail`.
    """

    id: strawberry.ID
    email: str
    expires_at: datetime

    @classmethod
    def from_item(cls, item: EmailCodeItem) -> EmailCodeShape:
        """Convert the stored item of an email verification code to a GraphQL object."""
        return cls(id=strawberry.ID(item.claim_id), email=item.email, expires_at=item.expires_at)


@strawberry.type(name="Contact")
class ContactShape:
    """The contact person for a booking."""

    full_name: str
    email: str
    phone: str


@strawberry.type(name="Booking")
class BookingShape:
    """A booking request and the decision on it. A pending request is not a confirmation and reserves no slots."""

    id: strawberry.ID
    code: str
    date: date
    duration: str
    description: str
    attendees: int
    contact: ContactShape
    association: str | None
    language: Language
    status: Status
    requested_at: datetime
    decided_at: datetime | None
    reason: str | None
    slots: list[str]
    event_id: strawberry.ID | None
    version: int
    source: strawberry.Private[Booking]

    @classmethod
    def from_booking(cls, booking: Booking) -> BookingShape:
        """Convert a booking to a GraphQL object. The function does not check whether the caller may view
        the booking.
        """
        contact = booking.contact
        return cls(
            id=strawberry.ID(booking.booking_id),
            code=readable_code(booking.code),
            date=booking.date,
            duration=booking.duration,
            description=booking.description,
            attendees=booking.attendees,
            contact=ContactShape(full_name=contact.full_name, email=contact.email, phone=contact.phone),
            association=booking.association,
            language=booking.language,
            status=booking.status,
            requested_at=booking.requested_at,
            decided_at=booking.decided_at,
            reason=booking.reason,
            slots=list(booking.slots),
            event_id=None if booking.event_id is None else strawberry.ID(booking.event_id),
            version=booking.version,
            source=booking,
        )

    @field("The user who requested the booking.")
    async def user(self, info: RequestInfo) -> UserShape | None:
        """Load the user who requested the booking, or return None if the user does not exist. The users of several
        bookings are loaded in one batch.
        """
        user = await info.context.users.load(self.source.user_id)
        return None if user is None else UserShape.from_user(user)

    @field("The booking's event, while the booking is approved.")
    async def event(self, info: RequestInfo) -> Annotated[EventShape, strawberry.lazy(__name__)] | None:
        """Load the event of an approved booking, or return None if the booking is not approved. The events of several
        bookings are loaded in one batch.
        """
        if self.source.event_id is None:
            return None
        event = await info.context.events.load(self.source.event_id)
        return None if event is None else EventShape.from_event(event, info.context.actor)

    @field("Whether the booking is pending for a slot that has since been taken, so that it cannot be approved.")
    async def conflicting(self, info: RequestInfo) -> bool:
        """Return True if the booking is pending but cannot be approved, because an event holds one of its slots or the
        venue no longer offers its duration.

        The slots of a month are loaded only once for all bookings of a list.
        """
        if self.source.status is not Status.PENDING:
            return False
        events = await info.context.months.load(self.source.date.replace(day=1))
        return info.context.service.calendar.is_conflicting(self.source, events)


@strawberry.type(name="UserBooking")
class UserBookingShape:
    """A summary of a booking, as it appears in the list of a user's bookings."""

    booking_id: strawberry.ID
    date: date
    duration: str
    status: Status
    requested_at: datetime

    @classmethod
    def from_item(cls, item: UserBookingItem) -> UserBookingShape:
        """Convert the copy of a booking in the user's partition to a GraphQL object."""
        return cls(
            booking_id=strawberry.ID(item.booking_id),
            date=item.date,
            duration=item.duration,
            status=item.status,
            requested_at=item.requested_at,
        )

    @field("The complete booking.")
    async def booking(self, info: RequestInfo) -> BookingShape | None:
        """Load the complete booking, or return None if it does not exist. The bookings of a list are loaded in one
        batch.
        """
        booking = await info.context.bookings.load(str(self.booking_id))
        return None if booking is None else BookingShape.from_booking(booking)


@strawberry.type(name="Profile", description="The caller's profile and all their bookings, read in one query.")
class ProfileShape:
    """A user's profile and all their bookings."""

    user: UserShape
    bookings: list[UserBookingShape]


@strawberry.type(name="Event")
class EventShape:
    """An event that reserves slots (parts of the day) on a date.

    The ID, title, description and booking are null if the event is a private booking of another user.
    """

    id: strawberry.ID | None
    date: date
    duration: str
    slots: list[str]
    kind: EventKind
    title: str | None
    booking_id: strawberry.ID | None
    version: int | None
    source: strawberry.Private[Event]

    @classmethod
    def from_event(cls, event: Event, actor: Actor) -> EventShape:
        """Convert an event to a GraphQL object, including only the fields that the actor may view."""
        may_see_all = event.is_public or actor.is_admin or event.created_by == actor.user_id
        booking_id = event.booking_id if may_see_all else None
        return cls(
            id=strawberry.ID(event.event_id) if may_see_all else None,
            date=event.date,
            duration=event.duration,
            slots=list(event.slots),
            kind=event.kind,
            title=event.title if may_see_all else None,
            booking_id=None if booking_id is None else strawberry.ID(booking_id),
            version=event.version if may_see_all else None,
            source=event,
        )

    @field("The description, if the caller may read it.")
    async def description(self, info: RequestInfo) -> str | None:
        """Return the description of the event, or None if the caller may not view it. Descriptions that were not read
        with the events are loaded in one batch.
        """
        if self.id is None:
            return None
        event = self.source if self.source.description is not None else await info.context.events.load(str(self.id))
        return None if event is None else event.description

    @field("The booking of the event, if the caller may read it.")
    async def booking(self, info: RequestInfo) -> BookingShape | None:
        """Load the booking of the event, or return None if the event has no booking or the caller may not view it. The
        bookings of several events are loaded in one batch.
        """
        if self.booking_id is None:
            return None
        booking = await info.context.bookings.load(str(self.booking_id))
        return None if booking is None else BookingShape.from_booking(booking)


@strawberry.type
class SlotAvailability:
    """A slot, and its availability on a date."""

    name: str
    state: SlotState


@strawberry.type(name="Day")
class DayShape:
    """A date with the availability of its slots, and the durations that can be requested."""

    date: date
    bookable: bool
    slots: list[SlotAvailability]
    durations: list[str]
    morning_available: bool
    afternoon_available: bool

    @classmethod
    def from_availability(cls, day: DayAvailability) -> DayShape:
        """Convert the availability of a date to a GraphQL object."""
        return cls(
            date=day.date,
            bookable=day.bookable,
            slots=[SlotAvailability(name=name, state=state) for name, state in day.slots.items()],
            durations=list(day.durations),
            morning_available=day.is_free("MORNING"),
            afternoon_available=day.is_free("AFTERNOON"),
        )


def days(availability: Iterable[DayAvailability]) -> list[DayShape]:
    """Convert the availability of several dates to GraphQL objects."""
    return [DayShape.from_availability(day) for day in availability]
