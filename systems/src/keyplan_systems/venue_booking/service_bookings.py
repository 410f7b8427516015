"""Operations on bookings: request, decide, cancel, and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from keyplan.design.declaring.patterns import TransactionCall
from keyplan_systems.venue_booking import design, reads
from keyplan_systems.venue_booking.base import Base, ResultPage, is_id
from keyplan_systems.venue_booking.domain.bookings import (
    Action,
    Booking,
    BookingChanges,
    check_can_view,
    check_free,
    check_permission,
    decide,
    request_booking,
)
from keyplan_systems.venue_booking.domain.codes import new_code
from keyplan_systems.venue_booking.domain.records import AuditAction, AuditEntry
from keyplan_systems.venue_booking.domain.refusals import NotFoundError
from keyplan_systems.venue_booking.domain.requests import BookingRequest, Reason, checked_booking, parse
from keyplan_systems.venue_booking.domain.users import Actor, Status, require_admin
from keyplan_systems.venue_booking.entities import UserBookingItem
from keyplan_systems.venue_booking.items import (
    audit_item,
    booking_item,
    booking_of,
    event_item,
    held_slots,
    letter_item,
    slot_items,
    user_booking_item,
)
from keyplan_systems.venue_booking.service_users import Person, Users
from keyplan_systems.venue_booking.transactions import Step, run_step
from keyplan_systems.web.idempotency import Request

_AUDIT_ACTIONS: Final = {
    Action.APPROVE: AuditAction.APPROVE_BOOKING,
    Action.REJECT: AuditAction.REJECT_BOOKING,
    Action.CANCEL: AuditAction.CANCEL_BOOKING,
}


class _ReasonInput(BaseModel):
    """The text that explains a decision to the owner of the booking."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: Reason | None = None


