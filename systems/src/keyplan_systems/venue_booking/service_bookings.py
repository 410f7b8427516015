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
from keyplan_systems.venue_booking.base import Base, Listed, is_id
from keyplan_systems.venue_booking.domain.bookings import (
    Action,
    Booking,
    Written,
    check_free,
    check_may,
    check_may_see,
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
from keyplan_systems.venue_booking.transactions import Step, act
from keyplan_systems.web.idempotency import Request

_AUDITED: Final = {
    Action.APPROVE: AuditAction.APPROVE_BOOKING,
    Action.REJECT: AuditAction.REJECT_BOOKING,
    Action.CANCEL: AuditAction.CANCEL_BOOKING,
}


class _Note(BaseModel):
    """The text that explains a decision to the owner of the booking."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: Reason | None = None


@dataclass(frozen=True)
class Bookings:
    """Operations on bookings."""

    base: Base
    users: Users

    def request(self, person: Person, values: Mapping[str, Any], idempotency: Request | None = None) -> Booking:
        """Create a pending booking for a request. A pending booking is not a confirmation and reserves no slots.

        Raises SlotTakenError if an event holds one of the slots, TooManyLettersError if the daily limit on emails that
        the user triggers or on emails to the address is reached, and InvalidRequestError if the request is invalid.
        """
        return act(self.base, idempotency, Booking, partial(self._requested, person, values))

    def _requested(self, person: Person, values: Mapping[str, Any]) -> Step[Booking]:
        now = self.base.now()
        request = checked_booking(parse(BookingRequest, values), self.base.venue, now)
        slots_held = self.base.connection.all(reads.slots_on_date(request.date))
        check_free(request, self.base.venue, {item.slot for item in slots_held})
        user = self.users.current(person)
        written = request_booking(
            request, booking_id=self.base.new_id(), user_id=user.user_id, code=new_code(), now=now
        )
        booking = written.booking
        letters = [letter_item(notice, booking) for notice in written.notices]
        call = design.write_request(
            booking=booking_item(booking, 0),
            copy=user_booking_item(booking, 0),
            user_id=user.user_id,
            letters=letters,
            **self.users.counts(user.user_id, request.contact.email),
        )
        return Step(booking, call, is_done=lambda: self._is_stored(booking))

    def decide(
        self,
        actor: Actor,
        booking_id: str,
        action: Action,
        *,
        reason: str | None = None,
        known: int | None = None,
        idempotency: Request | None = None,
    ) -> Booking:
        """Approve, reject or cancel a booking, and return the changed booking.

        If `known` is given, the booking must still have this version. Raises a subclass of RefusalError if the action
        is not possible. SlotTakenError, AlreadyDecidedError and StaleVersionError mean that another change was made
        first.
        """
        note = parse(_Note, {"reason": reason})
        return act(self.base, idempotency, Booking, partial(self._decided, actor, booking_id, action, note, known))

    def _decided(self, actor: Actor, booking_id: str, action: Action, note: _Note, known: int | None) -> Step[Booking]:
        booking = self._read(booking_id)
        now = self.base.now()
        check_may(booking, action, actor)
        written = decide(
            booking,
            action,
            actor,
            self.base.venue,
            now,
            event_id=self.base.new_id(),
            reason=note.reason,
            known_version=known,
        )
        after = written.booking
        call = self._call(written, booking, action, actor)
        return Step(after, call, booking.status, lambda: self._is_stored(after))

    def _call(self, written: Written, before: Booking, action: Action, actor: Actor) -> TransactionCall[None]:
        after = written.booking
        item, copy = booking_item(after, before.version), user_booking_item(after, before.version)
        letters = [letter_item(notice, after) for notice in written.notices]
        entries = [audit_item(self._entry(written, action, actor))] if written.audited else []
        if written.takes is not None:
            event = written.takes
            return design.write_approval(
                booking=item,
                copy=copy,
                user_id=after.user_id,
                event=event_item(event),
                slots=slot_items(event),
                letters=letters,
                entries=entries,
            )
        counts = {status.value: written.stats.get(status, 0) for status in Status}
        slots, event_ids = ([], []) if before.event_id is None else (held_slots(before), [before.event_id])
        assert len(slots) == len(written.frees), "the rules free what the booking holds"
        return design.write_refusal(
            booking=item,
            copy=copy,
            user_id=after.user_id,
            **counts,
            held=slots,
            event_ids=event_ids,
            letters=letters,
            entries=entries,
        )

    def _entry(self, written: Written, action: Action, actor: Actor) -> AuditEntry:
        after = written.booking
        details = {"user": after.user_id, "date": after.date.isoformat(), "duration": after.duration}
        if after.reason is not None:
            details["reason"] = after.reason
        return AuditEntry(
            self.base.new_id(), actor.user_id, _AUDITED[action], after.booking_id, self.base.now(), details
        )

    def one(self, actor: Actor, booking_id: str) -> Booking:
        """Return a booking. Raises NotFoundError if it does not exist or the actor may not view it."""
        booking = self._read(booking_id)
        check_may_see(booking, actor)
        return booking

    def _is_stored(self, booking: Booking) -> bool:
        """Return True if the stored booking equals `booking`, including its times, the deciding user and the IDs.

        This means that the write succeeded although its response was lost.
        """
        item = self.base.connection.run(reads.booking_by_id(booking.booking_id))
        return item is not None and booking_of(item) == booking

    def _read(self, booking_id: str) -> Booking:
        item = self.base.connection.run(reads.booking_by_id(booking_id)) if is_id(booking_id) else None
        if item is None:
            raise NotFoundError(f"Unknown booking {booking_id[:64]}.")
        return booking_of(item)

    def of_user(self, actor: Actor, limit: int, cursor: str | None) -> Listed[UserBookingItem]:
        """Return a page of the actor's own bookings, latest date first. The returned copies contain only some fields of
        the bookings.
        """
        return self.base.listed(reads.bookings_of_user(actor.user_id), lambda item: item, limit, cursor)

    def several(self, booking_ids: Sequence[str]) -> list[Booking | None]:
        """Return the bookings with the given IDs, in the same order. The result contains None for each ID that does not
        exist.

        The caller must have checked permissions.
        """
        items = self.base.connection.run(reads.bookings_by_id(list(booking_ids)))
        return [None if item is None else booking_of(item) for item in items]

    def with_status(self, actor: Actor, status: Status, limit: int, cursor: str | None) -> Listed[Booking]:
        """Return a page of the bookings with a status, oldest request first. Raises NotAllowedError unless the actor is
        an administrator.
        """
        require_admin(actor)
        return self.base.listed(reads.bookings_with_status(status), booking_of, limit, cursor)

    def in_month(
        self, actor: Actor, month: date, status: Status | None, limit: int, cursor: str | None
    ) -> Listed[Booking]:
        """Return a page of the bookings for dates in a month. If `status` is None, bookings with any status are
        returned, grouped by status.

        Raises NotAllowedError unless the actor is an administrator.
        """
        require_admin(actor)
        call = reads.all_bookings_in_month(month) if status is None else reads.bookings_in_month(month, status)
        return self.base.listed(call, booking_of, limit, cursor)
