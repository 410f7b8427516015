"""Builds the Ask-a-Human system: the API, the web pages, the sweeper, the push worker, and the worker that updates the
rank histograms.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from keyplan_systems.ask_a_human import design_questions, web_push
from keyplan_systems.ask_a_human.address_limits import AddressLimits
from keyplan_systems.ask_a_human.api import application
from keyplan_systems.ask_a_human.demo import play, show
from keyplan_systems.ask_a_human.leaderboards import Ranking
from keyplan_systems.ask_a_human.notifier import Notifier
from keyplan_systems.ask_a_human.outbound import Outbound
from keyplan_systems.ask_a_human.outbox import choose_notifier
from keyplan_systems.ask_a_human.pages import add_pages
from keyplan_systems.ask_a_human.push_worker import PushWorker
from keyplan_systems.ask_a_human.sample import load_sample
from keyplan_systems.ask_a_human.service import Service
from keyplan_systems.ask_a_human.shapes import QUESTION_ID
from keyplan_systems.ask_a_human.sweeper import Sweeper
from keyplan_systems.web.health import in_thread
from keyplan_systems.web.system import BuiltSystem, Resources, System, Worker

CREDENTIALS = "KEYPLAN_ASK_A_HUMAN_FCM_CREDENTIALS"
"""Environment variable with the path of a JSON file that contains the credentials of a service account for Firebase
Cloud Messaging.

If the variable is unset, push messages to Firebase tokens are written to a local outbox.
"""
LINKS = "KEYPLAN_ASK_A_HUMAN_LINK_BASE"
"""Environment variable with the base URL for links in push messages, such as https://ask.example."""
PROXIES = "KEYPLAN_ASK_A_HUMAN_TRUSTED_PROXIES"
"""Environment variable with the number of trusted proxies in front of the API. The default is 0."""
OUTBOX = "outbox.jsonl"


def build(resources: Resources) -> BuiltSystem:
    """Build the system's web application and workers.

    Raises ValueError for an invalid setting, and OSError for an unreadable file.
    """
    proxies = os.environ.get(PROXIES) or "0"
    if not proxies.isdecimal():
        raise ValueError(f"{PROXIES} must be the number of proxies, such as 1, not {proxies!r}")
    link_base = os.environ.get(LINKS) or "https://ask-a-human.example"
    if not link_base.startswith("https://"):
        raise ValueError(
            f"{LINKS} must be an https URL, because the push service accepts no other links: {link_base!r}"
        )
    limits = AddressLimits.from_environment(resources.connection, resources.clock)
    service = Service.from_connection(resources.connection, resources.clock, limits)
    push_key = web_push.server_key(resources.folder, resources.secret)
    web_push_notifier = web_push.WebPushNotifier(push_key, resources.clock, contact=web_push.contact_from())
    outbound = Outbound(web_push.Dispatcher(web_push_notifier, _notifier(resources)))
    ranking = Ranking(service.base, resources.dead_letters, resources.runner)
    pusher = PushWorker(service.base, outbound, link_base)
    table = in_thread(resources.connection.run, design_questions.question_by_id(QUESTION_ID))

    def close() -> None:
        ranking.close()
        outbound.close()

    app = application(service, {"table": table}, int(proxies))
    add_pages(app, service, int(proxies), web_push.public_key_text(push_key))
    return BuiltSystem(
        app,
        (
            Worker("ask-a-human sweep", Sweeper(service.base).run_once, every_s=2.0),
            Worker("ask-a-human push", pusher.run_once, every_s=2.0),
            Worker("ask-a-human ranks", ranking.run_once, every_s=1.0),
        ),
        partial(load_sample, service),
        close,
    )


def _notifier(resources: Resources) -> Notifier:
    path_text = os.environ.get(CREDENTIALS)
    credentials = None if not path_text else Path(path_text)
    return choose_notifier(credentials, resources.folder / OUTBOX, resources.clock)


SYSTEM = System(
    "ask_a_human", "Ask a Human", "keyplan_systems.ask_a_human.design", build, demo=play, tour=show, start="app/"
)
