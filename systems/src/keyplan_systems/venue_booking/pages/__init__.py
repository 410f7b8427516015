"""The web pages in three languages: the calendar, booking requests, a user's own bookings, and administration.

The pages work without scripts. `static/venue.js` adds keyboard shortcuts to the calendar, live previews of emails, and
buttons that copy addresses. The pages call the same operations as the API, and these operations check permissions.
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
from keyplan_systems.web.browsing import install_pages, page_router, system_pages

_NAVIGATION = (
    Link("Calendar", "app/", "calendar", is_exact=True),
    Link("My bookings", "app/bookings", "list"),
    Link("Inbox", "app/inbox", "inbox", role=ADMINISTRATORS),
    Link("Events", "app/events", "flag", role=ADMINISTRATORS),
)


def install_venue_pages(app: FastAPI, service: Service, writer: LetterWriter) -> None:
    """Add the pages to the application. `writer` composes the emails that the pages show."""
    pages = system_pages(
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
