"""Pages for a user's bookings: the request form, the list, a booking with its emails, and cancellation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from keyplan.pages import redirect
from keyplan_systems.venue_booking.api.context import person_of
from keyplan_systems.venue_booking.base import MAX_PAGE_SIZE
from keyplan_systems.venue_booking.domain.bookings import TRANSITIONS, Action, Booking, decide
from keyplan_systems.venue_booking.domain.codes import readable_code
from keyplan_systems.venue_booking.domain.events import Event
from keyplan_systems.venue_booking.domain.notices import Audience
from keyplan_systems.venue_booking.domain.records import Payment, PaymentMethod
from keyplan_systems.venue_booking.domain.refusals import RefusalError
from keyplan_systems.venue_booking.domain.users import Actor, Status, require_admin
from keyplan_systems.venue_booking.entities import OutboxItem
from keyplan_systems.venue_booking.items import booking_of, notice_of
from keyplan_systems.venue_booking.mail.letters import Letter
from keyplan_systems.venue_booking.pages.site import (
    PER_PAGE,
    VenueSite,
    actor_of,
    form_key,
    idempotent_request,
    language_from,
    number_of,
    url,
)
from keyplan_systems.venue_booking.pages.wording import Phrases
from keyplan_systems.web.browsing import Form, FormFields, Person


def add_bookings(router: APIRouter, site: VenueSite) -> None:
    """Add the pages for a user's bookings to the router."""

    @router.get("/request")
    def new(request: Request, person: Person) -> Response:
        user = site.service.users.find(person.subject)
        t = site.phrases(request)
        claims = person_of(person)
        values = {
            "date": request.query_params.get("date", ""),
            "duration": request.query_params.get("duration", ""),
            "full_name": user.name if user else claims.name or "",
            "email": (user.email if user else claims.email) or "",
            "phone": (user.phone if user else claims.phone) or "",
            "language": user.language.value if user and user.stats.total else t.language.value,
        }
        return _form(site, request, values, {})

    @router.post("/request")
    def send(request: Request, person: Person, form: Form) -> Response:
        values = _request_values(form)
        try:
            idempotency_request = idempotent_request(person, form, "request", values)
            booking = site.service.bookings.request(person_of(person), values, idempotency_request)
        except RefusalError as error:
            return _request_refusal_page(site, request, form, error)
        t = site.phrases(request)
        flash = t("request.sent", email=booking.contact.email)
        return redirect(url(request, f"bookings/{booking.booking_id}"), flash)

    @router.get("/bookings")
    def bookings(request: Request, person: Person) -> Response:
        actor = actor_of(person)
        cursor = request.query_params.get("after")
        results = site.service.bookings.of_user(actor, PER_PAGE, cursor)
        found_bookings = site.service.bookings.get_many([entry.booking_id for entry in results.entries])
        user = site.service.users.find(person.subject)
        context = {
            "bookings": [booking for booking in found_bookings if booking is not None],
            "cursor": results.cursor,
            "stats": user.stats if user else None,
            "readable_code": readable_code,
        }
        return site.render(request, "bookings.html.j2", **context)

    @router.get("/bookings/{booking_id}")
    def booking(request: Request, person: Person, booking_id: str) -> Response:
        return show_booking(site, request, actor_of(person), booking_id)

    @router.get("/inbox/{booking_id}")
    def review(request: Request, person: Person, booking_id: str) -> Response:
        actor = actor_of(person)
        require_admin(actor)
        return show_booking(site, request, actor, booking_id)

    @router.post("/bookings/{booking_id}/cancel")
    def cancel(request: Request, person: Person, booking_id: str, form: Form) -> Response:
        actor, t = actor_of(person), site.phrases(request)
        try:
            site.service.bookings.decide(
                actor, booking_id, Action.CANCEL, reason=form.get("cancel_reason"), known_version=version_of(form)
            )
        except RefusalError as error:
            return refusal_page(site, request, actor, booking_id, error, form=form, field="cancel_reason")
        return redirect(url(request, path_of(actor, booking_id)), t("booking.cancelled"))


