"""Feed of the lake: the same totals as the table, whatever happens to consumers and stream."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.systems.served_engine import ServedEngine, served
from tests.systems.todo.lake.queries import rows
from tests.systems.todo.random_users import RandomUsers
from tests.systems.todo.totals import assert_same

from keyplan.client.connection import Connection
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.streams.checkpoints import FileCheckpoints
from keyplan.streams.failures import JsonLinesFolder
from keyplan.streams.records import Failure
from keyplan_systems.todo import design
from keyplan_systems.todo import feed as feeds
from keyplan_systems.todo.domain import Policy
from keyplan_systems.todo.entities import Status
from keyplan_systems.todo.feed import Feed
from keyplan_systems.todo.idempotency import Request
from keyplan_systems.todo.lake import refresh
from keyplan_systems.todo.lake.lake import Lake
from keyplan_systems.todo.service import Service
from keyplan_systems.todo.service_users import Person

DAY_S = 86_400


@pytest.fixture
def engine(place: str, clock: ManualClock, tmp_path: Path) -> Iterator[Engine | ServedEngine]:
    """Yield an engine in this process with streams of three shards, or an endpoint."""
    if place == "served":
        with served(tmp_path) as endpoint:
            yield endpoint
    else:
        with Engine.memory(clock=clock, ttl_sweep_s=None, stream_shards=3) as engine:
            yield engine


def test_the_lake_follows_the_table_and_contains_no_responses(
    connection: Connection, lake: Lake, feed: Feed, clock: ManualClock
) -> None:
    town = RandomUsers(connection, clock, 1)
    for _ in range(4):
        town.write(40)
        feed.run_once()
        assert_same(connection, lake)
        clock.advance(60)
    assert feed.run_once() == 0
    assert rows(lake, "SELECT DISTINCT entity FROM bronze.events ORDER BY entity") == [
        {"entity": "email"}, {"entity": "task"}, {"entity": "user"}
    ]  # fmt: skip


def test_changes_count_even_if_the_feeds_clock_is_ahead_of_the_services(
    connection: Connection, lake: Lake, clock: ManualClock
) -> None:
    town, ahead = RandomUsers(connection, clock, 1), ManualClock(clock.now() + 60)
    town.write(10)
    feed = Feed(connection, lake, clock=ahead)
    feed.catch_up()
    town.write(30)
    feed.run_once()
    assert_same(connection, lake)


def test_a_full_read_undone_by_another_feed_is_repeated(
    connection: Connection, lake: Lake, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two feeds read the table at once: the one that started first finishes while the other still reads."""
    monkeypatch.setattr(refresh, "_ITEMS_PER_FILE", 1)
    RandomUsers(connection, clock, 1).write(10)
    first = Feed(connection, lake, clock=ManualClock(clock.now() - 1))
    second = Feed(connection, lake, clock=clock)
    all_items, readings = Feed._all_items, list[Feed]()

    def interrupted(feed: Feed) -> Iterator[Mapping[str, Any]]:
        readings.append(feed)
        yield from all_items(feed)
        if readings == [second]:
            first.catch_up()

    monkeypatch.setattr(Feed, "_all_items", interrupted)
    second.catch_up()
    assert readings == [second, first, second]
    second.run_once()
    assert_same(connection, lake)


@pytest.mark.embedded("a stream trimmed when the test says so")
def test_a_table_older_than_its_stream_is_read_first(
    connection: Connection, lake: Lake, clock: ManualClock, engine: Engine
) -> None:
    RandomUsers(connection, clock, 1).write(50)
    clock.advance(2 * DAY_S)
    engine.trim_streams()
    Feed(connection, lake, clock=clock).run_once()
    assert_same(connection, lake)
    assert len(lake.snapshot.baselines) == 1


@pytest.mark.embedded("a stream trimmed when the test says so")
def test_a_feed_that_was_away_for_more_than_a_day_catches_up_by_a_full_read(
    connection: Connection, lake: Lake, feed: Feed, clock: ManualClock, engine: Engine
) -> None:
    town = RandomUsers(connection, clock, 1)
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


def test_a_stream_enabled_again_is_followed(
    connection: Connection, lake: Lake, feed: Feed, clock: ManualClock, engine: Engine | ServedEngine
) -> None:
    town = RandomUsers(connection, clock, 1)
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


@pytest.mark.embedded("a stream trimmed when the test says so")
def test_changes_in_lost_shards_are_recovered_by_a_full_read(
    connection: Connection, lake: Lake, feed: Feed, clock: ManualClock, engine: Engine
) -> None:
    town, name = RandomUsers(connection, clock, 1), {"TableName": "todo-app-data"}
    town.write(30)
    feed.run_once()
    feed.close()
    town.write(30)
    engine.call("UpdateTable", {**name, "StreamSpecification": {"StreamEnabled": False}})
    clock.advance(2 * DAY_S)
    engine.trim_streams()
    on = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    engine.call("UpdateTable", {**name, "StreamSpecification": on})
    Feed(connection, lake, clock=clock).run_once()
    assert len(lake.snapshot.baselines) == 2
    assert_same(connection, lake)


