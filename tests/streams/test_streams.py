"""Reading streams: lineage, places, iterators that expire, records that were trimmed, streams that follow another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.streams.scripted import ARN, ScriptedShard, ScriptedStream
from tests.streams.shop import NOW, Shop, World

from keyplan import Inserted, connect
from keyplan.client.errors import UnavailableError
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.server.thread import ThreadedServer
from keyplan.streams import (
    FileCheckpoints,
    Gap,
    JsonLinesFolder,
    Runner,
    StreamReplaced,
    TableCheckpoints,
    TemporaryFailure,
)
from keyplan.streams.notices import Notice
from keyplan.streams.streams import Shard, TableStream, ready_shards


class Script:
    """Runner on a scripted stream, with its deliveries and reports."""

    def __init__(self, folder: Path, clock: ManualClock) -> None:
        self.shop, self.got, self.notices = Shop(), list[int](), list[Notice]()
        self.stream = ScriptedStream({})
        self.clock, self._path = clock, folder / "checkpoints.json"
        self._runners: list[Runner] = []

        @self.shop.table.on_change(self.shop.Order)
        def watch(change: Inserted[Any]) -> None:
            self.got.append(change.new.number)

    def runner(self, **options: Any) -> Runner:
        """Return a new runner with the same checkpoints."""
        self.close()
        new_runner = Runner(
            self.stream,
            self.shop.table,
            checkpoints=FileCheckpoints(self._path),
            clock=self.clock,
            notify=self.notices.append,
            **options,
        )
        self._runners.append(new_runner)
        return new_runner

    def close(self) -> None:
        """Release what runners hold."""
        for runner in self._runners:
            runner.close()


@pytest.fixture
def script(tmp_path: Path, clock: ManualClock) -> Iterator[Script]:
    """Yield a script without shards."""
    recorded = Script(tmp_path, clock)
    yield recorded
    recorded.close()


def shard(name: str, parent: str | None = None) -> Shard:
    return Shard(ARN, name, parent, None, None)


def test_children_wait_for_their_parents_and_streams_for_earlier_ones() -> None:
    old = TableStream("t/stream/1", "NEW_IMAGE", shards=(Shard("t/stream/1", "x", None, 1, 2),))
    new = TableStream(ARN, "NEW_IMAGE", shards=(shard("a"), shard("b", "a"), shard("c", "gone")))
    completed_shards: set[str] = set()

    def ready() -> list[str]:
        return [ready_shard.name for ready_shard in ready_shards([old, new], completed_shards.__contains__)]

    assert ready() == ["x"]
    completed_shards.add("1/x")
    assert ready() == ["a", "c"]
    completed_shards.add(shard("a").key)
    assert ready() == ["b", "c"]
    completed_shards |= {shard("b").key, shard("c").key}
    assert ready() == []


def test_a_split_is_read_parent_first_in_any_listing_order(script: Script) -> None:
    script.stream.shards = {
        "0-child": ScriptedShard("1-parent", [10, 11]),
        "2-child": ScriptedShard("1-parent", [12, 13], closed=True),
        "3-grandchild": ScriptedShard("2-child", [20]),
        "1-parent": ScriptedShard(None, [1, 2, 3], closed=True),
    }
    counts = script.runner().run_once()
    assert script.got[:3] == [1, 2, 3]
    assert script.got.index(13) < script.got.index(20)
    assert sorted(script.got) == [1, 2, 3, 10, 11, 12, 13, 20]
    assert counts.read == 8


def test_a_shard_that_closes_while_it_is_read_is_followed_by_its_children(script: Script) -> None:
    script.stream.shards = {"a": ScriptedShard(None, [1])}
    runner = script.runner()
    runner.run_once()
    script.stream.shards["a"].records.append(2)
    script.stream.shards["a"].closed = True
    script.stream.shards["b"] = ScriptedShard("a", [3])
    runner.run_once()
    assert script.got == [1, 2, 3]
    assert script.runner().run_once().read == 0, "closed shards are done for good"


def test_empty_pages_inside_a_closed_shard_are_not_its_end(script: Script) -> None:
    script.stream.shards = {"a": ScriptedShard(None, [1, 2], closed=True), "b": ScriptedShard("a", [3], closed=True)}
    script.stream.empty_first = True
    script.runner().run_once()
    assert script.got == [1, 2, 3]


def test_expired_iterators_are_renewed_at_the_last_position(script: Script) -> None:
    script.stream.shards = {"a": ScriptedShard(None, [1, 2])}
    runner = script.runner()
    runner.run_once()
    script.stream.expired = {"a|2|1"}
    script.stream.shards["a"].records += [3, 4]
    runner.run_once()
    assert script.got == [1, 2, 3, 4]
    assert script.stream.iterator_requests == [("a", "TRIM_HORIZON"), ("a", "AFTER_SEQUENCE_NUMBER")]
    assert script.notices == []


def test_latest_starts_with_new_records_and_an_expired_iterator_skips_nothing(script: Script) -> None:
    script.stream.shards = {"a": ScriptedShard(None, [1, 2])}
    script.clock.advance(10)
    runner = script.runner(start="latest")
    runner.run_once()
    script.stream.shards["a"].records += [11, 12]
    script.stream.expired = {"a|2|1"}
    runner.run_once()
    assert script.got == [11, 12]
    assert script.stream.iterator_requests == [("a", "LATEST"), ("a", "TRIM_HORIZON")]


def test_latest_is_stored_before_the_first_record(script: Script) -> None:
    script.stream.shards = {"a": ScriptedShard(None, [1, 2])}
    script.clock.advance(10)
    script.runner(start="latest").run_once()
    script.stream.shards["a"].records += [11, 12]
    script.runner(start="latest").run_once()
    assert script.got == [11, 12]


def test_a_throttled_shard_is_not_read_for_a_while(script: Script) -> None:
    script.stream.shards = {"a": ScriptedShard(None, [1])}
    script.stream.busy = 1
    runner = script.runner()
    assert runner.run_once().read == 0
    (notice,) = script.notices
    assert isinstance(notice, TemporaryFailure)
    assert "at most two readers" in str(notice)
    script.clock.advance(60)
    runner.run_once()
    assert script.got == [1]


def test_a_page_is_delivered_in_order_without_duplicates(script: Script) -> None:
    script.stream.shards = {"a": ScriptedShard(None, [2, 1, 2, 4, 3])}
    assert script.runner().run_once().read == 4
    assert script.got == [1, 2, 3, 4]


def test_a_record_repeated_on_the_next_page_is_delivered_once(script: Script) -> None:
    script.stream.shards = {"a": ScriptedShard(None, [1, 2, 3, 4, 5])}
    script.stream.page, script.stream.repeats = 2, True
    assert script.runner().run_once().read == 5
    assert script.got == [1, 2, 3, 4, 5]


def test_a_limit_bounds_the_number_of_records_read(script: Script) -> None:
    script.stream.shards = {"a": ScriptedShard(None, list(range(1, 10)))}
    runner = script.runner()
    assert runner.run_once(limit=4).read == 4
    assert script.got == [1, 2, 3, 4]
    assert runner.run_once().read == 5


def test_a_shard_that_disappears_before_its_end_was_read_is_a_gap(script: Script) -> None:
    script.stream.shards = {"a": ScriptedShard(None, [1, 2]), "b": ScriptedShard(None, [5])}
    script.runner().run_once()
    del script.stream.shards["a"]
    runner = script.runner()
    assert runner.run_once().gaps == 1
    (gap,) = script.notices
    assert gap == Gap(("shop/watch",), ARN, "a", "2")
    assert runner.run_once().gaps == 0, "it is told once"


def test_an_acquired_shard_that_disappears_unread_is_a_gap(
    script: Script, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script.stream.shards = {"a": ScriptedShard(None, [1]), "b": ScriptedShard(None, [5])}
    store, acquire = FileCheckpoints(tmp_path / "checkpoints.json"), FileCheckpoints.acquire

    def fail_at_the_second(self: FileCheckpoints, *lease: Any) -> Any:
        if store.state("shop/watch").leases:
            raise UnavailableError("not now")
        return acquire(self, *lease)

    runner = script.runner()
    with monkeypatch.context() as patch:
        patch.setattr(FileCheckpoints, "acquire", fail_at_the_second)
        with pytest.raises(UnavailableError):
            runner.run_once()
    (acquired,) = store.state("shop/watch").leases.values()
    name = acquired.shard.rpartition("/")[2]
    del script.stream.shards[name]
    assert runner.run_once().gaps == 1
    assert script.notices == [Gap(("shop/watch",), ARN, name, None)]
    lease = store.state("shop/watch").leases[acquired.shard]
    assert (lease.done, lease.owner) == (True, None)
    assert runner.run_once().gaps == 0, "it is told once"


def test_a_shard_missing_from_an_old_list_is_not_a_gap(script: Script) -> None:
    script.stream.shards = {"a": ScriptedShard(None, [1]), "b": ScriptedShard(None, [5])}
    script.runner().run_once()
    script.stream.unlisted = {"b"}
    assert script.runner().run_once().gaps == 0
    script.stream.unlisted = set()
    script.stream.shards["b"].records.append(6)
    script.runner().run_once()
    assert sorted(script.got) == [1, 5, 6]
    assert script.notices == []


# The same on the engine, behind both doors.


def watched(world: World) -> list[int]:
    """Declare a consumer that lists the numbers of new orders."""
    got: list[int] = []

    @world.shop.table.on_change(world.shop.Order)
    def watch(change: Inserted[Any]) -> None:
        got.append(change.new.number)

    return got


def test_all_shards_are_read_and_each_customers_orders_stay_in_order(world: World) -> None:
    shop, got = world.shop, []

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any]) -> None:
        got.append((change.new.customer, change.new.number))

    customers = [f"customer{number}" for number in range(12)]
    for number in range(5):
        for customer in customers:
            world.db.run(shop.place(shop.Order(customer=customer, number=number)))
    runner = world.runner()
    assert runner.run_once().read == 60
    state = world.checkpoints().state("shop/watch")
    assert len(state.leases) == 3
    assert all(lease.position is not None for lease in state.leases.values()), "customers are in all three shards"
    for customer in customers:
        assert [number for name, number in got if name == customer] == list(range(5))


def test_records_trimmed_unread_are_reported_as_a_gap_and_reading_continues(world: World) -> None:
    got = watched(world)
    world.shop.orders(world.db, 2)
    world.runner().run_once()
    world.runners[-1].close()
    world.shop.orders(world.db, 2, first=2)
    world.clock.advance(25 * 3600)
    world.shop.orders(world.db, 2, first=4)
    counts = world.runner().run_once()
    assert got == [0, 1, 4, 5]
    assert counts.gaps == 1
    (gap,) = world.notices_of(Gap)
    assert gap.consumers == ("shop/watch",)
    assert gap.after is not None


def test_records_trimmed_before_their_shard_was_read_are_reported_as_a_gap_once(world: World) -> None:
    got = watched(world)
    world.runner().run_once()
    world.runners[-1].close()
    world.shop.orders(world.db, 2)
    world.clock.advance(25 * 3600)
    runner = world.runner()
    assert runner.run_once().gaps == 1
    assert runner.run_once().gaps == 0
    runner.close()
    world.shop.orders(world.db, 1, first=2)
    assert world.runner().run_once().gaps == 0
    assert got == [2]
    (gap,) = world.notices_of(Gap)
    assert (gap.consumers, gap.after) == (("shop/watch",), None)


def test_records_retried_until_they_are_trimmed_are_not_a_gap(world: World) -> None:
    got: list[int] = []

    @world.shop.table.on_change(world.shop.Order, retries=None, on_failure="dead")
    def watch(change: Inserted[Any]) -> None:
        if not got:
            got.append(change.new.number)
            raise ValueError("not yet")

    runner = world.runner(destinations={"dead": JsonLinesFolder("unused")})
    world.shop.orders(world.db, 1)
    assert runner.run_once().retried == 1
    world.clock.advance(25 * 3600)
    assert runner.run_once().delivered == 1
    assert world.notices_of(Gap) == []


def test_records_trimmed_before_a_consumer_of_latest_started_are_not_a_gap(world: World) -> None:
    got = watched(world)
    world.shop.orders(world.db, 2)
    world.clock.advance(10)
    world.runner(start="latest").run_once()
    world.runners[-1].close()
    world.clock.advance(25 * 3600)
    world.shop.orders(world.db, 1, first=2)
    assert world.runner(start="latest").run_once().gaps == 0
    assert got == [2]


def test_handled_records_that_are_trimmed_are_not_a_gap(world: World) -> None:
    got = watched(world)
    world.shop.orders(world.db, 2)
    world.runner().run_once()
    world.runners[-1].close()
    world.clock.advance(25 * 3600)
    world.shop.orders(world.db, 2, first=2)
    assert world.runner().run_once().gaps == 0
    assert got == [0, 1, 2, 3]
    assert world.notices_of(Gap) == []


def test_a_runner_that_pauses_longer_than_the_iterator_lifetime_continues(world: World) -> None:
    got = watched(world)
    runner = world.runner()
    world.shop.orders(world.db, 1)
    runner.run_once()
    world.clock.advance(16 * 60)
    world.shop.orders(world.db, 1, first=1)
    runner.run_once()
    assert got == [0, 1]


def switch(world: World, *, on: bool) -> None:
    """Switch the table's stream on or off."""
    stream: dict[str, Any] = {"StreamEnabled": on}
    if on:
        stream["StreamViewType"] = "NEW_AND_OLD_IMAGES"
    world.engine.call("UpdateTable", {"TableName": "shop", "StreamSpecification": stream})


