"""The calendar pages: a month with the availability of its days, a day with its slots, and the URLs of the calendar
feed.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from keyplan_systems.venue_booking.api.context import person_of
from keyplan_systems.venue_booking.domain.bookings import Booking
from keyplan_systems.venue_booking.domain.events import DayAvailability, Event, SlotState, availability
from keyplan_systems.venue_booking.domain.requests import EventKind
from keyplan_systems.venue_booking.domain.users import Actor, Status
from keyplan_systems.venue_booking.pages.site import VenueSite, date_of, month_of
from keyplan_systems.venue_booking.pages.wording import Phrases
from keyplan_systems.web.browsing import CurrentSession

DAYS_PER_WEEK = 7


@dataclass(frozen=True)
class DayCell:
    """A day in a monthly calendar."""

    date: date
    availability: DayAvailability
    events: tuple[Event, ...]

    @property
    def free(self) -> int:
        """The number of slots on the day that are free and can be requested."""
        return sum(self.availability.is_free(slot) for slot in self.availability.slots)

    @property
    def state(self) -> str:
        """The availability of the day: `free` if all slots are free, `some` if only some are, `full` if none is,
        `closed` if closures hold all slots, or `over` if the day is outside the booking window.
        """
        states = set(self.availability.slots.values())
        if states == {SlotState.CLOSED}:
            return "closed"
        if not self.availability.bookable:
            return "over"
        if not self.free:
            return "full"
        return "free" if self.free == len(self.availability.slots) else "some"

    def summary(self, t: Phrases) -> str:
        """Return the day's availability as a short text."""
        if self.state == "some":
            return t("calendar.free", count=self.free)
        return t("calendar.all_free" if self.state == "free" else f"calendar.{self.state}")

    def label(self, t: Phrases) -> str:
        """Return the day's availability as a sentence for screen readers."""
        slots = self.availability.slots.items()
        states = [t("calendar.cell_slot", slot=t.slot(name), state=t(f"states.{state}")) for name, state in slots]
        notes = [] if self.availability.bookable else [t("calendar.over")]
        return t("calendar.cell", date=t.day(self.date), slots=", ".join([*states, *notes]))


@dataclass(frozen=True)
class SlotRow:
    """A slot on the page of a day, including the event that holds it. Details that the visitor may not view are
    omitted.
    """

    slot: str
    hours: str
    state: SlotState
    title: str = ""
    event: Event | None = None
    may_open: bool = False
    """Whether the visitor may open the page of the booking that holds the slot."""


def add_calendar(router: APIRouter, site: VenueSite) -> None:
    """Add the calendar pages to the router."""

    @router.get("/")
    def month(request: Request, session: CurrentSession) -> Response:
        actor = None if session.principal is None else person_of(session.principal).actor
        query = request.query_params
        earliest, latest = site.venue.earliest_date(site.now()), site.venue.latest_date(site.now())
        day = date_of(query.get("day"))
        shown_month = _clamp_month(month_of(query.get("month")) or day or earliest, site.today(), latest)
        if day is not None and (day.year, day.month) != (shown_month.year, shown_month.month):
            day = None
        cells = _cells(site, shown_month)
        t = site.phrases(request)
        context: dict[str, Any] = {
            "month": shown_month,
            "previous": _clamp_month(shown_month - timedelta(days=1), site.today(), latest),
            "next": _clamp_month(shown_month + timedelta(days=32), site.today(), latest),
            "weeks": _weeks(cells),
            "program": [event for cell in cells for event in cell.events if event.kind is EventKind.PUBLIC_EVENT],
            "earliest": earliest,
            "latest": latest,
            "cell": None,
            "feed": _feed_addresses(request, t),
        }
        if day is None:
            day = next((cell.date for cell in cells if cell.free), None)
        if day is not None:
            context |= _panel(site, t, day, actor)
        return site.render(request, "calendar.html.j2", **context)


def _clamp_month(month: date, today: date, latest: date) -> date:
    """Return the first day of `month`. If the calendar does not show this month, return the first day of the nearest
    month that it shows.

    The calendar shows the months from one year before `today` to `latest`.
    """
    first = date(max(today.year - 1, 1), today.month, 1)
    return max(first, min(month, latest)).replace(day=1)


def _cells(site: VenueSite, month: date) -> list[DayCell]:
    """Return the days of a month for the calendar. Their slots are read with one query."""
    events = site.service.calendar.events_in([month])
    last = month.replace(day=monthrange(month.year, month.month)[1])
    return [DayCell(day.date, day, _events_on(events, day.date)) for day in _days(site, month, last, events)]


def _days(site: VenueSite, first: date, last: date, events: Sequence[Event]) -> list[DayAvailability]:
    """Return the availability of each day from `first` to `last`. A long range is divided into parts, because the venue
    limits the length of a range.
    """
    days: list[DayAvailability] = []
    step = timedelta(days=site.venue.availability_days - 1)
    while first <= last:
        end = min(first + step, last)
        days += availability(site.venue, first, end, events, site.now())
        first = end + timedelta(days=1)
    return days


def _events_on(events: Sequence[Event], day: date) -> tuple[Event, ...]:
    return tuple(event for event in events if event.date == day)


def _weeks(cells: Sequence[DayCell]) -> list[list[DayCell | None]]:
    """Divide the days of a month into weeks from Monday to Sunday, with None for days of other months."""
    days: list[DayCell | None] = [*([None] * cells[0].date.weekday()), *cells]
    days += [None] * (-len(days) % DAYS_PER_WEEK)
    return [days[start : start + DAYS_PER_WEEK] for start in range(0, len(days), DAYS_PER_WEEK)]


def _panel(site: VenueSite, t: Phrases, day: date, actor: Actor | None) -> dict[str, Any]:
    """Return the template values for the page of a day. The slots are read with a strongly consistent read."""
    events = site.service.calendar.on_date(day)
    availability_of_day = _days(site, day, day, events)[0]
    pending: list[Booking] = []
    if actor is not None and actor.is_admin:
        results = site.service.bookings.in_month(actor, day, Status.PENDING, 100, None)
        pending = [booking for booking in results.entries if booking.date == day]
    return {
        "cell": DayCell(day, availability_of_day, tuple(events)),
        "rows": [_slot_row(t, availability_of_day, slot, events, actor) for slot in availability_of_day.slots],
        "durations": [
            (name, t.duration(name), t.hours(day, site.venue.slots_of(name))) for name in availability_of_day.durations
        ],
        "waiting": pending,
    }


def _slot_row(t: Phrases, day: DayAvailability, slot: str, events: Sequence[Event], actor: Actor | None) -> SlotRow:
    hours, state = t.hours(day.date, (slot,)), day.slots[slot]
    event = next((event for event in events if slot in event.slots), None)
    if event is None:
        return SlotRow(slot, hours, state)
    if event.is_public:
        return SlotRow(slot, hours, state, event.title, event)
    if actor is not None and (actor.is_admin or event.created_by == actor.user_id):
        return SlotRow(slot, hours, state, event.title, event, may_open=True)
    return SlotRow(slot, hours, state, t("calendar.reserved"))


def _feed_addresses(request: Request, t: Phrases) -> list[dict[str, str]]:
    address = f"{request.url.netloc}{request.scope.get('root_path', '')}/calendar.ics?language={t.language.value}"
    return [
        {"name": name, "https": f"{request.url.scheme}://{address}{extra}", "webcal": f"webcal://{address}{extra}"}
        for name, extra in (("public", ""), ("reserved", "&reserved=true"))
    ]
