"""What each row of the document's table of access patterns costs, measured: by itself, and as a request to the API.

One user with 25 tasks of about 600 bytes that are in all four indexes: 5 of each status and due date, all priorities.
A list reads all 25, in one page.

python -m tests.systems.todo.units
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.systems.elsewhere import connected
from tests.systems.todo.stage import Caller, Stage, staged
from tests.systems.todo.units_rows import NOW, NOW_S, TASKS, Row, rows, task_of

from keyplan.clock import ManualClock
from keyplan.connections.connection import Connection
from keyplan.engine.engine import Engine
from keyplan_systems.todo import design
from keyplan_systems.todo.entities import User, app


@dataclass
class Meter:
    """The units of everything that goes through a connection."""

    read: float = 0.0
    write: float = 0.0

    @contextmanager
    def on(self, connection: Connection) -> Iterator[None]:
        """Ask for the receipt of every call."""
        call = connection._call

        def metered(operation: str, request: dict[str, Any]) -> Any:
            answer = call(operation, {**request, "ReturnConsumedCapacity": "TOTAL"})
            self._add(operation, answer.get("ConsumedCapacity"))
            return answer

        connection._call = metered
        try:
            yield
        finally:
            connection._call = call

    def _add(self, operation: str, receipts: Any) -> None:
        for receipt in receipts if isinstance(receipts, list) else [receipts]:
            if operation in {"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"}:
                self.read += receipt["CapacityUnits"]
            else:
                self.write += receipt["CapacityUnits"]

    def __str__(self) -> str:
        parts = [f"{amount:g} {unit}" for amount, unit in ((self.read, "RCU"), (self.write, "WCU")) if amount]
        return " + ".join(parts) or "0"


def filled(connection: Connection) -> None:
    """Make the user with the 25 tasks."""
    connection.create_tables(app)
    user = User(user_id="ada", email="ada@example.org", name="ada", created_at=NOW, updated_at=NOW, version=1)
    connection.run(design.create_user(user))
    for number in range(TASKS):
        connection.run(design.create_task(task_of(number)))


def alone(row: Row) -> str:
    """The units of the pattern by itself, on a fresh table."""
    if row.alone is None:
        return ""
    clock, meter = ManualClock(NOW_S), Meter()
    with Engine.memory(clock=clock, ttl_sweep_s=None) as engine, connected(engine, clock) as connection:
        filled(connection)
        with meter.on(connection):
            row.alone(connection)
    return str(meter)


@contextmanager
def asking(folder: Path) -> Iterator[tuple[Stage, Caller]]:
    """The API on a fresh table, and the user."""
    clock = ManualClock(NOW_S)
    with (
        Engine.memory(clock=clock, ttl_sweep_s=None) as engine,
        connected(engine, clock) as connection,
        staged(connection, clock, folder) as stage,
    ):
        filled(connection)
        yield stage, stage.person("ada", "administrators")


def asked(row: Row, stage: Stage, caller: Caller) -> str:
    """The units of a request."""
    if row.asked is None:
        return ""
    caller = stage.person("bob") if row.pattern == "create_user" else caller
    if row.pattern == "answer_given":
        row.asked(caller)  # what is measured is the replay
    meter = Meter()
    with meter.on(stage.connection):
        row.asked(caller)
    return str(meter)


def table(folder: Path) -> str:
    """All of it as Markdown."""
    lines = [
        "| Access pattern | Claimed | Pattern | Measured | A request to the API | Remark |",
        "|---|---|---|---|---|---|",
    ]
    with asking(folder) as (stage, caller):
        reads = {row.what: asked(row, stage, caller) for row in rows() if not row.writes}
    for row in rows():
        if row.writes:
            with asking(folder) as (stage, caller):
                request = asked(row, stage, caller)
        else:
            request = reads[row.what]
        lines.append(f"| {row.what} | {row.claim} | `{row.pattern}` | {alone(row)} | {request} | {row.remark} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        print(table(Path(made)), end="")