def test_a_stream_enabled_again_is_read_after_the_rest_of_the_old_one(world: World) -> None:
    got = watched(world)
    runner = world.runner()
    world.shop.orders(world.db, 2)
    runner.run_once()
    world.shop.orders(world.db, 2, first=2)
    switch(world, on=False)
    world.shop.orders(world.db, 1, first=4)
    world.clock.advance(1)
    switch(world, on=True)
    world.shop.orders(world.db, 2, first=5)
    runner.run_once()
    assert got == [0, 1, 2, 3, 5, 6]
    (notice,) = world.notices_of(StreamReplaced)
    assert "in neither" in str(notice)
    assert world.notices_of(Gap) == []


def test_an_expired_old_stream_is_a_gap(inside: World) -> None:
    got = watched(inside)
    inside.shop.orders(inside.db, 1)
    inside.runner().run_once()
    inside.runners[-1].close()
    switch(inside, on=False)
    inside.clock.advance(25 * 3600)
    switch(inside, on=True)
    inside.shop.orders(inside.db, 1, first=1)
    inside.runner().run_once()
    assert got == [0, 1]
    assert len(inside.notices_of(Gap)) == 3, "one for each shard that was not read to its end"
    assert len(inside.notices_of(StreamReplaced)) == 1


class ShortShards:
    """An engine of another maker: its ShardIds are s0, s1, s2."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.region, self.operations, self.group = engine, engine.region, engine.operations, engine.group
        self.waits_for_disk = engine.waits_for_disk
        self.names: dict[str, str] = {}

    def call_wire(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Put the engine's ShardIds into the request, and the short ones into the answer."""
        long = {short: name for name, short in self.names.items()}
        if "ShardId" in request:
            request = {**request, "ShardId": long[request["ShardId"]]}
        response = self.engine.call_wire(operation, request)
        if operation == "DescribeStream":
            for shard in response["StreamDescription"]["Shards"]:
                for member in ("ShardId", "ParentShardId"):
                    if member in shard:
                        shard[member] = self.names.setdefault(shard[member], f"s{len(self.names)}")
        return response