@dataclass(frozen=True)
class Bookings:
    """Operations on bookings: request, decide, cancel and read. Instances are thread-safe."""

    base: Base
    users: Users

    def request(self, person: Person, values: Mapping[str, Any], idempotency: Request | None = None) -> Booking:
        """Create a pending booking. A pending booking is not a confirmation and reserves no slots.

        Raises SlotTakenError if an event holds one of the slots, InvalidRequestError if the request is invalid, and
        TooManyLettersError if a daily limit on emails (per user or per address) is reached.
        """
        return run_step(self.base, idempotency, Booking, partial(self._request_step, person, values))

    def _request_step(self, person: Person, values: Mapping[str, Any]) -> Step[Booking]:
        now = self.base.now()
        request = checked_booking(parse(BookingRequest, values), self.base.venue, now)
        reserved_slots = self.base.connection.all(reads.slots_on_date(request.date))
        check_free(request, self.base.venue, {item.slot for item in reserved_slots})
        user = self.users.get_or_create(person)
        changes = request_booking(
            request, booking_id=self.base.new_id(), user_id=user.user_id, code=new_code(), now=now
        )
        booking = changes.booking
        letters = [letter_item(notice, booking) for notice in changes.notices]
        call = design.write_request(
            booking=booking_item(booking, 0),
            copy=user_booking_item(booking, 0),
            user_id=user.user_id,
            letters=letters,
            **self.users.letter_counts(user.user_id, request.contact.email),
        )
        return Step(booking, call, is_done=lambda: self._is_stored(booking))

    def decide(
        self,
        actor: Actor,
        booking_id: str,
        action: Action,
        *,
        reason: str | None = None,
        known_version: int | None = None,
        idempotency: Request | None = None,
    ) -> Booking:
        """Approve, reject or cancel a booking, and return the changed booking.

        If `known_version` is given, the booking must still have this version. Raises a subclass of RefusalError if the
        action is not possible. SlotTakenError, AlreadyDecidedError and StaleVersionError mean that another change was
        made first.
        """
        reason_input = parse(_ReasonInput, {"reason": reason})
        return run_step(
            self.base,
            idempotency,
            Booking,
            partial(self._decision_step, actor, booking_id, action, reason_input, known_version),
        )

    def _decision_step(
        self, actor: Actor, booking_id: str, action: Action, reason_input: _ReasonInput, known_version: int | None
    ) -> Step[Booking]:
        booking = self._read(booking_id)
        now = self.base.now()
        check_permission(booking, action, actor)
        changes = decide(
            booking,
            action,
            actor,
            self.base.venue,
            now,
            event_id=self.base.new_id(),
            reason=reason_input.reason,
            known_version=known_version,
        )
        changed_booking = changes.booking
        call = self._call(changes, booking, action, actor)
        return Step(changed_booking, call, booking.status, lambda: self._is_stored(changed_booking))

    def _call(self, changes: BookingChanges, booking: Booking, action: Action, actor: Actor) -> TransactionCall[None]:
        changed_booking = changes.booking
        item, copy = booking_item(changed_booking, booking.version), user_booking_item(changed_booking, booking.version)
        letters = [letter_item(notice, changed_booking) for notice in changes.notices]
        entries = [audit_item(self._entry(changes, action, actor))] if changes.is_audited else []
        if changes.reserved_event is not None:
            event = changes.reserved_event
            return design.write_approval(
                booking=item,
                copy=copy,
                user_id=changed_booking.user_id,
                event=event_item(event),
                slots=slot_items(event),
                letters=letters,
                entries=entries,
            )
        counts = {status.value: changes.stats.get(status, 0) for status in Status}
        slots, event_ids = ([], []) if booking.event_id is None else (held_slots(booking), [booking.event_id])
        assert len(slots) == len(changes.freed_slots), "the rules free the slots that the booking holds"
        return design.write_refusal(
            booking=item,
            copy=copy,
            user_id=changed_booking.user_id,
            **counts,
            held_slots=slots,
            event_ids=event_ids,
            letters=letters,
            entries=entries,
        )

    def _entry(self, changes: BookingChanges, action: Action, actor: Actor) -> AuditEntry:
        booking = changes.booking
        details = {"user": booking.user_id, "date": booking.date.isoformat(), "duration": booking.duration}
        if booking.reason is not None:
            details["reason"] = booking.reason
        return AuditEntry(
            self.base.new_id(), actor.user_id, _AUDIT_ACTIONS[action], booking.booking_id, self.base.now(), details
        )

    def get(self, actor: Actor, booking_id: str) -> Booking:
        """Return a booking. Raises NotFoundError if it does not exist or the actor may not view it."""
        booking = self._read(booking_id)
        check_can_view(booking, actor)
        return booking

    def _is_stored(self, booking: Booking) -> bool:
        """Return True if the stored booking equals `booking`, including its times, the deciding user and the IDs.

        If they are equal, the write succeeded although its response was lost.
        """
        item = self.base.connection.run(reads.booking_by_id(booking.booking_id))
        return item is not None and booking_of(item) == booking

    def _read(self, booking_id: str) -> Booking:
        item = self.base.connection.run(reads.booking_by_id(booking_id)) if is_id(booking_id) else None
        if item is None:
            raise NotFoundError(f"Unknown booking {booking_id[:64]}.")
        return booking_of(item)

    def of_user(self, actor: Actor, limit: int, cursor: str | None) -> ResultPage[UserBookingItem]:
        """Return a page of the actor's own bookings, latest date first. The returned copies contain only some fields of
        the bookings.
        """
        return self.base.read_page(reads.bookings_of_user(actor.user_id), lambda item: item, limit, cursor)

    def get_many(self, booking_ids: Sequence[str]) -> list[Booking | None]:
        """Return the bookings with the given IDs, in the same order. The result contains None for each ID that does not
        exist.

        This method does not check permissions.
        """
        items = self.base.connection.run(reads.bookings_by_id(list(booking_ids)))
        return [None if item is None else booking_of(item) for item in items]

    def with_status(self, actor: Actor, status: Status, limit: int, cursor: str | None) -> ResultPage[Booking]:
        """Return a page of the bookings with a status, oldest request first. Raises NotAllowedError unless the actor is
        an administrator.
        """
        require_admin(actor)
        return self.base.read_page(reads.bookings_with_status(status), booking_of, limit, cursor)

    def in_month(
        self, actor: Actor, month: date, status: Status | None, limit: int, cursor: str | None
    ) -> ResultPage[Booking]:
        """Return a page of the bookings for dates in a month. If `status` is None, bookings with any status are
        returned, grouped by status.

        Raises NotAllowedError unless the actor is an administrator.
        """
        require_admin(actor)
        call = reads.all_bookings_in_month(month) if status is None else reads.bookings_in_month(month, status)
        return self.base.read_page(call, booking_of, limit, cursor)
