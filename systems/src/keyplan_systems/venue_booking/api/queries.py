"""GraphQL queries."""

from __future__ import annotations

from datetime import date

import strawberry

from keyplan_systems.venue_booking.api.context import RequestInfo, field, run_blocking
from keyplan_systems.venue_booking.api.shapes import (
    BookingShape,
    DayShape,
    EmailCodeShape,
    EventShape,
    Page,
    ProfileShape,
    UserBookingShape,
    UserShape,
    days,
    page,
)
from keyplan_systems.venue_booking.api.shapes_records import AuditShape, LockCodeShape, NotificationShape, PaymentShape
from keyplan_systems.venue_booking.domain.refusals import InvalidRequestError
from keyplan_systems.venue_booking.domain.users import Status

FIRST = 25
"""Default number of elements per page."""


def month_of(text: str) -> date:
    """Parse a month such as 2025-11, and return its first day."""
    try:
        if len(text) != len("2025-11"):
            raise ValueError(text)
        return date.fromisoformat(f"{text}-01")
    except ValueError as error:
        raise InvalidRequestError("A month is written as 2025-11.", {"field": "month"}) from error


@strawberry.type
class Query:
    """The queries of the API."""

    @field("The caller's profile, which is created on first use.")
    async def me(self, info: RequestInfo) -> UserShape:
        """Return the caller's profile. It is created on first use."""
        return UserShape.from_user(await run_blocking(info.context.service.users.get_or_create, info.context.person))

    @field("The caller's profile with all bookings.")
    async def profile(self, info: RequestInfo) -> ProfileShape:
        """Return the caller's profile and all their bookings, using a single query on the user's partition."""
        result = await run_blocking(info.context.service.users.with_bookings, info.context.person)
        bookings = [UserBookingShape.from_item(item) for item in result.bookings]
        return ProfileShape(user=UserShape.from_user(result.user), bookings=bookings)

    @field("The valid codes for the email addresses that the caller has yet to verify.")
    async def my_email_codes(self, info: RequestInfo) -> list[EmailCodeShape]:
        """Return the caller's claims to email addresses from the last hour."""
        return [
            EmailCodeShape.from_item(item)
            for item in await run_blocking(info.context.service.users.email_claims, info.context.actor)
        ]

    @field("The caller's bookings, the latest date first.")
    async def my_bookings(
        self, info: RequestInfo, first: int = FIRST, after: str | None = None
    ) -> Page[UserBookingShape]:
        """Return the caller's bookings, latest date first."""
        bookings = await run_blocking(info.context.service.bookings.of_user, info.context.actor, first, after)
        return page(bookings, UserBookingShape.from_item)

    @field("The emails about the caller's bookings, newest first.")
    async def my_notifications(
        self, info: RequestInfo, first: int = FIRST, after: str | None = None
    ) -> Page[NotificationShape]:
        """Return the emails that were sent to the caller about their bookings, newest first."""
        notifications = await run_blocking(info.context.service.users.notifications, info.context.person, first, after)
        return page(notifications, NotificationShape.from_item)

    @field("The free slots of each date in an inclusive range.")
    async def availability(self, info: RequestInfo, first_date: date, last_date: date) -> list[DayShape]:
        """Return the free slots of each date from `first_date` to `last_date`, inclusive. The slots are read with one
        query per month.
        """
        return days(await run_blocking(info.context.service.calendar.availability, first_date, last_date))

    @field("The current events on a date.")
    async def events_on(self, info: RequestInfo, date: date) -> list[EventShape]:
        """Return the events on a date."""
        events = await run_blocking(info.context.service.calendar.on_date, date)
        return [EventShape.from_event(event, info.context.actor) for event in events]

    @field("One of the caller's bookings. Administrators can read any booking.")
    async def booking(self, info: RequestInfo, id: strawberry.ID) -> BookingShape:
        """Return a booking by its ID. Only the owner of the booking and administrators may view it."""
        return BookingShape.from_booking(
            await run_blocking(info.context.service.bookings.get, info.context.actor, str(id))
        )

    @field("Bookings with a status, in the order in which they were requested. For administrators.")
    async def bookings(
        self, info: RequestInfo, status: Status = Status.PENDING, first: int = FIRST, after: str | None = None
    ) -> Page[BookingShape]:
        """Return the bookings with a status, oldest request first."""
        bookings = await run_blocking(
            info.context.service.bookings.with_status, info.context.actor, status, first, after
        )
        return page(bookings, BookingShape.from_booking)

    @field("Bookings for dates in a month (2025-11), optionally with one status. For administrators.")
    async def bookings_by_month(
        self, info: RequestInfo, month: str, status: Status | None = None, first: int = FIRST, after: str | None = None
    ) -> Page[BookingShape]:
        """Return the bookings for dates in a month. If a status is given, only bookings with this status are returned,
        sorted by date. Otherwise, the bookings are grouped by status.
        """
        service, actor = info.context.service.bookings, info.context.actor
        bookings = await run_blocking(service.in_month, actor, month_of(month), status, first, after)
        return page(bookings, BookingShape.from_booking)

    @field("All users in the order in which they were created. For administrators.")
    async def users(self, info: RequestInfo, first: int = FIRST, after: str | None = None) -> Page[UserShape]:
        """Return all users in the order of registration. Only administrators may list users."""
        return page(
            await run_blocking(info.context.service.users.list_all, info.context.actor, first, after),
            UserShape.from_user,
        )

    @field("The user with an email address. For administrators.")
    async def user_by_email(self, info: RequestInfo, email: str) -> UserShape | None:
        """Return the user with an email address, or None if no user has it."""
        user = await run_blocking(info.context.service.users.find_by_email, info.context.actor, email)
        return None if user is None else UserShape.from_user(user)

    @field("Payments for one of the caller's bookings, or for administrators of any booking.")
    async def payments(
        self, info: RequestInfo, booking_id: strawberry.ID, first: int = FIRST, after: str | None = None
    ) -> Page[PaymentShape]:
        """Return the payments for a booking, oldest first."""
        service, actor = info.context.service.records, info.context.actor
        return page(
            await run_blocking(service.payments, actor, str(booking_id), first, after), PaymentShape.from_payment
        )

    @field("The lock code of an event. For administrators and the booking's owner.")
    async def lock_code(self, info: RequestInfo, event_id: strawberry.ID) -> LockCodeShape | None:
        """Return the lock code for an event, or None if no code was issued."""
        code = await run_blocking(info.context.service.records.lock_code, info.context.actor, str(event_id))
        return None if code is None else LockCodeShape.from_lock_code(code)

    @field("The actions of administrators in a month (2025-11, UTC). For administrators.")
    async def audit(
        self, info: RequestInfo, month: str, first: int = FIRST, after: str | None = None
    ) -> Page[AuditShape]:
        """Return the audit log entries of a month, newest first."""
        service, actor = info.context.service.records, info.context.actor
        return page(await run_blocking(service.audit, actor, month_of(month), first, after), AuditShape.from_entry)

    @field("The actions of administrators on one booking or event. For administrators.")
    async def audit_of(
        self, info: RequestInfo, subject: strawberry.ID, first: int = FIRST, after: str | None = None
    ) -> Page[AuditShape]:
        """Return the audit log entries about one booking or event, oldest first."""
        service, actor = info.context.service.records, info.context.actor
        return page(await run_blocking(service.audit_of, actor, str(subject), first, after), AuditShape.from_entry)
