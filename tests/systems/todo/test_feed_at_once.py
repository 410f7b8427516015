"""Feeds with concurrent writers, other feeds and kills, in real time: the lake ends with the table's totals."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.systems.served_engine import ServedEngine, connected, served
from tests.systems.todo.lake.queries import rows
from tests.systems.todo.random_users import RandomUsers
from tests.systems.todo.totals import assert_same

from keyplan.clock import SystemClock
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan_systems.todo.entities import app as table
from keyplan_systems.todo.feed import Feed
from keyplan_systems.todo.lake.lake import Lake
from keyplan_systems.todo.lake_maintenance import LakeMaintenance


@pytest.fixture
def clock() -> SystemClock:
    """Return the system clock."""
    return SystemClock(1)


class Crew:
    """Threads whose errors are raised at the end."""

    def __init__(self) -> None:
        self._errors: list[BaseException] = []
        self._stop = threading.Event()

    def idempotency(self, act: Callable[[], object]) -> threading.Thread:
        """Run a function in a thread."""
        thread = threading.Thread(target=self._work, args=(act,))
        thread.start()
        return thread

    def again(self, act: Callable[[], object]) -> threading.Thread:
        """Run a function repeatedly until the end."""

        def loop() -> None:
            while not self._stop.is_set():
                act()

        return self.idempotency(loop)

    def end(self, writers: list[threading.Thread], others: list[threading.Thread]) -> None:
        """Wait for the writers, then stop the others."""
        for thread in writers:
            thread.join()
        self._stop.set()
        for thread in others:
            thread.join()
        assert self._errors == []

    def _work(self, act: Callable[[], object]) -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - raised at the end
            self._errors.append(error)


def check_a_crew(engine: Engine | ServedEngine, clock: SystemClock, folder: Path, writes: int) -> None:
    """Run three writers, two feeds with short leases, and the lake's maintenance concurrently."""
    with connected(engine, clock, attempts=20) as connection:
        connection.create_tables(table)
        lake, crew = Lake.open(folder / "lake", clock=clock), Crew()
        feeds = [Feed(connection, lake, clock=clock, lease_s=0.2) for _ in range(2)]
        writers = [crew.idempotency(partial(RandomUsers(connection, clock, seed).write, writes)) for seed in range(3)]
        crew.end(writers, [*(crew.again(feed.run_once) for feed in feeds), crew.again(LakeMaintenance(lake).run_once)])
        for feed in feeds:
            feed.close()
        feeds[0].run_once()
        assert_same(connection, lake)


def test_concurrent_writers_feeds_and_refreshes_give_the_same_totals(
    engine: Engine | ServedEngine, clock: SystemClock, tmp_path: Path
) -> None:
    check_a_crew(engine, clock, tmp_path, 30)


@pytest.mark.embedded("faults on purpose")
def test_totals_are_the_same_with_a_repeated_reordered_stream_and_service_failures(
    clock: SystemClock, tmp_path: Path
) -> None:
    faults = Faults(
        seed=1, duplicate_stream_records=0.2, reorder_stream_records=0.2, conflicts=0.02, internal_errors=0.02
    )
    with Engine.memory(clock=clock, ttl_sweep_s=None, stream_shards=2, faults=faults) as engine:
        check_a_crew(engine, clock, tmp_path, 60)


CONSUMER = """
import os, sys
import keyplan
from keyplan.clock import SystemClock
from keyplan_systems.todo import feed as feeds
from keyplan_systems.todo.lake.lake import Lake

feeds.BATCH_RECORDS = 7
clock = SystemClock()
with keyplan.connect(sys.argv[1], clock=clock) as connection:
    lake = Lake.open(sys.argv[2])
    feed = feeds.Feed(connection, lake, clock=clock, runner="only")
    save, left = feed._save, [int(sys.argv[3])]
    def killed(reader):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), 9)  # stored, and no checkpoint
        return save(reader)
    feed._save = killed
    feed.run_once()
"""


def test_a_consumer_killed_between_storing_and_its_checkpoint_loses_and_duplicates_nothing(
    clock: SystemClock, tmp_path: Path
) -> None:
    with served(tmp_path) as endpoint, endpoint.connect(clock=clock) as connection:
        connection.create_tables(table)
        RandomUsers(connection, clock, 3).write(30)
        lake = Lake.open(tmp_path / "lake")
        for after, code in ((1, -9), (3, -9), (10_000, 0)):
            command = [sys.executable, "-c", CONSUMER, endpoint.url, str(tmp_path / "lake"), str(after)]
            assert subprocess.run(command, check=False).returncode == code
        assert_same(connection, lake)
        stored = rows(lake, "SELECT count(*) AS n, count(DISTINCT sequence) AS known FROM bronze.events")
        assert stored[0]["n"] == stored[0]["known"] > 30
