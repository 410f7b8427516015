"""The calendar feed of public events and closures in iCalendar format (RFC 5545).

For private bookings, the feed never contains titles, IDs or the names of users. Optionally, each private booking
appears as an anonymous "reserved" entry, so that subscribers can see which slots are held.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from typing import Final

from icalendar import Calendar
from icalendar import Event as Entry

from keyplan_systems.venue_booking.domain.events import Event
from keyplan_systems.venue_booking.domain.refusals import InvalidRequestError
from keyplan_systems.venue_booking.domain.requests import EventKind, Language
from keyplan_systems.venue_booking.domain.venue import Venue

logger = logging.getLogger(__name__)

CONTENT_TYPE: Final = "text/calendar; charset=utf-8"
REFRESH: Final = timedelta(hours=1)

_RESERVED: Final = {Language.ITALIAN: "Riservato", Language.ENGLISH: "Reserved", Language.GERMAN: "Reserviert"}


@dataclass(frozen=True)
class Feed:
    """A calendar feed in iCalendar format, with an entity tag that changes only if the text of the feed changes."""

    content: bytes
    etag: str


def calendar_feed(
    venue: Venue,
    events: Iterable[Event],
    *,
    domain: str,
    language: Language = Language.ITALIAN,
    show_reserved: bool = False,
) -> Feed:
    """Return the feed of the given events, sorted by time. The same events always result in the same bytes.

    `domain` is part of the UIDs, which do not change when an event is edited. With `show_reserved`, private bookings
    are included as anonymous entries. If an event holds a slot that has been removed from the venue's configuration,
    the time of the event is unknown. Such an event is logged and omitted.
    """
    calendar = Calendar()
    calendar.add("prodid", f"-//keyplan//venue booking//{language.value.upper()}")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", venue.name)
    calendar.add("x-wr-timezone", venue.time_zone)
    calendar.add("refresh-interval", REFRESH, parameters={"VALUE": "DURATION"})
    visible_events = [event for event in events if (event.is_public or show_reserved) and _has_hours(venue, event)]
    visible_events.sort(key=lambda event: (*venue.span(event.date, event.slots), event.event_id))
    for event in visible_events:
        calendar.add_component(_entry(venue, event, domain, language))
    if visible_events:
        # Only the clock changes of the years that the feed contains.
        calendar.add_missing_timezones(
            date(visible_events[0].date.year, 1, 1), date(visible_events[-1].date.year + 2, 1, 1)
        )
    content = calendar.to_ical()
    return Feed(content, f'"{hashlib.sha256(content).hexdigest()[:32]}"')


def _has_hours(venue: Venue, event: Event) -> bool:
    try:
        venue.span(event.date, event.slots)
    except InvalidRequestError:
        logger.exception("omitting an event with unknown slots from the calendar feed", extra={"event": event.event_id})
        return False
    return True


def _entry(venue: Venue, event: Event, domain: str, language: Language) -> Entry:
    start, end = venue.span(event.date, event.slots)
    entry = Entry()
    entry.add("uid", f"{_public_id(event)}@{domain}")
    # In a calendar without METHOD, DTSTAMP is the time of the entry's last change (RFC 5545, 3.8.7.2), so it stays the
    # same.
    entry.add("dtstamp", event.updated_at.astimezone(UTC))
    entry.add("last-modified", event.updated_at.astimezone(UTC))
    entry.add("sequence", event.version - 1)
    entry.add("dtstart", start)
    entry.add("dtend", end)
    entry.add("status", "CONFIRMED")
    entry.add("transp", "OPAQUE")
    entry.add("class", "PUBLIC")
    entry.add("location", venue.name)
    entry.add("summary", event.title if event.is_public else _RESERVED[language])
    entry.add("categories", [event.kind.value if event.is_public else "reserved"])
    if event.is_public and event.description:
        entry.add("description", event.description)
    return entry


def _public_id(event: Event) -> str:
    """Return the ID of an event in the feed. It is the event's own ID or, for a private booking, a hash of the ID."""
    if event.kind is EventKind.PRIVATE_BOOKING:
        return hashlib.sha256(f"reserved {event.event_id}".encode()).hexdigest()[:32]
    return event.event_id
