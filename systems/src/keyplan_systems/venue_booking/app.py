"""Builds the venue booking system: the API, the web pages, the stream consumer that sends emails, and the worker that
sends overdue emails.
"""

from __future__ import annotations

from functools import partial

from keyplan_systems.venue_booking.api.application import application
from keyplan_systems.venue_booking.demo import play, show
from keyplan_systems.venue_booking.domain.users import ADMINISTRATORS
from keyplan_systems.venue_booking.mail.letters import LetterWriter
from keyplan_systems.venue_booking.outbox import OutboxSender, letter_runner
from keyplan_systems.venue_booking.pages import install_venue_pages
from keyplan_systems.venue_booking.pages.wording import shared_wording
from keyplan_systems.venue_booking.reads import user_by_id
from keyplan_systems.venue_booking.sample import load_sample
from keyplan_systems.venue_booking.service import Service
from keyplan_systems.venue_booking.settings import settings_from
from keyplan_systems.web.health import in_thread
from keyplan_systems.web.system import BuiltSystem, Resources, SamplePerson, System, Worker

LATE_LETTERS_EVERY_S = 60.0


def build(resources: Resources) -> BuiltSystem:
    """Build the system. Raises ValueError for an invalid setting."""
    settings = settings_from(resources.folder)
    service = Service.from_connection(resources.connection, resources.clock, settings.venue)
    writer = LetterWriter(settings.venue, settings.mail)
    outbox_sender = OutboxSender(service.base, writer, settings.sender)
    runner = letter_runner(outbox_sender, resources.dead_letters, runner=resources.runner)

    checks = {"table": in_thread(resources.connection.run, user_by_id("health"))}
    app = application(service, resources.verifier, resources.clock, checks, settings.mail.domain)
    install_venue_pages(app, service, writer)
    return BuiltSystem(
        app,
        (
            Worker("venue letters", lambda: runner.run_once().delivered),
            Worker("venue late letters", outbox_sender.send_overdue, every_s=LATE_LETTERS_EVERY_S),
        ),
        partial(load_sample, service),
        runner.close,
    )


PEOPLE = (
    SamplePerson(
        "ada",
        "Ada Rossi",
        "Has an approved booking with a door code, and a request that waits.",
        claims={"email": "ada@example.org", "email_verified": True},
    ),
    SamplePerson(
        "bruno",
        "Bruno Conti",
        "Asked for the same day as Ada, and for another.",
        claims={"email": "bruno@example.org", "email_verified": True},
    ),
    SamplePerson(
        "carla",
        "Carla Neri",
        "Decides on requests, enters events, payments and door codes.",
        (ADMINISTRATORS,),
        {"email": "carla@example.org", "email_verified": True},
    ),
)
SYSTEM = System(
    "venue_booking",
    "Venue booking",
    "keyplan_systems.venue_booking.design",
    build,
    demo=play,
    tour=show,
    people=PEOPLE,
    start="app/",
    wording=shared_wording,
)
