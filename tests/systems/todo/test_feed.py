"""The feed of the lake: the same totals as the table, whatever the consumers and the stream do."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.systems.todo.lake.looking import rows
from tests.systems.todo.stage import connected
from tests.systems.todo.totals import assert_same

import keyplan
from keyplan.changes.checkpoints_file import FileCheckpoints
from keyplan.changes.failures import Failure, JsonLinesFolder
from keyplan.clock import ManualClock, SystemClock
from keyplan.connections.connection import Connection
from keyplan.engine.engine import Engine
from keyplan.engine.faults import Faults
from keyplan.server.thread import ThreadedServer
from keyplan_systems.todo import design
from keyplan_systems.todo import feed as feeds
from keyplan_systems.todo.domain import Policy
from keyplan_systems.todo.entities import Status
from keyplan_systems.todo.entities import app as table
from keyplan_systems.todo.feed import Feed
from keyplan_systems.todo.keeping import Keeping
from keyplan_systems.todo.lake.lake import Lake
from keyplan_systems.todo.once import Request
from keyplan_systems.todo.service import Service
from keyplan_systems.todo.service_users import Person

DAY_S = 86_400


class Town:
    """Some people who write tasks at random."""

    def __init__(self, connection: Connection, clock: Any, seed: int, policy: Policy | None = None) -> None:
        self.service = Service.over(connection, clock, policy)
        self.chance, self.seed = random.Random(seed), seed
        self._sent = 0

    def write(self, count: int) -> None:
        """So many requests, by any of five people."""
        for _ in range(count):
            name = f"u{self.seed}-{self.chance.randrange(5)}"
            self._one(name, self._request(name))

    def _request(self, name: str) -> Request:
        self._sent += 1
        return Request(name, f"{self.seed}-{self._sent}", "f")

    def _one(self, name: str, request: Request) -> None:
        tasks, known = self.service.tasks, [task.task_id for task in self._known(name)]
        if not known or self.chance.random() < 0.4:
            told = {"title": "t", "category": self.chance.choice([None, "home", "work"])}
            tasks.create(request, Person(name, f"{name}@example.org", name), told)
        elif self.chance.random() < 0.2:
            tasks.delete(request, name, self.chance.choice(known), None)
        elif self.chance.random() < 0.05:
            tasks.delete_completed(request, name)
        else:
            status = self.chance.choice(list(Status))
            tasks.change(request, name, self.chance.choice(known), {"status": status}, None)

    def _known(self, name: str) -> Any:
        return self.service.lists._connection.run(design.tasks_of_user(name), limit=20)


@pytest.fixture
def engine(clock: ManualClock) -> Iterator[Engine]:
    with Engine.memory(clock=clock, ttl_sweep_s=None, stream_shards=3) as engine:
        yield engine


@pytest.fixture
def connection(engine: Engine, clock: ManualClock) -> Iterator[Connection]:
    with connected(engine, clock) as connection:
        connection.create_tables(table)
        yield connection


@pytest.fixture
def lake(tmp_path: Path, clock: ManualClock) -> Lake:
    return Lake.open(tmp_path / "lake", clock=clock)


@pytest.fixture
def feed(connection: Connection, lake: Lake, clock: ManualClock) -> Feed:
    return Feed(connection, lake, clock=clock)


def test_the_lake_follows_the_table_and_holds_no_answers(
    connection: Connection, lake: Lake, feed: Feed, clock: ManualClock
) -> None:
    town = Town(connection, clock, 1)
    for _ in range(4):
        town.write(40)
        feed.run_once()
        assert_same(connection, lake)
        clock.advance(60)
    assert feed.run_once() == 0
    assert rows(lake, "SELECT DISTINCT entity FROM bronze.events ORDER BY entity") == [
        {"entity": "email"}, {"entity": "task"}, {"entity": "user"}
    ]  # fmt: skip


def test_a_table_that_is_older_than_its_stream_is_read_first(
    connection: Connection, lake: Lake, clock: ManualClock, engine: Engine
) -> None:
    Town(connection, clock, 1).write(50)
    clock.advance(2 * DAY_S)
    engine.trim_streams()
    Feed(connection, lake, clock=clock).run_once()
    assert_same(connection, lake)
    assert len(lake.snapshot.baselines) == 1


def test_a_feed_that_was_away_for_more_than_a_day_catches_up_from_a_full_reading(
    connection: Connection, lake: Lake, feed: Feed, clock: ManualClock, engine: Engine
) -> None:
    town = Town(connection, clock, 1)
    town.write(60)
    feed.run_once()
    town.write(60)
    clock.advance(DAY_S + 3600)
    engine.trim_streams()
    town.write(30)
    feed.run_once()
    assert len(lake.snapshot.baselines) == 2
    assert_same(connection, lake)
    clock.advance(60)
    town.write(30)
    feed.run_once()
    assert len(lake.snapshot.baselines) == 2
    assert_same(connection, lake)


def test_a_stream_that_was_switched_on_anew_is_followed(
    connection: Connection, lake: Lake, feed: Feed, clock: ManualClock, engine: Engine
) -> None:
    town = Town(connection, clock, 1)
    town.write(30)
    feed.run_once()
    name = {"TableName": "todo-app-data"}
    engine.call("UpdateTable", {**name, "StreamSpecification": {"StreamEnabled": False}})
    clock.advance(60)
    on = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    engine.call("UpdateTable", {**name, "StreamSpecification": on})
    town.write(30)
    feed.run_once()
    feed.run_once()
    assert_same(connection, lake)


def test_expired_tasks_are_archived_and_deleted_ones_deleted(
    connection: Connection, lake: Lake, feed: Feed, clock: ManualClock, engine: Engine
) -> None:
    service = Service.over(connection, clock, Policy(completed_retention_days=1))
    ada = Person("ada", "ada@example.org", "Ada")
    made = [service.tasks.create(Request("ada", str(n), "f"), ada, {"title": "t"}) for n in range(3)]
    ids = [orjson.loads(answer.body)["task_id"] for answer in made]
    service.tasks.change(Request("ada", "c", "f"), "ada", ids[0], {"status": Status.COMPLETED}, None)
    service.tasks.delete(Request("ada", "d", "f"), "ada", ids[1], None)
    feed.run_once()
    clock.advance(DAY_S)
    assert len(connection.all(design.tasks_of_user("ada"))) == 1  # hidden from now on, though still stored
    clock.advance(1)
    assert engine.sweep() > 0
    feed.run_once()
    lake.refresh()
    removed = {row["task_id"]: row["removal"] for row in rows(lake, "SELECT * FROM silver.removed_tasks")}
    assert removed == {ids[0]: "expired", ids[1]: "deleted"}
    assert rows(lake, "SELECT tasks, archived, deleted_tasks FROM gold.kpis") == [
        {"tasks": 1, "archived": 1, "deleted_tasks": 1}
    ]


def test_two_feeds_that_share_checkpoints_share_the_work(
    connection: Connection, lake: Lake, clock: ManualClock, tmp_path: Path
) -> None:
    kept = FileCheckpoints(tmp_path / "checkpoints.json")
    one, other = (Feed(connection, lake, clock=clock, checkpoints=kept, runner=name) for name in ("one", "other"))
    town = Town(connection, clock, 1)
    town.write(50)
    assert one.run_once() > 0
    assert other.run_once() == 0
    town.write(50)
    one.close()
    assert other.run_once() > 0
    assert_same(connection, lake)
    clock.advance(3600)  # its leases are over
    town.write(20)
    assert one.run_once() > 0
    assert other.run_once() == 0
    assert_same(connection, lake)


def test_a_second_lake_and_one_made_anew_begin_from_the_beginning(
    connection: Connection, lake: Lake, clock: ManualClock, tmp_path: Path
) -> None:
    Town(connection, clock, 1).write(30)
    Feed(connection, lake, clock=clock).run_once()
    second = Lake.open(tmp_path / "second", clock=clock)
    Feed(connection, second, clock=clock).run_once()
    assert_same(connection, second)
    shutil.rmtree(tmp_path / "second")
    anew = Lake.open(tmp_path / "second", clock=clock)
    Feed(connection, anew, clock=clock).run_once()
    assert_same(connection, anew)
    assert Lake.open(tmp_path / "second").identity() == anew.identity() != lake.identity()


def test_two_feeds_that_know_nothing_of_each_other_store_everything_once(
    connection: Connection, lake: Lake, clock: ManualClock, tmp_path: Path
) -> None:
    feeds = [
        Feed(connection, lake, clock=clock, checkpoints=FileCheckpoints(tmp_path / f"{number}.json"))
        for number in range(2)
    ]
    town = Town(connection, clock, 1)
    for _ in range(3):
        town.write(30)
        for one in feeds:
            clock.advance(1)
            assert one.run_once() > 0
    assert_same(connection, lake)
    repeated = rows(lake, "SELECT count(*) - count(DISTINCT (stream, sequence, pk, sk)) AS n FROM bronze.events")
    assert repeated == [{"n": 0}]


class Crew:
    """Threads whose errors are told at the end."""

    def __init__(self) -> None:
        self._errors: list[BaseException] = []
        self._stop = threading.Event()

    def once(self, act: Callable[[], object]) -> threading.Thread:
        """Do something in a thread."""
        thread = threading.Thread(target=self._work, args=(act,))
        thread.start()
        return thread

    def again(self, act: Callable[[], object]) -> threading.Thread:
        """Do something again and again, until it is time to end."""

        def loop() -> None:
            while not self._stop.is_set():
                act()

        return self.once(loop)

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
        except BaseException as error:  # noqa: BLE001 - told in the end
            self._errors.append(error)


def test_concurrent_writers_feeds_and_refreshes_end_in_the_same_totals(tmp_path: Path) -> None:
    clock = SystemClock(1)
    faults = Faults(
        seed=1, duplicate_stream_records=0.2, reorder_stream_records=0.2, conflicts=0.02, internal_errors=0.02
    )
    with (
        Engine.memory(clock=clock, ttl_sweep_s=None, stream_shards=2, faults=faults) as engine,
        connected(engine, clock, attempts=20) as connection,
    ):
        connection.create_tables(table)
        lake, crew = Lake.open(tmp_path / "lake", clock=clock), Crew()
        feeds = [Feed(connection, lake, clock=clock, lease_s=0.2) for _ in range(2)]
        writers = [crew.once(partial(Town(connection, clock, seed).write, 60)) for seed in range(3)]
        crew.end(writers, [*(crew.again(feed.run_once) for feed in feeds), crew.again(Keeping(lake).run_once)])
        for feed in feeds:
            feed.close()
        feeds[0].run_once()
        assert_same(connection, lake)


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


def test_a_consumer_killed_between_storing_and_its_checkpoint_loses_and_doubles_nothing(tmp_path: Path) -> None:
    clock = SystemClock(2)
    with ExitStack() as stack:
        engine = stack.enter_context(Engine.memory(clock=clock, ttl_sweep_s=None))
        server = stack.enter_context(ThreadedServer(engine))
        connection = stack.enter_context(keyplan.connect(server.url, clock=clock))
        connection.create_tables(table)
        Town(connection, clock, 3).write(30)
        lake, kills = Lake.open(tmp_path / "lake"), 0
        for after in (1, 2, 3, 10_000):
            command = [sys.executable, "-c", CONSUMER, server.url, str(tmp_path / "lake"), str(after)]
            done = subprocess.run(command, check=False, timeout=120)
            assert done.returncode == (0 if after == 10_000 else -9)
            kills += done.returncode == -9
        assert kills == 3
        assert_same(connection, lake)
        stored = rows(lake, "SELECT count(*) AS n, count(DISTINCT sequence) AS told FROM bronze.events")
        assert stored[0]["n"] == stored[0]["told"] > 30


def test_a_record_that_the_lake_refuses_goes_where_failures_go(
    connection: Connection, lake: Lake, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    town = Town(connection, clock, 1)
    town.write(10)
    told = feeds.as_delivered
    broken = "u1-0"

    def mangled(record: Any) -> dict[str, Any]:
        made = told(record)
        if made["dynamodb"]["Keys"]["PK"] == {"S": f"USER#{broken}"}:
            made["eventName"] = "NONSENSE"
        return made

    monkeypatch.setattr(feeds, "as_delivered", mangled)
    folder = JsonLinesFolder(tmp_path / "failures")
    feed = Feed(connection, lake, clock=clock, failures=folder)
    feed.run_once()
    failures: list[Failure] = list(folder.read(feed.consumer))
    assert [failure.record.keys["PK"]["S"] for failure in failures] == [f"USER#{broken}"]
    assert "eventName is 'NONSENSE'" in failures[0].error
    lake.refresh()
    assert rows(lake, "SELECT count(*) > 0 AS some FROM bronze.events") == [{"some": True}]
