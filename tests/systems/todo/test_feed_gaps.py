"""The feed of the lake while no stream is on: what changed meanwhile is in none, and is read from the table."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.systems.elsewhere import Elsewhere
from tests.systems.todo.totals import assert_same
from tests.systems.todo.town import Town

from keyplan.clock import ManualClock
from keyplan.connections.connection import Connection
from keyplan.engine.engine import Engine
from keyplan_systems.todo.feed import CLOCKS_DIFFER, Feed
from keyplan_systems.todo.lake.errors import StaleExportError
from keyplan_systems.todo.lake.lake import Lake

TABLE = {"TableName": "todo-app-data"}
OFF = {"StreamEnabled": False}
ON = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


@pytest.mark.parametrize("followed", [True, False], ids=["read to its end", "left unread"])
def test_what_changed_while_no_stream_was_on_is_made_up_for_by_a_full_reading(
    followed: bool, connection: Connection, lake: Lake, feed: Feed, clock: ManualClock, engine: Engine | Elsewhere
) -> None:
    town = Town(connection, clock, 1)
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


def test_an_export_of_just_now_does_not_stand_for_what_changed_after_it_while_no_stream_was_on(
    connection: Connection, lake: Lake, feed: Feed, clock: ManualClock, engine: Engine | Elsewhere
) -> None:
    town = Town(connection, clock, 1)
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
    clock.advance(CLOCKS_DIFFER.total_seconds())
    feed.run_once()
    assert_same(connection, lake)
