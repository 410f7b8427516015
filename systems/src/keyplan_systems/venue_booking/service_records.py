"""Operations on payments, lock codes, emails about a booking, and the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from keyplan_systems.venue_booking import design, reads
from keyplan_systems.venue_booking.base import Base, ResultPage, is_id
from keyplan_systems.venue_booking.domain.bookings import Booking, check_can_view
from keyplan_systems.venue_booking.domain.notices import Audience, Notice, NoticeKind
from keyplan_systems.venue_booking.domain.records import (
    AuditAction,
    AuditEntry,
    LockCode,
    Payment,
    PaymentRequest,
    check_can_view_lock_code,
    new_lock_code,
    record_payment,
)
from keyplan_systems.venue_booking.domain.refusals import InvalidRequestError, NotFoundError
from keyplan_systems.venue_booking.domain.requests import parse
from keyplan_systems.venue_booking.domain.users import Actor, require_admin
from keyplan_systems.venue_booking.entities import OutboxItem
from keyplan_systems.venue_booking.items import (
    audit_item,
    audit_of,
    event_of,
    lock_code_item,
    lock_code_of,
    payment_item,
    payment_of,
)
from keyplan_systems.venue_booking.service_bookings import Bookings
from keyplan_systems.venue_booking.service_calendar import Calendar
from keyplan_systems.venue_booking.transactions import Step, run_step
from keyplan_systems.web.idempotency import Request


@dataclass(frozen=True)
class Records:
    """Operations on payments, lock codes, emails about a booking, and the audit log."""

    base: Base
    bookings: Bookings
    calendar: Calendar

    def add_payment(self, actor: Actor, values: Mapping[str, Any], idempotency: Request | None = None) -> Payment:
        """Store a payment that was received. Raises NotAllowedError unless the actor is an administrator."""
        require_admin(actor)
        request = parse(PaymentRequest, values)
        if not is_id(request.booking_id):
            raise NotFoundError(f"Unknown booking {request.booking_id}.")

        def step() -> Step[Payment]:
            payment = record_payment(request, actor, payment_id=self.base.new_id(), now=self.base.now())
            amount = {"amount_cents": str(payment.amount_cents), "currency": payment.currency}
            entry = self._entry(actor, AuditAction.RECORD_PAYMENT, payment.booking_id, amount)
            call = design.write_payment(payment.booking_id, payment_item(payment), audit_item(entry))
            return Step(payment, call)

        return run_step(self.base, idempotency, Payment, step)

    def payments(self, actor: Actor, booking_id: str, limit: int, cursor: str | None) -> ResultPage[Payment]:
        """Return a page of the payments for a booking, oldest first. Raises NotFoundError unless the actor owns the
        booking or is an administrator.
        """
        self.bookings.get(actor, booking_id)
        return self.base.read_page(reads.payments_of_booking(booking_id), payment_of, limit, cursor)

    def issue_lock_code(self, actor: Actor, event_id: str, idempotency: Request | None = None) -> LockCode:
        """Issue a new lock code for an event, replacing any earlier code. Raises NotAllowedError unless the actor is an
        administrator.
        """
        require_admin(actor)

        def step() -> Step[LockCode]:
            item = self.calendar.get_item(event_id)
            code = new_lock_code(event_of(item), self.base.venue)
            details = {"date": item.date.isoformat()}
            entry = audit_item(self._entry(actor, AuditAction.ISSUE_LOCK_CODE, event_id, details))
            return Step(code, design.write_lock_code(event_id, lock_code_item(code), entry))

        return run_step(self.base, idempotency, LockCode, step)

    def lock_code(self, actor: Actor, event_id: str) -> LockCode | None:
        """Return the lock code for an event, or None if no code was issued.

        Raises NotAllowedError unless the actor is an administrator or the owner of the event's booking.
        """
        item = self.calendar.get_item(event_id)
        check_can_view_lock_code(event_of(item), actor)
        code = self.base.connection.run(reads.lock_code_of_event(event_id))
        return None if code is None else lock_code_of(code)

    def audit(self, actor: Actor, month: date, limit: int, cursor: str | None) -> ResultPage[AuditEntry]:
        """Return a page of the audit log entries of a UTC month, newest first. Raises NotAllowedError unless the actor
        is an administrator.
        """
        require_admin(actor)
        at = datetime.combine(month.replace(day=1), time(), ZoneInfo("UTC"))
        return self.base.read_page(reads.audit_in_month(at), audit_of, limit, cursor)

    def audit_of(self, actor: Actor, subject: str, limit: int, cursor: str | None) -> ResultPage[AuditEntry]:
        """Return a page of the audit log entries about one booking or event, oldest first. `subject` is the ID of the
        booking or event.

        Raises NotAllowedError unless the actor is an administrator.
        """
        require_admin(actor)
        if not is_id(subject):
            raise InvalidRequestError("This is not the ID of a booking or an event.", {"field": "subject"})
        return self.base.read_page(reads.audit_of_subject(subject), audit_of, limit, cursor)

    def letters(self, actor: Actor, booking: Booking) -> list[OutboxItem]:
        """Return the unsent emails about a booking and those sent in the last 30 days, oldest first.

        If the actor is an administrator, all of these emails are returned. If the actor is the owner of the booking,
        only the emails to the owner are returned. Raises NotFoundError for other users.
        """
        check_can_view(booking, actor)
        kinds = [kind for kind in NoticeKind if actor.is_admin or kind.audience is Audience.CUSTOMER]
        keys = [
            Notice(kind, booking.booking_id, version, booking.requested_at).key
            for version in range(1, booking.version + 1)
            for kind in kinds
        ]
        letters = self.base.connection.run(reads.letters_by_key(keys))
        return [letter for letter in letters if letter is not None]

    def _entry(self, actor: Actor, action: AuditAction, subject: str, details: Mapping[str, str]) -> AuditEntry:
        return AuditEntry(self.base.new_id(), actor.user_id, action, subject, self.base.now(), details)
