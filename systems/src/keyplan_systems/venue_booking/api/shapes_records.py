"""GraphQL types for payments, lock codes, audit log entries and emails."""

from __future__ import annotations

from datetime import datetime

import strawberry

from keyplan_systems.venue_booking.domain.notices import NoticeKind
from keyplan_systems.venue_booking.domain.records import AuditAction, AuditEntry, LockCode, Payment, PaymentMethod
from keyplan_systems.venue_booking.entities import NotificationItem


@strawberry.type(name="Payment")
class PaymentShape:
    """A received payment. The amount is in hundredths of the currency unit."""

    id: strawberry.ID
    booking_id: strawberry.ID
    amount_cents: int
    currency: str
    method: PaymentMethod
    received_at: datetime
    recorded_by: str

    @classmethod
    def from_payment(cls, payment: Payment) -> PaymentShape:
        """Convert a payment to a GraphQL object."""
        return cls(
            id=strawberry.ID(payment.payment_id),
            booking_id=strawberry.ID(payment.booking_id),
            amount_cents=payment.amount_cents,
            currency=payment.currency,
            method=payment.method,
            received_at=payment.received_at,
            recorded_by=payment.recorded_by,
        )


@strawberry.type(name="LockCode")
class LockCodeShape:
    """A code for the door lock during an event."""

    event_id: strawberry.ID
    digits: str
    valid_from: datetime
    valid_until: datetime

    @classmethod
    def from_lock_code(cls, code: LockCode) -> LockCodeShape:
        """Convert a lock code to a GraphQL object."""
        return cls(
            event_id=strawberry.ID(code.event_id),
            digits=code.digits,
            valid_from=code.valid_from,
            valid_until=code.valid_until,
        )


@strawberry.type
class Detail:
    """An additional detail of an audit log entry, as a name and a value."""

    name: str
    value: str


@strawberry.type(name="AuditEntry")
class AuditShape:
    """An administrator's action, as recorded in the audit log."""

    id: strawberry.ID
    actor_id: str
    action: AuditAction
    subject: str
    at: datetime
    details: list[Detail]

    @classmethod
    def from_entry(cls, entry: AuditEntry) -> AuditShape:
        """Convert an audit log entry to a GraphQL object."""
        return cls(
            id=strawberry.ID(entry.entry_id),
            actor_id=entry.actor_id,
            action=entry.action,
            subject=entry.subject,
            at=entry.at,
            details=[Detail(name=name, value=value) for name, value in sorted(entry.details.items())],
        )


@strawberry.type(name="Notification")
class NotificationShape:
    """An email that was sent to a user."""

    kind: NoticeKind
    booking_id: strawberry.ID
    sent_at: datetime

    @classmethod
    def from_item(cls, item: NotificationItem) -> NotificationShape:
        """Convert a sent email in the user's history to a GraphQL object."""
        return cls(kind=item.kind, booking_id=strawberry.ID(item.booking_id), sent_at=item.sent_at)
