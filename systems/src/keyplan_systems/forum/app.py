"""The forum put together: API and websocket, the outbox's carrier, the notifier, the reader for the watchers."""

from __future__ import annotations

import os
from functools import partial

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from keyplan.streams import Runner
from keyplan_systems.forum import design, migrations
from keyplan_systems.forum.api import application
from keyplan_systems.forum.demo import play
from keyplan_systems.forum.entities import Place, forum
from keyplan_systems.forum.feed import Feed
from keyplan_systems.forum.hub import Hub, Limits
from keyplan_systems.forum.relational.outbox import forget_done, waiting
from keyplan_systems.forum.relational.session import Database
from keyplan_systems.forum.relational.threads import now_ms
from keyplan_systems.forum.sample import load_sample
from keyplan_systems.forum.service import Service
from keyplan_systems.forum.sockets import ACTIONS, MOST_SOCKETS, Sockets
from keyplan_systems.forum.watching import SERVER_SECONDS
from keyplan_systems.web.files import private_key
from keyplan_systems.web.health import in_thread
from keyplan_systems.web.rate_limits import limit_from
from keyplan_systems.web.system import Built, Resources, System, Worker

DATABASE = "KEYPLAN_FORUM_DATABASE"
"""The variable that names the relational database: postgresql://... or sqlite:///file; a file of its own without it."""
IDLE = "KEYPLAN_FORUM_IDLE_SECONDS"
TOTAL = "KEYPLAN_FORUM_CONNECTION_SECONDS"
SOCKETS = "KEYPLAN_FORUM_SOCKETS"
"""The variable that says how many connections a user can have open to one process."""
ACTIONS_VARIABLE = "KEYPLAN_FORUM_ACTION_LIMIT"
"""The variable that limits a user's actions on connections to one process."""
KEY_FILE = "thread-tokens.pem"
"""The key that signs thread tokens where replicas share no secret."""
CARRIED_KEPT_SECONDS = 7 * 24 * 3600
"""How long the outbox keeps what it has carried over, to look at."""


def build(resources: Resources) -> Built:
    """The system on its resources. Raises ValueError for settings that cannot be."""
    url = os.environ.get(DATABASE) or f"sqlite:///{resources.folder / 'forum.db'}"
    migrations.upgrade(url)
    database = Database(url)
    service = Service.over(resources.connection, database, resources.clock, _signing_key(resources))
    gateways = Limits()
    limits = Limits(_positive(IDLE, gateways.idle_s, "seconds"), _positive(TOTAL, gateways.total_s, "seconds"))
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

    def tell() -> int:
        done = notifier.run_once()
        return done.delivered + done.failed

    def forget() -> int:
        return forget_done(database, now_ms(resources.clock) - CARRIED_KEPT_SECONDS * 1000)

    def close() -> None:
        notifier.close()
        database.close()

    checks = {
        "table": in_thread(resources.connection.run, design.head_of(Place("0", "0"))),
        "database": in_thread(waiting, database),
        "pushes": feed.works,
    }
    sockets = Sockets(
        service,
        hub,
        resources.clock,
        most_per_user=int(_positive(SOCKETS, MOST_SOCKETS, "connections")),
        actions=limit_from(ACTIONS_VARIABLE, ACTIONS),
    ).router()
    return Built(
        application(service, resources.verifier, resources.clock, checks, sockets=sockets, lifespan=feed.lifespan),
        (
            Worker("forum log", service.carry_log, every_s=0.5),
            Worker("forum outbox", forget, every_s=600.0),
            Worker("forum notifications", tell, every_s=1.0),
            Worker("forum presence", service.watching.beat, every_s=SERVER_SECONDS / 3),
        ),
        partial(load_sample, service),
        close,
    )


def _signing_key(resources: Resources) -> Ed25519PrivateKey:
    """Return the key of thread tokens: that of all replicas, or that of this folder. Raises KeyFileError."""
    if resources.secret is not None:
        return resources.secret.signing_key("forum thread tokens")
    return private_key(resources.folder / KEY_FILE)


def _positive(variable: str, default: float, unit: str) -> float:
    """Return a setting as a positive whole number, the default if it is unset or empty. Raises ValueError."""
    text = os.environ.get(variable)
    if not text:
        return default
    if not text.isdecimal() or int(text) == 0:
        raise ValueError(f"{variable} is a whole number of {unit}, not {text!r}")
    return float(text)


SYSTEM = System("forum", "Forum of threads", "keyplan_systems.forum.design", build, demo=play)