def _form(
    site: VenueSite,
    request: Request,
    values: Mapping[str, Any],
    errors: Mapping[str, str],
    *,
    message: str = "",
    status: int = 200,
    needs_address: bool = False,
) -> Response:
    t = site.phrases(request)
    context = {
        "values": values,
        "errors": errors,
        "message": message,
        "needs_address": needs_address,
        "key": form_key(),
        "durations": [(name, t.duration(name), t.hours(site.today(), slots)) for name, slots in _durations(site)],
        "earliest": site.venue.earliest_date(site.now()),
        "latest": site.venue.latest_date(site.now()),
    }
    return site.render(request, "request.html.j2", status, **context)


def _durations(site: VenueSite) -> list[tuple[str, tuple[str, ...]]]:
    return [(name, site.venue.slots_of(name)) for name in site.venue.durations]


def _request_values(form: FormFields) -> dict[str, Any]:
    """Return the values of the form fields. Invalid values are returned unchanged, so that input validation rejects
    them.
    """
    return {
        "date": form.get("date", ""),
        "duration": form.get("duration", ""),
        "description": form.get("description", ""),
        "attendees": number_of(form.get("attendees", "")),
        "contact": {
            "full_name": form.get("full_name", ""),
            "email": form.get("email", ""),
            "phone": form.get("phone", ""),
        },
        "consent": form.get("consent") == "yes",
        "association": form.get("association") or None,
        "language": language_from(form.get("language", "")),
    }


def _request_refusal_page(site: VenueSite, request: Request, form: FormFields, error: RefusalError) -> Response:
    """Return the request form with the entered values, and with error messages next to the fields."""
    t = site.phrases(request)
    errors = t.field_errors(error)
    message, needs_address = t("request.failed") if errors else t.refusal(error), False
    if error.code == "slot_taken":
        message = t("request.taken")
    elif error.details.get("field") in ("email", "token"):  # the form is valid, but the profile has no verified address
        errors, message, needs_address = {}, t("profile.email_none"), True
    elif error.code == "idempotency_key_reused":
        errors, message = {}, t.refusal(error)
    status = 409 if error.code == "slot_taken" else 422
    return _form(site, request, form, errors, message=message, status=status, needs_address=needs_address)


def path_of(actor: Actor, booking_id: str) -> str:
    """Return the path of the page of a booking. For an administrator, the page is in the inbox; for any other user, it
    is in "my bookings".
    """
    return f"{'inbox' if actor.is_admin else 'bookings'}/{booking_id}"


def version_of(form: FormFields) -> int | None:
    """Return the version that the booking had when the form was shown, or None if the form does not contain
    a version.
    """
    version = number_of(form.get("version", ""))
    return version if isinstance(version, int) else None


def refusal_page(
    site: VenueSite,
    request: Request,
    actor: Actor,
    booking_id: str,
    error: RefusalError,
    *,
    form: FormFields,
    field: str,
) -> Response:
    """Return the page of a booking after a form was rejected, with the error message and the entered text.

    Errors in the API field `reason` are shown next to the form field `field`.
    """
    t = site.phrases(request)
    errors = {field if name == "reason" else name: text for name, text in t.field_errors(error).items()}
    errors.pop("duration", None)
    status = 422 if errors else 409
    message = "" if errors else f"{t.refusal(error)} {t('decision.failed')}"
    return show_booking(site, request, actor, booking_id, status, values=form, errors=errors, message=message)


