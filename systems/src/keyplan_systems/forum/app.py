"""Builds the forum from its API, web pages, WebSocket connections and background workers."""

from __future__ import annotations

import os
from functools import partial

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from keyplan.streams import Runner
from keyplan_systems.forum import design, migrations
from keyplan_systems.forum.api import application
from keyplan_systems.forum.connections import SERVER_SECONDS
from keyplan_systems.forum.demo import play, show
from keyplan_systems.forum.entities import Place, forum
from keyplan_systems.forum.feed import Feed
from keyplan_systems.forum.hub import Hub, Limits
from keyplan_systems.forum.pages import PAGES
from keyplan_systems.forum.pages import router as pages_router
from keyplan_systems.forum.relational.outbox import count_pending, delete_done_entries
from keyplan_systems.forum.relational.session import Database
from keyplan_systems.forum.relational.threads import now_ms
from keyplan_systems.forum.sample import ANN, BEN, TEACHER, TUTOR, load_class, load_sample
from keyplan_systems.forum.service import Service
from keyplan_systems.forum.sockets import ACTIONS, MAX_SOCKETS, Sockets
from keyplan_systems.web.browsing import install_pages
from keyplan_systems.web.files import private_key
from keyplan_systems.web.health import in_thread
from keyplan_systems.web.rate_limits import limit_from
from keyplan_systems.web.system import BuiltSystem, Resources, SamplePerson, System, Worker

DATABASE = "KEYPLAN_FORUM_DATABASE"
"""Environment variable with the URL of the SQL database (postgresql:// or sqlite:///). The default is a SQLite file in
the system's data folder.
"""
IDLE = "KEYPLAN_FORUM_IDLE_SECONDS"
TOTAL = "KEYPLAN_FORUM_CONNECTION_SECONDS"
SOCKETS = "KEYPLAN_FORUM_SOCKETS"
"""Environment variable with the maximum number of WebSocket connections per user and process."""
ACTIONS_VARIABLE = "KEYPLAN_FORUM_ACTION_LIMIT"
"""Environment variable with the maximum number of WebSocket actions per user and process, in the format
REQUESTS/SECONDS, or `off` for an unlimited number.
"""
KEY_FILE = "thread-tokens.pem"
"""Name of the file with the key that signs thread tokens. The file is used only if the servers do not have a shared
secret.
"""
TRANSFERRED_ENTRY_SECONDS = 7 * 24 * 3600
"""Number of seconds for which an entry stays in the outbox after its transfer to the event log, so that operators can
inspect it.
"""


def build(resources: Resources) -> BuiltSystem:
    """Build the forum's web application and workers. Raises ValueError for an invalid setting."""
    url = os.environ.get(DATABASE) or f"sqlite:///{resources.folder / 'forum.db'}"
    migrations.upgrade(url)
    database = Database(url)
    service = Service.from_connections(resources.connection, database, resources.clock, _signing_key(resources))
    defaults = Limits()
    limits = Limits(_positive(IDLE, defaults.idle_s, "seconds"), _positive(TOTAL, defaults.total_s, "seconds"))
    hub = Hub(service.log, resources.clock, limits)
    feed = Feed(resources.connection, resources.clock, hub, {"unpushed": resources.dead_letters})
    notifier = Runner(
        resources.connection,
        forum,
        [design.notify_followers],
        destinations={"unnotified": resources.dead_letters},
        handlers={design.notify_followers: service.notify},
        runner=resources.runner,
        clock=resources.clock,
    )

    def run_notifier() -> int:
        progress = notifier.run_once()
        return progress.delivered + progress.failed

    def delete_transferred() -> int:
        return delete_done_entries(database, now_ms(resources.clock) - TRANSFERRED_ENTRY_SECONDS * 1000)

    def close() -> None:
        notifier.close()
        database.close()

    checks = {
        "table": in_thread(resources.connection.run, design.head_of(Place("0", "0"))),
        "database": in_thread(count_pending, database),
        "pushes": feed.check,
    }
    sockets = Sockets(
        service,
        hub,
        resources.clock,
        max_per_user=int(_positive(SOCKETS, MAX_SOCKETS, "connections")),
        actions=limit_from(ACTIONS_VARIABLE, ACTIONS),
    ).router()
    app = application(service, resources.verifier, resources.clock, checks, sockets=sockets, lifespan=feed.lifespan)
    install_pages(app, PAGES, pages_router)
    return BuiltSystem(
        app,
        (
            Worker("forum log", service.transfer_log, every_s=0.5),
            Worker("forum outbox", delete_transferred, every_s=600.0),
            Worker("forum notifications", run_notifier, every_s=1.0),
            Worker("forum presence", service.connections.renew_registration, every_s=SERVER_SECONDS / 3),
        ),
        partial(_load, service),
        close,
    )


def _load(service: Service) -> None:
    load_sample(service)
    load_class(service)


def _signing_key(resources: Resources) -> Ed25519PrivateKey:
    """Return the key that signs thread tokens. All replicas with the same secret share this key. Without a secret, all
    processes that use the same folder share it.

    Raises KeyFileError if the key file cannot be used.
    """
    if resources.secret is not None:
        return resources.secret.signing_key("forum thread tokens")
    return private_key(resources.folder / KEY_FILE)


def _positive(variable: str, default: float, unit: str) -> float:
    """Return the value of an environment variable, which must be a positive integer. Return the default if the variable
    is unset or empty.

    Raises ValueError for any other value. `unit` is the unit of the value for the error message, such as "seconds".
    """
    text = os.environ.get(variable)
    if not text:
        return default
    if not text.isdecimal() or int(text) == 0:
        raise ValueError(f"{variable} must be a whole number of {unit}, not {text!r}")
    return float(text)


SYSTEM = System(
    "forum",
    "Forum of threads",
    "keyplan_systems.forum.design",
    build,
    demo=play,
    tour=show,
    people=(
        SamplePerson(ANN, "Ann", "Pupil of class 7b. Her loop never ends; the tutor has given a hint."),
        SamplePerson(BEN, "Ben", "Pupil of class 7b with threads in every state, one with his team."),
        SamplePerson(TEACHER, "Ms Grey", "Teacher of class 7b: watches its threads, manages its tasks.", ("teacher",)),
        SamplePerson(TUTOR, "Tom", "Tutor: answers the questions that are asked to the tutors.", ("tutor",)),
    ),
    start="app/",
)