def test_shards_with_short_names_are_read(engine: Engine, clock: ManualClock) -> None:
    # botocore's model of GetShardIterator: ShardId has 28 to 65 characters, and SequenceNumber 21 to 40.
    with ThreadedServer(ShortShards(engine)) as server, connect(server.url, clock=clock) as db:
        world = World(engine, db, clock, Shop(), checkpoints=lambda: TableCheckpoints(db, create=True, clock=clock))
        db.create_tables(world.shop.table)
        got = watched(world)
        world.shop.orders(db, 3)
        world.runner().run_once()
        world.runners[-1].close()
        world.shop.orders(db, 2, first=3)
        world.runner(runner="runner0").run_once()
        world.runners[-1].close()
    assert got == [0, 1, 2, 3, 4]


def test_latest_skips_existing_records_on_every_transport(world: World) -> None:
    got = watched(world)
    world.shop.orders(world.db, 2)
    world.clock.advance(5)
    runner = world.runner(start="latest")
    assert runner.run_once().delivered == 0
    world.shop.orders(world.db, 2, first=2)
    runner.run_once()
    runner.close()
    world.shop.orders(world.db, 1, first=4)
    world.runner(start="latest").run_once()
    assert got == [2, 3, 4]
    assert world.clock.now() == NOW + 5
