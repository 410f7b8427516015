"""GraphQL mutations and their input types. The domain rules validate the inputs."""

from __future__ import annotations

from datetime import date
from typing import Any

import strawberry

from keyplan_systems.venue_booking.api.context import RequestInfo, field, idempotent_request, run_blocking
from keyplan_systems.venue_booking.api.shapes import (
    BookingShape,
    EmailCodeShape,
    EventShape,
    UserShape,
)
from keyplan_systems.venue_booking.api.shapes_records import LockCodeShape, PaymentShape
from keyplan_systems.venue_booking.domain.bookings import Action
from keyplan_systems.venue_booking.domain.records import PaymentMethod
from keyplan_systems.venue_booking.domain.requests import EventKind, Language


@strawberry.input
class ContactInput:
    """The contact person for a booking."""

    full_name: str
    email: str
    phone: str


@strawberry.input
class BookingInput:
    """A booking request."""

    date: date
    duration: str
    description: str
    attendees: int
    contact: ContactInput
    consent: bool
    association: str | None = None
    language: Language = Language.ITALIAN

    def values(self) -> dict[str, Any]:
        """Return the fields of the input as a dict, which the domain rules validate."""
        return {**vars(self), "contact": vars(self.contact)}


@strawberry.input
class EventInput:
    """A public event or a closure that an administrator adds to the calendar."""

    date: date
    duration: str
    kind: EventKind
    title: str
    description: str = ""


@strawberry.input
class ProfileInput:
    """Changes to a profile. Omitted fields stay unchanged."""

    name: str | None = None
    email: str | None = None
    phone: str | None = None
    language: Language | None = None


@strawberry.input
class PaymentInput:
    """A received payment. The amount is in hundredths of the currency unit."""

    booking_id: strawberry.ID
    amount_cents: int
    method: PaymentMethod
    currency: str = "EUR"


