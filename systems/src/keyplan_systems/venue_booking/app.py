"""Assembly of venue booking: API, the consumer that sends letters, the worker for overdue letters."""

from __future__ import annotations

from functools import partial

from keyplan_systems.venue_booking.api.application import application
from keyplan_systems.venue_booking.demo import play
from keyplan_systems.venue_booking.mail.letters import LetterWriter
from keyplan_systems.venue_booking.outbox import Postman, letter_runner
from keyplan_systems.venue_booking.reads import user_by_id
from keyplan_systems.venue_booking.sample import load_sample
from keyplan_systems.venue_booking.service import Service
from keyplan_systems.venue_booking.settings import settings_from
from keyplan_systems.web.health import in_thread
from keyplan_systems.web.system import Built, Resources, System, Worker

LATE_LETTERS_EVERY_S = 60.0


def build(resources: Resources) -> Built:
    """Build the system on its resources. Raises ValueError for invalid settings."""
    settings = settings_from(resources.folder)
    service = Service.over(resources.connection, resources.clock, settings.venue)
    postman = Postman(service.base, LetterWriter(settings.venue, settings.room), settings.sender)
    runner = letter_runner(postman, resources.dead_letters, runner=resources.runner)

    checks = {"table": in_thread(resources.connection.run, user_by_id("health"))}
    return Built(
        application(service, resources.verifier, resources.clock, checks, settings.room.domain),
        (
            Worker("venue letters", lambda: runner.run_once().delivered),
            Worker("venue late letters", postman.send_overdue, every_s=LATE_LETTERS_EVERY_S),
        ),
        partial(load_sample, service),
        runner.close,
    )


SYSTEM = System("venue_booking", "Venue booking", "keyplan_systems.venue_booking.design", build, demo=play)
