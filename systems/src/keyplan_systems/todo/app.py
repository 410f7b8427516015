"""Builds the to-do system: the API, the worker that deletes users, and the feed of the data lake."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

from keyplan_systems.todo.api import application
from keyplan_systems.todo.dashboard import Dashboard
from keyplan_systems.todo.demo import play, show
from keyplan_systems.todo.design import answer_given
from keyplan_systems.todo.domain import Policy
from keyplan_systems.todo.sample import PEOPLE, load_sample
from keyplan_systems.todo.service import Service
from keyplan_systems.web.health import in_thread
from keyplan_systems.web.system import BuiltSystem, Resources, System, Worker

RETENTION = "KEYPLAN_TODO_COMPLETED_RETENTION_DAYS"
"""Environment variable with the number of days for which completed tasks are kept. If it is unset, they are kept
permanently.
"""
LAKE = "KEYPLAN_TODO_LAKE"
"""Environment variable with the location of the data lake, such as s3://bucket/todo. The default is the folder `lake`
in the system's data folder.
"""
REFRESH_INTERVAL_S = 15.0


def build(resources: Resources) -> BuiltSystem:
    """Build the to-do system. Raises ValueError for invalid settings."""
    service = Service.from_connection(resources.connection, resources.clock, _policy())

    table = in_thread(resources.connection.run, answer_given("health", "health"))
    deletions = Worker("todo deletions", service.deletions.run_once, every_s=2.0)
    lake_workers, dashboard, close = _lake(resources)
    return BuiltSystem(
        application(service, resources.verifier, resources.clock, {"table": table}, dashboard),
        (deletions, *lake_workers),
        partial(load_sample, service, resources.clock),
        close,
    )


def _policy() -> Policy:
    days = os.environ.get(RETENTION)
    if not days:  # an empty variable counts as unset
        return Policy()
    if not days.isdecimal():
        raise ValueError(f"{RETENTION} must be a whole number of days, not {days!r}")
    return Policy(int(days))


def _lake(resources: Resources) -> tuple[list[Worker], Dashboard | None, Callable[[], None]]:
    """Return the workers of the data lake, the dashboard, and a function that closes the lake.

    The lake and the dashboard require the extra `lake` of keyplan-systems. If it is not installed, the result contains
    no workers and no dashboard.
    """
    if find_spec("pyarrow") is None or find_spec("duckdb") is None:
        return [], None, lambda: None
    from keyplan_systems.todo.feed import Feed  # noqa: PLC0415 - the lake is an extra
    from keyplan_systems.todo.lake.lake import Lake  # noqa: PLC0415
    from keyplan_systems.todo.lake_maintenance import LakeMaintenance  # noqa: PLC0415

    lake = Lake.open(os.environ.get(LAKE) or resources.folder / "lake", clock=resources.clock)
    feed = Feed(
        resources.connection,
        lake,
        clock=resources.clock,
        failures=resources.dead_letters,
        runner=resources.runner,
    )
    workers = [
        Worker("todo lake feed", feed.run_once, every_s=1.0),
        Worker("todo lake refresh", LakeMaintenance(lake).run_once, every_s=REFRESH_INTERVAL_S),
    ]
    return workers, Dashboard(lake, resources.clock), feed.close


SYSTEM = System(
    "todo",
    "To-do with a data lake",
    "keyplan_systems.todo.design",
    build,
    demo=play,
    tour=show,
    people=PEOPLE,
    start="app/",
)