@strawberry.type
class Mutation:
    """The mutations of the API.

    A mutation with a version succeeds only if the item still has this version. A mutation with an idempotency key is
    executed at most once in 24 hours, and repeated requests return the result of the first request.
    """

    @field("Request the venue. A request is not a confirmation and does not reserve slots.")
    async def request_booking(
        self, info: RequestInfo, input: BookingInput, idempotency_key: str | None = None
    ) -> BookingShape:
        """Create a pending booking for the caller."""
        context, values = info.context, input.values()
        request = idempotent_request(info, idempotency_key, values)
        return BookingShape.from_booking(
            await run_blocking(context.service.bookings.request, context.person, values, request)
        )

    @field("Approve a pending request and reserve its slots. For administrators.")
    async def approve_booking(
        self,
        info: RequestInfo,
        id: strawberry.ID,
        version: int | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> BookingShape:
        """Approve a pending booking and reserve its slots. Only administrators may approve bookings."""
        return await _decide(info, str(id), Action.APPROVE, version, reason, key=idempotency_key)

    @field("Reject a booking, even if it is approved. For administrators.")
    async def reject_booking(
        self,
        info: RequestInfo,
        id: strawberry.ID,
        version: int | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> BookingShape:
        """Reject a pending or approved booking. If it was approved, its slots are freed. Only administrators may reject
        bookings.
        """
        return await _decide(info, str(id), Action.REJECT, version, reason, key=idempotency_key)

    @field("Cancel one of the caller's bookings. Administrators can cancel any booking.")
    async def cancel_booking(
        self,
        info: RequestInfo,
        id: strawberry.ID,
        version: int | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> BookingShape:
        """Cancel one of the caller's bookings. If it was approved, its slots are freed. Administrators may cancel any
        booking.
        """
        return await _decide(info, str(id), Action.CANCEL, version, reason, key=idempotency_key)

    @field("Add a public event or a closure. For administrators.")
    async def create_event(
        self, info: RequestInfo, input: EventInput, idempotency_key: str | None = None
    ) -> EventShape:
        """Create a public event or a closure, and reserve its slots. Only administrators may create events."""
        context = info.context
        request = idempotent_request(info, idempotency_key, vars(input))
        event = await run_blocking(context.service.calendar.create, context.actor, vars(input), request)
        return EventShape.from_event(event, context.actor)

    @field("Remove an event that an administrator added. For administrators.")
    async def delete_event(
        self, info: RequestInfo, id: strawberry.ID, version: int | None = None, idempotency_key: str | None = None
    ) -> EventShape:
        """Delete an administrator's event, and free its slots. Only administrators may delete events."""
        context = info.context
        request = idempotent_request(info, idempotency_key, str(id), version)
        event = await run_blocking(context.service.calendar.delete, context.actor, str(id), version, request)
        return EventShape.from_event(event, context.actor)

    @field("Send a code to an email address. It becomes the caller's address when the caller confirms the code.")
    async def request_email_code(
        self, info: RequestInfo, email: str, idempotency_key: str | None = None
    ) -> EmailCodeShape:
        """Send a verification code to an email address that the caller claims."""
        context = info.context
        request = idempotent_request(info, idempotency_key, email)
        return EmailCodeShape.from_item(
            await run_blocking(context.service.users.request_code, context.person, email, request)
        )

    @field("Confirm a code from an email. Its address becomes the caller's, and a missing profile is created.")
    async def verify_email(
        self, info: RequestInfo, id: strawberry.ID, code: str, idempotency_key: str | None = None
    ) -> UserShape:
        """Verify an email address with the code that was sent to it."""
        context = info.context
        request = idempotent_request(info, idempotency_key, str(id), code)
        return UserShape.from_user(
            await run_blocking(context.service.users.verify, context.person, str(id), code, request)
        )

    @field("Release a user's email address, so that its owner can verify it. For administrators.")
    async def release_email(
        self, info: RequestInfo, user_id: strawberry.ID, idempotency_key: str | None = None
    ) -> UserShape:
        """Remove the email address from a user's profile, so that the owner of the address can verify it."""
        context = info.context
        request = idempotent_request(info, idempotency_key, str(user_id))
        return UserShape.from_user(
            await run_blocking(context.service.users.release_address, context.actor, str(user_id), request)
        )

    @field("Change the caller's profile. If the caller's token does not verify a new address, a code is sent to it.")
    async def change_profile(
        self, info: RequestInfo, input: ProfileInput, version: int | None = None, idempotency_key: str | None = None
    ) -> UserShape:
        """Change the caller's profile. If the token does not verify a new email address, a code is sent to
        the address.
        """
        context = info.context
        changes = {name: value for name, value in vars(input).items() if value is not None}
        request = idempotent_request(info, idempotency_key, changes, version)
        return UserShape.from_user(
            await run_blocking(context.service.users.change, context.person, changes, version, request)
        )

    @field("Record a payment. For administrators.")
    async def record_payment(
        self, info: RequestInfo, input: PaymentInput, idempotency_key: str | None = None
    ) -> PaymentShape:
        """Store a payment that was received for a booking. Only administrators may record payments."""
        context = info.context
        request = idempotent_request(info, idempotency_key, vars(input))
        return PaymentShape.from_payment(
            await run_blocking(context.service.records.add_payment, context.actor, vars(input), request)
        )

    @field("Issue a new lock code for an event. For administrators.")
    async def issue_lock_code(
        self, info: RequestInfo, event_id: strawberry.ID, idempotency_key: str | None = None
    ) -> LockCodeShape:
        """Issue a new code for the door lock during an event, replacing any earlier code. Only administrators may issue
        codes.
        """
        context = info.context
        request = idempotent_request(info, idempotency_key, str(event_id))
        issue = context.service.records.issue_lock_code
        return LockCodeShape.from_lock_code(await run_blocking(issue, context.actor, str(event_id), request))


async def _decide(
    info: RequestInfo, booking_id: str, action: Action, version: int | None, reason: str | None, *, key: str | None
) -> BookingShape:
    context = info.context
    request = idempotent_request(info, key, booking_id, version, reason)
    decide = context.service.bookings.decide
    booking = await run_blocking(
        decide, context.actor, booking_id, action, reason=reason, known_version=version, idempotency=request
    )
    return BookingShape.from_booking(booking)
