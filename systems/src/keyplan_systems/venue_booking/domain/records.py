"""Payments and lock codes, and the audit log.

This system does not call a payment provider and does not open locks. Other programs can read and write the payments and
lock codes.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from keyplan_systems.venue_booking.domain.events import Event
from keyplan_systems.venue_booking.domain.refusals import NotAllowedError
from keyplan_systems.venue_booking.domain.users import Actor, require_admin
from keyplan_systems.venue_booking.domain.venue import Venue

LOCK_CODE_DIGITS: Final = 6
LOCK_CODE_MARGIN: Final = timedelta(minutes=30)


class PaymentMethod(StrEnum):
    """The method of a payment: cash, bank transfer or card."""

    CASH = "cash"
    TRANSFER = "transfer"
    CARD = "card"


class PaymentRequest(BaseModel):
    """A payment as entered by an administrator. `amount_cents` is in hundredths of the currency unit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    booking_id: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    amount_cents: Annotated[int, Field(gt=0, le=100_000_000, strict=True)]
    currency: Annotated[str, StringConstraints(pattern="^[A-Z]{3}$")] = "EUR"
    method: PaymentMethod


@dataclass(frozen=True)
class Payment:
    """A payment for a booking. `received_at` is in UTC."""

    payment_id: str
    booking_id: str
    amount_cents: int
    currency: str
    method: PaymentMethod
    received_at: datetime
    recorded_by: str


def record_payment(request: PaymentRequest, actor: Actor, *, payment_id: str, now: datetime) -> Payment:
    """Return the payment for an administrator's request to record it. Raises NotAllowedError if the actor is not an
    administrator.
    """
    require_admin(actor)
    return Payment(
        payment_id=payment_id,
        booking_id=request.booking_id,
        amount_cents=request.amount_cents,
        currency=request.currency,
        method=request.method,
        received_at=now,
        recorded_by=actor.user_id,
    )


@dataclass(frozen=True)
class LockCode:
    """A code for the door lock during an event. `valid_from` and `valid_until` are in UTC."""

    event_id: str
    digits: str = field(repr=False)
    valid_from: datetime
    valid_until: datetime


def new_lock_code(event: Event, venue: Venue, below: Callable[[int], int] = secrets.randbelow) -> LockCode:
    """Return a new lock code for an event, valid from half an hour before the event until half an hour after it.

    `below` must be a cryptographically secure function that returns a random integer from 0 to its argument minus 1.
    """
    # The margins are added to UTC times and not to wall-clock times, which may repeat or not exist.
    start, end = (local.astimezone(UTC) for local in venue.span(event.date, event.slots))
    digits = f"{below(10**LOCK_CODE_DIGITS):0{LOCK_CODE_DIGITS}d}"
    return LockCode(event.event_id, digits, start - LOCK_CODE_MARGIN, end + LOCK_CODE_MARGIN)


def check_can_view_lock_code(event: Event, actor: Actor) -> None:
    """Raise NotAllowedError unless the actor is an administrator or the owner of the event's booking."""
    if not actor.is_admin and (event.booking_id is None or event.created_by != actor.user_id):
        raise NotAllowedError("You may not read this lock code.")


class AuditAction(StrEnum):
    """The actions of administrators that the audit log records."""

    APPROVE_BOOKING = "approve_booking"
    REJECT_BOOKING = "reject_booking"
    CANCEL_BOOKING = "cancel_booking"
    CREATE_EVENT = "create_event"
    DELETE_EVENT = "delete_event"
    RECORD_PAYMENT = "record_payment"
    ISSUE_LOCK_CODE = "issue_lock_code"
    RELEASE_EMAIL = "release_email"


@dataclass(frozen=True)
class AuditEntry:
    """An audit log entry: the administrator, the action, the affected item, the time in UTC, and additional details."""

    entry_id: str
    actor_id: str
    action: AuditAction
    subject: str
    at: datetime
    details: Mapping[str, str] = field(default_factory=dict)
