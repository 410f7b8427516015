"""What can be done. Inputs are only named and typed here; whether they hold is the rules' to say."""

from __future__ import annotations

from datetime import date
from typing import Any

import strawberry

from keyplan_systems.venue_booking.api.context import Asked, field, use
from keyplan_systems.venue_booking.api.shapes import (
    BookingShape,
    EventShape,
    UserShape,
)
from keyplan_systems.venue_booking.api.shapes_records import LockCodeShape, PaymentShape
from keyplan_systems.venue_booking.domain.bookings import Action
from keyplan_systems.venue_booking.domain.records import PaymentMethod
from keyplan_systems.venue_booking.domain.requests import EventKind, Language


@strawberry.input
class ContactInput:
    """Whom to answer."""

    full_name: str
    email: str
    phone: str


@strawberry.input
class BookingInput:
    """A wish for the venue."""

    date: date
    duration: str
    description: str
    attendees: int
    contact: ContactInput
    consent: bool
    association: str | None = None
    language: Language = Language.ITALIAN

    def values(self) -> dict[str, Any]:
        """For the rules."""
        return {**vars(self), "contact": vars(self.contact)}


@strawberry.input
class EventInput:
    """An entry of an administrator."""

    date: date
    duration: str
    kind: EventKind
    title: str
    description: str = ""


@strawberry.input
class ProfileInput:
    """What is to change; what is not given stays."""

    name: str | None = None
    email: str | None = None
    phone: str | None = None
    language: Language | None = None


@strawberry.input
class PaymentInput:
    """Money that came in; the amount is in hundredths of the currency."""

    booking_id: strawberry.ID
    amount_cents: int
    method: PaymentMethod
    currency: str = "EUR"


@strawberry.type
class Mutation:
    """What can be done. With a version, only to what still has it."""

    @field("Ask for the venue. This is no confirmation, and holds nothing.")
    async def request_booking(self, info: Asked, input: BookingInput) -> BookingShape:
        """Ask."""
        return BookingShape.of(await use(info.context.service.bookings.request, info.context.person, input.values()))

    @field("Approve a waiting request and take its slots. For administrators.")
    async def approve_booking(
        self, info: Asked, id: strawberry.ID, version: int | None = None, reason: str | None = None
    ) -> BookingShape:
        """Approve."""
        return await _decide(info, str(id), Action.APPROVE, version, reason)

    @field("Reject a booking, also an approved one. For administrators.")
    async def reject_booking(
        self, info: Asked, id: strawberry.ID, version: int | None = None, reason: str | None = None
    ) -> BookingShape:
        """Reject."""
        return await _decide(info, str(id), Action.REJECT, version, reason)

    @field("Cancel a booking of the caller, or any for administrators.")
    async def cancel_booking(
        self, info: Asked, id: strawberry.ID, version: int | None = None, reason: str | None = None
    ) -> BookingShape:
        """Cancel."""
        return await _decide(info, str(id), Action.CANCEL, version, reason)

    @field("Enter a public event or a closure. For administrators.")
    async def create_event(self, info: Asked, input: EventInput) -> EventShape:
        """Enter."""
        context = info.context
        return EventShape.of(await use(context.service.calendar.create, context.actor, vars(input)), context.actor)

    @field("Remove an event that an administrator entered. For administrators.")
    async def delete_event(self, info: Asked, id: strawberry.ID, version: int | None = None) -> EventShape:
        """Remove."""
        context = info.context
        event = await use(context.service.calendar.delete, context.actor, str(id), version)
        return EventShape.of(event, context.actor)

    @field("Change the caller's profile.")
    async def change_profile(self, info: Asked, input: ProfileInput, version: int | None = None) -> UserShape:
        """Change."""
        context = info.context
        given = {name: value for name, value in vars(input).items() if value is not None}
        return UserShape.of(await use(context.service.users.change, context.person, given, version))

    @field("Record money that came in. For administrators.")
    async def record_payment(self, info: Asked, input: PaymentInput) -> PaymentShape:
        """Record."""
        context = info.context
        return PaymentShape.of(await use(context.service.records.add_payment, context.actor, vars(input)))

    @field("Issue a new lock code for an event. For administrators.")
    async def issue_lock_code(self, info: Asked, event_id: strawberry.ID) -> LockCodeShape:
        """Issue."""
        context = info.context
        return LockCodeShape.of(await use(context.service.records.issue_lock_code, context.actor, str(event_id)))


async def _decide(
    info: Asked, booking_id: str, action: Action, version: int | None, reason: str | None
) -> BookingShape:
    context = info.context
    decide = context.service.bookings.decide
    return BookingShape.of(await use(decide, context.actor, booking_id, action, reason=reason, known=version))
