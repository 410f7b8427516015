"""Web pages: the calendar, requests, own bookings, and administration, in three languages.

Pages work as plain HTML. `static/venue.js` adds keyboard shortcuts for the calendar, live previews of emails, and
buttons that copy addresses. Handlers call the venue's operations, which check permissions again.
"""

from __future__ import annotations

from fastapi import FastAPI

from keyplan.pages import Link
from keyplan_systems.venue_booking.domain.users import ADMINISTRATORS
from keyplan_systems.venue_booking.mail.letters import LetterWriter
from keyplan_systems.venue_booking.pages.administration import add_administration
from keyplan_systems.venue_booking.pages.bookings import add_bookings
from keyplan_systems.venue_booking.pages.calendar import add_calendar
from keyplan_systems.venue_booking.pages.profile import add_language, add_profile
from keyplan_systems.venue_booking.pages.site import VenueSite
from keyplan_systems.venue_booking.pages.wording import shared_wording
from keyplan_systems.venue_booking.service import Service
from keyplan_systems.web.browsing import install_pages, page_router, site

_NAVIGATION = (
    Link("Calendar", "app/", "calendar", is_exact=True),
    Link("My bookings", "app/bookings", "list"),
    Link("Inbox", "app/inbox", "inbox", role=ADMINISTRATORS),
    Link("Events", "app/events", "flag", role=ADMINISTRATORS),
)


def install_venue_pages(app: FastAPI, service: Service, writer: LetterWriter) -> None:
    """Add the pages to the system's application. `writer` composes the emails that they show."""
    pages = site(
        "keyplan_systems.venue_booking",
        "Venue booking",
        _NAVIGATION,
        accent="teal",
        scripts=("venue.js",),
        wording=shared_wording,
    )
    venue_site = VenueSite(pages, service, writer)
    router = page_router(pages, venue_site.problem)
    for add in (add_calendar, add_bookings, add_administration, add_profile, add_language):
        add(router, venue_site)
    install_pages(app, pages, router)
