"""Feed of the lake while the stream is off: changes of that time are in no stream, and are read from the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.systems.served_engine import ServedEngine
from tests.systems.todo.random_users import RandomUsers
from tests.systems.todo.totals import assert_same

from keyplan.client.connection import Connection
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.streams.streams import Call, TableStream, streams_of
from keyplan_systems.todo import feed as feeds
from keyplan_systems.todo.feed import MAX_CLOCK_DIFFERENCE, Feed
from keyplan_systems.todo.lake.errors import StaleExportError
from keyplan_systems.todo.lake.lake import Lake

TABLE = {"TableName": "todo-app-data"}
OFF = {"StreamEnabled": False}
DAY_S = 86_400
ON = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


@pytest.mark.parametrize("followed", [True, False], ids=["read to its end", "left unread"])
def test_changes_while_the_stream_was_disabled_are_recovered_by_a_full_read(
    followed: bool, connection: Connection, lake: Lake, feed: Feed, clock: ManualClock, engine: Engine | ServedEngine
) -> None:
    town = RandomUsers(connection, clock, 1)
    town.write(30)
    feed.run_once()
    town.write(30)
    if followed:
        feed.run_once()
    engine.call("UpdateTable", {**TABLE, "StreamSpecification": OFF})
    clock.advance(1)
    town.write(30)
    engine.call("UpdateTable", {**TABLE, "StreamSpecification": ON})
    town.write(10)
    feed.run_once()
    feed.run_once()
    assert_same(connection, lake)
    readings = len(lake.snapshot.baselines)
    town.write(10)
    feed.run_once()
    assert_same(connection, lake)
    assert len(lake.snapshot.baselines) == readings


def test_a_recent_export_does_not_cover_later_changes_while_the_stream_was_disabled(
    connection: Connection, lake: Lake, feed: Feed, clock: ManualClock, engine: Engine | ServedEngine
) -> None:
    town = RandomUsers(connection, clock, 1)
    town.write(30)
    feed.run_once()
    clock.advance(60)
    feed.catch_up(list(feed._all_items()), datetime.fromtimestamp(clock.now(), UTC))
    engine.call("UpdateTable", {**TABLE, "StreamSpecification": OFF})
    clock.advance(1)
    town.write(30)
    engine.call("UpdateTable", {**TABLE, "StreamSpecification": ON})
    with pytest.raises(StaleExportError):
        feed.run_once()
    clock.advance(MAX_CLOCK_DIFFERENCE.total_seconds())
    feed.run_once()
    assert_same(connection, lake)


def test_a_shard_missing_from_an_older_list_is_still_read(
    connection: Connection, lake: Lake, feed: Feed, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another feed has found it, read some of it and released it since that list was read."""
    town = RandomUsers(connection, clock, 1)
    town.write(10)
    feed.run_once()
    feed.close()

    def older(call: Call, table: str) -> list[TableStream]:
        return [replace(stream, shards=()) for stream in streams_of(call, table)]

    other = Feed(connection, lake, clock=clock)
    with monkeypatch.context() as patch:
        patch.setattr(feeds, "streams_of", older)
        other.run_once()
    town.write(10)
    other.run_once()
    assert_same(connection, lake)


@pytest.mark.embedded("a stream trimmed when the test says so")
def test_a_failed_full_read_after_a_gap_is_repeated(
    connection: Connection,
    lake: Lake,
    feed: Feed,
    clock: ManualClock,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    town = RandomUsers(connection, clock, 1)
    town.write(30)
    feed.run_once()
    town.write(30)
    clock.advance(DAY_S + 3600)
    engine.trim_streams()
    town.write(10)

    def failing(_feed: Feed) -> Iterator[Mapping[str, Any]]:
        raise OSError("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(Feed, "_all_items", failing)
        with pytest.raises(OSError, match="no answer"):
            feed.run_once()
    feed.run_once()
    assert_same(connection, lake)


@pytest.mark.embedded("a stream trimmed when the test says so")
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "killed"])
def test_records_trimmed_from_an_unread_shard_are_recovered(
    closed: bool, connection: Connection, lake: Lake, feed: Feed, clock: ManualClock, engine: Engine
) -> None:
    """Its reader has no position in it that could be lost."""
    town = RandomUsers(connection, clock, 1)
    feed.run_once()
    if closed:
        feed.close()
    clock.advance(600)
    town.write(30)
    clock.advance(DAY_S + 3600)
    engine.trim_streams()
    town.write(10)
    later = Feed(connection, lake, clock=clock)
    later.run_once()
    assert_same(connection, lake)
    readings = len(lake.snapshot.baselines)
    town.write(10)
    later.run_once()
    assert_same(connection, lake)
    assert len(lake.snapshot.baselines) == readings


def test_a_quiet_shard_is_not_a_gap(connection: Connection, lake: Lake, feed: Feed, clock: ManualClock) -> None:
    feed.run_once()
    readings = len(lake.snapshot.baselines)
    for _ in range(3):
        clock.advance(DAY_S / 2)
        feed.run_once()
        feed.close()
    RandomUsers(connection, clock, 1).write(10)
    feed.run_once()
    assert_same(connection, lake)
    assert len(lake.snapshot.baselines) == readings


@pytest.mark.embedded("expiry when the test says so")
def test_the_gap_of_a_stream_disabled_until_its_checkpoints_expired_is_recovered(
    connection: Connection, lake: Lake, feed: Feed, clock: ManualClock, engine: Engine
) -> None:
    town = RandomUsers(connection, clock, 1)
    town.write(30)
    feed.run_once()
    engine.call("UpdateTable", {**TABLE, "StreamSpecification": OFF})
    feed.run_once()
    town.write(30)
    clock.advance(8 * DAY_S)
    assert engine.sweep() > 0
    engine.call("UpdateTable", {**TABLE, "StreamSpecification": ON})
    town.write(10)
    feed.run_once()
    assert_same(connection, lake)
