"""Benchmark: change events per second that one core moves from the engine's stream into Parquet, end to end.

taskset -c 0 python -m tests.systems.todo.throughput [events]
"""

from __future__ import annotations

import sys
import tempfile
import time
from datetime import UTC, date, datetime
from pathlib import Path

import keyplan
from keyplan.client.connection import Connection
from keyplan.clock import SystemClock
from keyplan.engine.engine import Engine
from keyplan_systems.todo import design
from keyplan_systems.todo.entities import Priority, Task
from keyplan_systems.todo.entities import app as table
from keyplan_systems.todo.feed import Feed
from keyplan_systems.todo.lake.lake import Lake

EVENTS = 50_000


def fill(connection: Connection, events: int) -> None:
    """Write changes to the stream: tasks of the size that the design declares, each created, then changed."""
    now = datetime(2025, 11, 20, 12, tzinfo=UTC)
    for number in range(events // 2):
        task = Task(
            user_id=f"user-{number % 997}",
            task_id=f"{number:08d}",
            title="Buy milk",
            description="x" * 200,
            priority=Priority.HIGH,
            category="home",
            due_date=date(2025, 12, 1),
            created_at=now,
            updated_at=now,
            version=1,
        )
        connection.run(design.create_task(task))
        connection.run(design.replace_task(task))


def measure(folder: Path, events: int) -> float:
    """Return events per second, with checkpoints in a table of the same engine."""
    clock = SystemClock()
    with Engine.open(folder / "todo.db", clock=clock) as engine, keyplan.connect(engine=engine) as connection:
        connection.create_tables(table)
        lake = Lake.open(folder / "lake")
        feed = Feed(connection, lake, clock=clock)
        feed.run_once()  # the first reading of the table, which is still empty
        fill(connection, events)
        start = time.perf_counter()
        read = feed.run_once()
        took_s = time.perf_counter() - start
        assert read == events, "every event was read"
        stored = lake.query("SELECT count(*) AS n FROM bronze.events")["n"][0].as_py()
        assert stored == events, "and stored once"
    return events / took_s


def main() -> None:
    """Print the result."""
    events = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    with tempfile.TemporaryDirectory() as folder:
        print(f"{measure(Path(folder), events):.0f} events/s from the engine's stream into Parquet")


if __name__ == "__main__":
    main()