def show_booking(
    site: VenueSite,
    request: Request,
    actor: Actor,
    booking_id: str,
    status: int = 200,
    *,
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    message: str = "",
) -> Response:
    """Return the page of a booking. On this page, the owner can cancel the booking, and administrators can decide on
    it.

    After a form was rejected, `values` and `errors` contain the entered text and the error messages by form field, and
    `message` is an error message for the whole page.
    """
    service, t = site.service, site.phrases(request)
    booking = service.bookings.get(actor, booking_id)
    events = service.calendar.on_date(booking.date)
    blockers = [event for event in events if set(event.slots) & set(_slots(site, booking))]
    payments = service.records.payments(actor, booking_id, MAX_PAGE_SIZE, None).entries
    context: dict[str, Any] = {
        "booking": booking,
        "code": readable_code(booking.code),
        "is_owner": booking.user_id == actor.user_id,
        "is_admin": actor.is_admin,
        "may_cancel": (booking.status, Action.CANCEL) in TRANSITIONS,
        "hours": t.hours(booking.date, booking.slots or _slots(site, booking)),
        "is_conflicting": service.calendar.is_conflicting(booking, events),
        "blockers": blockers if booking.status is Status.PENDING else [],
        "taken": _occupied_slots(t, site, booking, blockers),
        "letters": [_outbox_row(site, letter) for letter in service.records.letters(actor, booking)],
        "payments": payments,
        "paid": _sums_by_currency(payments),
        "lock_code": None if booking.event_id is None else service.records.lock_code(actor, booking.event_id),
        "methods": [(method.value, t(f"methods.{method}")) for method in PaymentMethod],
        "values": values or {},
        "errors": errors or {},
        "message": message,
        "key": form_key(),
    }
    if actor.is_admin:
        context |= _for_administrators(site, actor, booking, (values or {}).get("reason", ""))
    return site.render(request, "booking.html.j2", status, **context)


def _slots(site: VenueSite, booking: Booking) -> tuple[str, ...]:
    """Return the names of the slots that a booking requests. The result is empty if the venue no longer offers the
    booking's duration.
    """
    return site.venue.slots_of(booking.duration) if booking.duration in site.venue.durations else ()


def _occupied_slots(t: Phrases, site: VenueSite, booking: Booking, blockers: list[Event]) -> str:
    reserved_slots = {slot for event in blockers for slot in event.slots}
    return t.slots(slot for slot in _slots(site, booking) if slot in reserved_slots)


def _sums_by_currency(payments: Sequence[Payment]) -> dict[str, int]:
    """Return the total amount of the payments in each currency, in hundredths of the currency unit."""
    totals: dict[str, int] = {}
    for payment in payments:
        totals[payment.currency] = totals.get(payment.currency, 0) + payment.amount_cents
    return totals


def _for_administrators(site: VenueSite, actor: Actor, booking: Booking, reason: str) -> dict[str, Any]:
    service = site.service
    pending = service.bookings.in_month(actor, booking.date, Status.PENDING, MAX_PAGE_SIZE, None).entries
    slots = set(_slots(site, booking))
    rivals = [
        candidate
        for candidate in pending
        if candidate.date == booking.date
        and candidate.booking_id != booking.booking_id
        and slots & set(_slots(site, candidate))
    ]
    audit = service.records.audit_of(actor, booking.booking_id, MAX_PAGE_SIZE, None).entries
    previews = {
        action.value: preview
        for action in (Action.APPROVE, Action.REJECT)
        if (preview := _preview(site, actor, booking, action, reason)) is not None
    }
    return {"rivals": rivals if booking.status is Status.PENDING else [], "audit": audit, "previews": previews}


def _preview(site: VenueSite, actor: Actor, booking: Booking, action: Action, reason: str) -> dict[str, Any] | None:
    """Return a preview of the email that a decision would trigger, or None if the booking's status does not allow the
    decision.
    """
    try:
        changes = decide(booking, action, actor, site.venue, site.now(), event_id="preview", reason=reason)
        notice = next(notice for notice in changes.notices if notice.kind.audience is Audience.CUSTOMER)
        return _letter_content(site.writer.write(notice, changes.booking))
    except RefusalError:
        return None


def _outbox_row(site: VenueSite, item: OutboxItem) -> dict[str, Any]:
    """Return an email in the outbox together with its text for the page. The text is empty if the email cannot be
    composed under the venue's current rules.
    """
    state = {"kind": item.kind, "sent_at": item.sent_at, "failure": item.failure}
    try:
        return {**state, **_letter_content(site.writer.write(notice_of(item), booking_of(item.booking)))}
    except RefusalError:
        return {**state, "subject": "", "to": "", "text": "", "language": ""}


def _letter_content(letter: Letter) -> dict[str, Any]:
    message = letter.message
    body = message.get_body(("plain",))
    text = "" if body is None else body.get_content().replace("\r\n", "\n").strip()
    return {
        "subject": str(message["Subject"]),
        "to": str(message["To"]),
        "text": text,
        "language": str(message["Content-Language"]),
    }