@pytest.mark.embedded("expiry when the test says so")
def test_expired_tasks_are_archived_and_deleted_ones_deleted(
    connection: Connection, lake: Lake, feed: Feed, clock: ManualClock, engine: Engine
) -> None:
    service = Service.from_connection(connection, clock, Policy(completed_retention_days=1))
    ada = Person("ada", "ada@example.org", "Ada")
    responses = [service.tasks.create(Request("ada", str(n), "f"), ada, {"title": "t"}) for n in range(3)]
    ids = [orjson.loads(response.body)["task_id"] for response in responses]
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


def test_records_that_could_not_be_stored_are_read_again(
    connection: Connection, lake: Lake, feed: Feed, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    town, write, attempts = RandomUsers(connection, clock, 1), lake.bronze.write, list[int]()

    def full_at_first(records: Any, **options: Any) -> Any:
        attempts.append(len(records))
        if len(attempts) == 1:
            raise OSError("no space left on device")
        return write(records, **options)

    feed.run_once()
    town.write(30)
    monkeypatch.setattr(lake.bronze, "write", full_at_first)
    with pytest.raises(OSError, match="no space left"):
        feed.run_once()
    town.write(10)
    feed.run_once()
    assert_same(connection, lake)


def test_two_feeds_that_share_checkpoints_share_the_work(
    connection: Connection, lake: Lake, clock: ManualClock, tmp_path: Path
) -> None:
    checkpoints = FileCheckpoints(tmp_path / "checkpoints.json")
    first, second = (
        Feed(connection, lake, clock=clock, checkpoints=checkpoints, runner=name) for name in ("one", "other")
    )
    town = RandomUsers(connection, clock, 1)
    town.write(50)
    assert first.run_once() > 0
    assert second.run_once() == 0
    town.write(50)
    first.close()
    assert second.run_once() > 0
    assert_same(connection, lake)
    clock.advance(3600)  # its leases have expired
    town.write(20)
    assert first.run_once() > 0
    assert second.run_once() == 0
    assert_same(connection, lake)


def test_a_second_lake_and_a_recreated_one_start_from_the_beginning(
    connection: Connection, lake: Lake, clock: ManualClock, tmp_path: Path
) -> None:
    RandomUsers(connection, clock, 1).write(30)
    Feed(connection, lake, clock=clock).run_once()
    second = Lake.open(tmp_path / "second", clock=clock)
    Feed(connection, second, clock=clock).run_once()
    assert_same(connection, second)
    shutil.rmtree(tmp_path / "second")
    second = Lake.open(tmp_path / "second", clock=clock)
    Feed(connection, second, clock=clock).run_once()
    assert_same(connection, second)
    assert Lake.open(tmp_path / "second").identity() == second.identity() != lake.identity()


def test_two_independent_feeds_store_everything_once(
    connection: Connection, lake: Lake, clock: ManualClock, tmp_path: Path
) -> None:
    feeds = [
        Feed(connection, lake, clock=clock, checkpoints=FileCheckpoints(tmp_path / f"{number}.json"))
        for number in range(2)
    ]
    town = RandomUsers(connection, clock, 1)
    for _ in range(3):
        town.write(30)
        for feed in feeds:
            clock.advance(1)
            assert feed.run_once() > 0
    assert_same(connection, lake)
    repeated = rows(lake, "SELECT count(*) - count(DISTINCT (stream, sequence, pk, sk)) AS n FROM bronze.events")
    assert repeated == [{"n": 0}]


def test_a_record_rejected_by_the_lake_goes_to_the_failure_destination(
    connection: Connection, lake: Lake, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    town = RandomUsers(connection, clock, 1)
    town.write(10)
    result = feeds.delivered_record
    broken = "u1-0"

    def mangled(record: Any) -> dict[str, Any]:
        record_sent = result(record)
        if record_sent["dynamodb"]["Keys"]["PK"] == {"S": f"USER#{broken}"}:
            record_sent["eventName"] = "NONSENSE"
        return record_sent

    monkeypatch.setattr(feeds, "delivered_record", mangled)
    folder = JsonLinesFolder(tmp_path / "failures")
    feed = Feed(connection, lake, clock=clock, failures=folder)
    feed.run_once()
    failures: list[Failure] = list(folder.read(feed.consumer))
    assert [failure.record.keys["PK"]["S"] for failure in failures] == [f"USER#{broken}"]
    assert "eventName is 'NONSENSE'" in failures[0].error
    lake.refresh()
    assert rows(lake, "SELECT count(*) > 0 AS some FROM bronze.events") == [{"some": True}]
