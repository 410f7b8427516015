"""Pages for administrators: inbox, decisions, payments, lock codes, events and closures, users, and the audit log."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from datetime import date
from functools import partial
from typing import Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from keyplan.pages import redirect
from keyplan_systems.venue_booking.base import MAX_PAGE_SIZE
from keyplan_systems.venue_booking.domain.bookings import Action, Booking
from keyplan_systems.venue_booking.domain.records import AuditEntry
from keyplan_systems.venue_booking.domain.refusals import RefusalError
from keyplan_systems.venue_booking.domain.requests import EventKind
from keyplan_systems.venue_booking.domain.users import Actor, Status, require_admin
from keyplan_systems.venue_booking.domain.venue import Venue
from keyplan_systems.venue_booking.items import event_of
from keyplan_systems.venue_booking.pages.bookings import path_of, refusal_page, show_booking, version_of
from keyplan_systems.venue_booking.pages.site import (
    PER_PAGE,
    VenueSite,
    actor_of,
    form_key,
    idempotent_request,
    month_of,
    url,
)
from keyplan_systems.venue_booking.pages.wording import Phrases
from keyplan_systems.web.browsing import Form, Person, checked_form

_DECISIONS = {"approve": (Action.APPROVE, "decision.approved"), "reject": (Action.REJECT, "decision.rejected")}
_AMOUNT = re.compile(r"(\d{1,7})(?:[.,](\d{1,2}))?")


def add_administration(router: APIRouter, site: VenueSite) -> None:
    """Add the pages for administrators to the router."""
    _add_inbox(router, site)
    _add_records(router, site)
    _add_events(router, site)
    _add_lists(router, site)


def _add_inbox(router: APIRouter, site: VenueSite) -> None:
    @router.get("/inbox")
    def inbox(request: Request, person: Person) -> Response:
        actor = actor_of(person)
        query = request.query_params
        status = Status(query["status"]) if query.get("status") in list(Status) else Status.PENDING
        month, cursor = month_of(query.get("month")), query.get("after")
        bookings = site.service.bookings
        results = (
            bookings.with_status(actor, status, PER_PAGE, cursor)
            if month is None
            else bookings.in_month(actor, month, status, PER_PAGE, cursor)
        )
        context = {
            "status": status,
            "statuses": list(Status),
            "month": month,
            "entries": _entries(site, actor, results.entries),
            "cursor": results.cursor,
        }
        return site.render(request, "inbox.html.j2", **context)

    @router.post("/bookings/{booking_id}/decide")
    def decide(request: Request, person: Person, booking_id: str, form: Form) -> Response:
        actor, t = actor_of(person), site.phrases(request)
        reason = form.get("reason", "")
        if form.get("action") not in _DECISIONS:
            require_admin(actor)
            return show_booking(site, request, actor, booking_id, values=form)
        action, flash = _DECISIONS[form["action"]]
        try:
            booking = site.service.bookings.decide(
                actor, booking_id, action, reason=reason, known_version=version_of(form)
            )
        except RefusalError as error:
            return refusal_page(site, request, actor, booking_id, error, form=form, field="reason")
        return redirect(url(request, path_of(actor, booking_id)), t(flash, name=booking.contact.full_name))


def _entries(site: VenueSite, actor: Actor, bookings: Sequence[Booking]) -> list[dict[str, Any]]:
    """Return the bookings for a page, each with a flag that shows whether it has a conflict.

    The slots of each month are read only once.
    """
    months = sorted({booking.date.replace(day=1) for booking in bookings if booking.status is Status.PENDING})
    service = site.service
    reserved_slots = {
        (event.date, slot) for month in months for event in service.calendar.events_in([month]) for slot in event.slots
    }
    pending = [
        booking
        for month in months
        for booking in service.bookings.in_month(actor, month, Status.PENDING, MAX_PAGE_SIZE, None).entries
    ]
    return [_entry(site.venue, booking, reserved_slots, pending) for booking in bookings]


def _entry(
    venue: Venue, booking: Booking, reserved_slots: Set[tuple[date, str]], pending: Sequence[Booking]
) -> dict[str, Any]:
    slots = venue.durations.get(booking.duration, ())
    is_pending = booking.status is Status.PENDING
    rivals = [
        candidate
        for candidate in pending
        if candidate.booking_id != booking.booking_id
        and candidate.date == booking.date
        and set(slots) & set(venue.durations.get(candidate.duration, ()))
    ]
    return {
        "booking": booking,
        "slots": slots,
        "taken": [slot for slot in slots if is_pending and (booking.date, slot) in reserved_slots],
        "is_offered": booking.duration in venue.durations or not is_pending,
        "rivals": len(rivals) if is_pending else 0,
    }


def _add_records(router: APIRouter, site: VenueSite) -> None:
    @router.post("/bookings/{booking_id}/payments")
    def pay(request: Request, person: Person, booking_id: str, form: Form) -> Response:
        actor, t = actor_of(person), site.phrases(request)
        values = {
            "booking_id": booking_id,
            "amount_cents": cents_of(form.get("amount", "")),
            "method": form.get("method", ""),
        }
        try:
            payment = site.service.records.add_payment(
                actor, values, idempotent_request(person, form, "payment", values)
            )
        except RefusalError as error:
            return refusal_page(site, request, actor, booking_id, error, form=form, field="reason")
        amount = t.amount(payment.amount_cents, payment.currency)
        return redirect(url(request, f"inbox/{booking_id}#payments"), t("payment.recorded", amount=amount))

    @router.post("/events/{event_id}/lock-code", dependencies=[Depends(checked_form)])
    def issue(request: Request, person: Person, event_id: str) -> Response:
        site.service.records.issue_lock_code(actor_of(person), event_id)
        booking_id = site.service.calendar.get_item(event_id).booking_id
        path = f"events/{event_id}" if booking_id is None else f"inbox/{booking_id}"
        return redirect(url(request, path), site.phrases(request)("lock.issued"))


def _add_events(router: APIRouter, site: VenueSite) -> None:
    @router.get("/events")
    def events(request: Request, person: Person) -> Response:
        actor = actor_of(person)
        values = {"date": request.query_params.get("date", ""), "kind": EventKind.PUBLIC_EVENT.value}
        return _show_events(site, request, actor, values)

    @router.post("/events")
    def add(request: Request, person: Person, form: Form) -> Response:
        actor, t = actor_of(person), site.phrases(request)
        values = {name: form.get(name, "") for name in ("date", "duration", "kind", "title", "description")}
        try:
            event = site.service.calendar.create(actor, values, idempotent_request(person, form, "event", values))
        except RefusalError as error:
            errors = t.field_errors(error)
            message = "" if errors else t.refusal(error)
            return _show_events(site, request, actor, form, errors=errors, message=message, status=422)
        return redirect(url(request, "events"), t("events.added", title=event.title))

    @router.get("/events/{event_id}")
    def event(request: Request, person: Person, event_id: str) -> Response:
        actor = actor_of(person)
        require_admin(actor)
        shown_event = event_of(site.service.calendar.get_item(event_id))
        code = site.service.records.lock_code(actor, event_id)
        return site.render(request, "event.html.j2", event=shown_event, lock_code=code)

    @router.post("/events/{event_id}/remove")
    def remove(request: Request, person: Person, event_id: str, form: Form) -> Response:
        removed_event = site.service.calendar.delete(actor_of(person), event_id, version_of(form))
        return redirect(url(request, "events"), site.phrases(request)("events.removed", title=removed_event.title))


def _show_events(
    site: VenueSite,
    request: Request,
    actor: Actor,
    values: Mapping[str, str],
    *,
    errors: Mapping[str, str] | None = None,
    message: str = "",
    status: int = 200,
) -> Response:
    require_admin(actor)
    t = site.phrases(request)
    today = site.today()
    upcoming = [event for event in site.service.calendar.upcoming_events() if event.is_public and event.date >= today]
    durations = [
        (name, f"{t.duration(name)} ({t.hours(today, site.venue.slots_of(name))})") for name in site.venue.durations
    ]
    context = {"events": upcoming, "durations": durations, "values": values, "errors": errors or {}}
    return site.render(request, "events.html.j2", status, **context, message=message, key=form_key())


def _add_lists(router: APIRouter, site: VenueSite) -> None:
    @router.get("/people")
    def people(request: Request, person: Person) -> Response:
        actor, users = actor_of(person), site.service.users
        query = request.query_params
        search, errors, cursor = query.get("email", "").strip(), dict[str, str](), None
        entries: Sequence[Any] = ()
        if search:
            try:
                user = users.find_by_email(actor, search)
                entries = () if user is None else (user,)
            except RefusalError as error:
                errors = site.phrases(request).field_errors(error)
                if not errors:
                    raise
        else:
            results = users.list_all(actor, PER_PAGE, query.get("after"))
            entries, cursor = results.entries, results.cursor
        context = {"people": entries, "search": search, "errors": errors, "cursor": cursor}
        return site.render(request, "people.html.j2", **context)

    @router.post("/people/{user_id}/release", dependencies=[Depends(checked_form)])
    def release(request: Request, person: Person, user_id: str) -> Response:
        site.service.users.release_address(actor_of(person), user_id)
        return redirect(url(request, "people"), site.phrases(request)("people.released"))

    @router.get("/log")
    def log(request: Request, person: Person) -> Response:
        month = month_of(request.query_params.get("month")) or site.now().date().replace(day=1)
        results = site.service.records.audit(actor_of(person), month, PER_PAGE, request.query_params.get("after"))
        context = {
            "entries": results.entries,
            "cursor": results.cursor,
            "details": partial(_details, site.phrases(request)),
        }
        return site.render(request, "log.html.j2", month=month, **context)


def _details(t: Phrases, entry: AuditEntry) -> str:
    details = dict(entry.details)
    parts: list[str] = []
    if "date" in details:
        parts.append(t.day(date.fromisoformat(details.pop("date"))))
    if "duration" in details:
        parts.append(t.duration(details.pop("duration")))
    if "kind" in details:
        parts.append(t(f"kinds.{details.pop('kind')}"))
    if "amount_cents" in details:
        parts.append(t.amount(int(details.pop("amount_cents")), details.pop("currency")))
    return " · ".join([*parts, *details.values()])


def cents_of(text: str) -> int | str:
    """Convert an amount such as 49.50 or 49,50 to hundredths of the currency unit. Any other text is returned
    unchanged, so that input validation rejects it.
    """
    match = _AMOUNT.fullmatch(text)
    return text if match is None else int(match[1]) * 100 + int((match[2] or "0").ljust(2, "0"))
