"""Measured cost of each row of the document's table of access patterns: of the pattern, and of a request to the API.

One user with 25 tasks of about 600 bytes that are in all four indexes: 5 of each status and due date, all priorities. A
list reads all 25, in one page.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.systems.metered import Metered, metered
from tests.systems.served_engine import connected
from tests.systems.todo.stage import Caller, Stage, staged
from tests.systems.todo.units_rows import NOW, NOW_S, TASKS, Row, rows, task_of

from keyplan.client.connection import Connection
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.todo import design
from keyplan_systems.todo.entities import User, app


def units_text(meter: Metered) -> str:
    """Return the billed units."""
    parts = [f"{amount:g} {unit}" for amount, unit in ((meter.read, "RCU"), (meter.write, "WCU")) if amount]
    return " + ".join(parts) or "0"


def fill(connection: Connection) -> None:
    """Create the user with the 25 tasks."""
    connection.create_tables(app)
    user = User(user_id="ada", email="ada@example.org", name="ada", created_at=NOW, updated_at=NOW, version=1)
    connection.run(design.create_user(user))
    for number in range(TASKS):
        connection.run(design.create_task(task_of(number)))


def pattern_units(row: Row) -> str:
    """Return the units of the pattern alone, on a fresh table."""
    if row.call is None:
        return ""
    clock = ManualClock(NOW_S)
    with Engine.memory(clock=clock, ttl_sweep_s=None) as engine, connected(engine, clock) as unmetered:
        connection, meter = metered(unmetered)
        fill(connection)
        meter.reset()
        row.call(connection)
    return units_text(meter)


@contextmanager
def running_api() -> Iterator[tuple[Stage, Caller, Metered]]:
    """Yield the API on a fresh table, the user, and the meter of the table."""
    clock = ManualClock(NOW_S)
    with (
        Engine.memory(clock=clock, ttl_sweep_s=None) as engine,
        connected(engine, clock) as unmetered,
        tempfile.TemporaryDirectory() as folder,
    ):
        connection, meter = metered(unmetered)
        with staged(connection, clock, Path(folder)) as stage:
            fill(connection)
            yield stage, stage.person("ada", "administrators"), meter


def request_units(row: Row, stage: Stage, caller: Caller, meter: Metered) -> str:
    """Return the units of a request."""
    if row.request is None:
        return ""
    caller = stage.person("bob") if row.pattern == "create_user" else caller
    if row.pattern == "answer_given":
        row.request(caller)  # the replay is measured
    meter.reset()
    row.request(caller)
    return units_text(meter)


def table() -> str:
    """Return all rows as Markdown."""
    lines = [
        "| Access pattern | Claimed | Pattern | Measured | A request to the API | Remark |",
        "|---|---|---|---|---|---|",
    ]
    with running_api() as (stage, caller, meter):
        reads = {row.label: request_units(row, stage, caller, meter) for row in rows() if not row.writes}
    for row in rows():
        if row.writes:
            with running_api() as (stage, caller, meter):
                request = request_units(row, stage, caller, meter)
        else:
            request = reads[row.label]
        lines.append(
            f"| {row.label} | {row.claim} | `{row.pattern}` | {pattern_units(row)} | {request} | {row.remark} |"
        )
    return "\n".join(lines) + "\n"
