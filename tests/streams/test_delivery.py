"""Batches, repetitions, halving, giving up, and what stops a consumer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.streams.shop import World, patiently

from keyplan import Inserted, Modified
from keyplan.engine.engine import Engine
from keyplan.streams import (
    ConsumerStoppedError,
    Failure,
    JsonLinesFolder,
    RecordGivenUp,
    RetryScheduled,
    TableDestination,
    TemporaryFailure,
    failure_table,
    redrive,
)


class Flaky(Exception):  # noqa: N818 - it is not one of ours
    """What a handler raises in these tests."""


def test_lists_have_at_most_the_batch_size(world: World) -> None:
    shop, got = world.shop, []

    @shop.table.on_change(shop.Order, batch=4)
    def watch(changes: list[Inserted[Any]]) -> None:
        got.append([change.new.number for change in changes])

    shop.orders(world.db, 10)
    assert world.runner().run_once().delivered == 10
    assert got == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_a_failed_delivery_is_retried_after_a_wait_and_before_later_changes(world: World) -> None:
    shop, got = world.shop, []

    @shop.table.on_change(shop.Order, retries=3)
    def watch(change: Inserted[Any]) -> None:
        got.append(change.new.number)
        if change.new.number == 1 and got.count(1) < 3:
            raise Flaky("not yet")

    shop.orders(world.db, 3)
    runner = world.runner()
    first = runner.run_once()
    assert (got, first.waiting, first.retried) == ([0, 1], 1, 1)
    assert runner.run_once().delivered == 0, "its time has not come"
    assert got == [0, 1]
    patiently(world, runner)
    assert got == [0, 1, 1, 1, 2]
    waits = [notice.wait_s for notice in world.notices_of(RetryScheduled)]
    assert [notice.attempts for notice in world.notices_of(RetryScheduled)] == [1, 2]
    assert 0 <= waits[0] <= 1.0
    assert 0 <= waits[1] <= 2.0
    assert "Flaky: not yet" in str(world.notices[0])


def test_a_handler_that_modifies_an_entity_gets_the_original_on_retry(inside: World) -> None:
    shop, got = inside.shop, []

    @shop.table.on_change(shop.Order, retries=1)
    def watch(change: Inserted[Any]) -> None:
        got.append(change.new.total)
        change.new.total += 100
        if len(got) == 1:
            raise Flaky

    shop.orders(inside.db, 1)
    patiently(inside, inside.runner())
    assert got == [0, 0]


def test_bisecting_finds_the_one_bad_record_among_a_hundred(world: World, tmp_path: Path) -> None:
    shop, handled, calls = world.shop, list[int](), list[int]()

    @shop.table.on_change(shop.Order, batch=100, retries=2, on_failure="dead")
    def watch(changes: list[Inserted[Any]]) -> None:
        calls.append(len(changes))
        if any(change.new.number == 63 for change in changes):
            raise Flaky("63")
        handled.extend(change.new.number for change in changes)

    shop.orders(world.db, 100)
    dead = JsonLinesFolder(tmp_path)
    total = patiently(world, world.runner(destinations={"dead": dead}))
    assert handled == [number for number in range(100) if number != 63]
    (failure,) = dead.read("shop/watch")
    assert failure.record.keys["SK"] == {"S": "ORDER#63"}
    assert failure.error == "Flaky: 63"
    assert "raise Flaky" in failure.trace
    assert calls[0] == 100
    assert calls.count(1) >= 3, "alone it was tried three times"
    assert failure.attempts == total.retried + 1 <= 10
    assert (total.delivered, total.failed) == (99, 1)
    assert world.notices_of(RecordGivenUp)[0].failure == failure


def test_without_bisecting_the_whole_batch_goes_to_the_destination(inside: World, tmp_path: Path) -> None:
    shop, calls = inside.shop, []

    @shop.table.on_change(shop.Order, batch=3, retries=1, bisect=False, on_failure="dead")
    def watch(changes: list[Inserted[Any]]) -> None:
        calls.append([change.new.number for change in changes])
        if changes[0].new.number == 0:
            raise Flaky

    shop.orders(inside.db, 5)
    dead = JsonLinesFolder(tmp_path)
    patiently(inside, inside.runner(destinations={"dead": dead}))
    assert calls == [[0, 1, 2], [0, 1, 2], [3, 4]]
    assert [failure.record.keys["SK"]["S"] for failure in dead.read("shop/watch")] == ["ORDER#0", "ORDER#1", "ORDER#2"]


def test_without_a_destination_the_consumer_stops_at_the_record(world: World) -> None:
    shop, got, other = world.shop, [], []
    broken = True

    @shop.table.on_change(shop.Order, retries=1)
    def watch(change: Inserted[Any]) -> None:
        if broken and change.new.number == 2:
            raise Flaky("broken")
        got.append(change.new.number)

    @shop.table.on_change(shop.Order)
    def second_consumer(change: Inserted[Any]) -> None:
        other.append(change.new.number)

    shop.orders(world.db, 5)
    runner = world.runner()
    assert runner.run_once().waiting == 1
    world.clock.advance(10)
    with pytest.raises(ConsumerStoppedError, match=r"shop/watch stopped at record \d+ .*ORDER#2.*after 2 attempts"):
        runner.run_once()
    with pytest.raises(ConsumerStoppedError):
        runner.run_once()
    assert (got, other) == ([0, 1], [0, 1, 2, 3, 4])
    runner.close()
    broken = False
    world.runner().run_once()
    assert got == [0, 1, 2, 3, 4]


def test_without_a_retry_limit_a_record_is_retried_until_it_leaves_the_stream(inside: World, tmp_path: Path) -> None:
    shop, tries, dead = inside.shop, [], JsonLinesFolder(tmp_path)

    @shop.table.on_change(shop.Order, on_failure="dead")
    def watch(change: Inserted[Any]) -> None:
        tries.append(inside.clock.now())
        raise Flaky

    shop.orders(inside.db, 1)
    runner = inside.runner(destinations={"dead": dead})
    for _ in range(30):
        runner.run_once()
        inside.clock.advance(3600)
    assert len(tries) == 26
    (failure,) = dead.read("shop/watch")
    assert failure.attempts == 26


def test_a_waiting_consumer_does_not_block_others(inside: World) -> None:
    shop, slow, quick = inside.shop, [], []
    broken = True

    @shop.table.on_change(shop.Order)
    def stuck(change: Inserted[Any]) -> None:
        if broken:
            raise Flaky
        slow.append(change.new.number)

    @shop.table.on_change(shop.Order)
    def running(change: Inserted[Any]) -> None:
        quick.append(change.new.number)

    runner = inside.runner()
    shop.orders(inside.db, 3)
    runner.run_once()
    shop.orders(inside.db, 3, first=3)
    inside.clock.advance(30)
    counts = runner.run_once()
    assert (slow, quick) == ([], [0, 1, 2, 3, 4, 5])
    assert counts.waiting == 1
    assert runner.lags_s() == {"shop/stuck": 30.0, "shop/running": 0.0}
    broken = False
    inside.clock.advance(30)
    runner.run_once()
    assert slow == [0, 1, 2, 3, 4, 5]
    assert runner.lags_s() == {"shop/stuck": 0.0, "shop/running": 0.0}
    shop.orders(inside.db, 1, first=6)
    assert runner.run_once().read == 1, "having caught up, both are read for at once again"
    assert slow == quick == [0, 1, 2, 3, 4, 5, 6]


class Broken:
    """A destination that takes nothing until it is mended."""

    def __init__(self) -> None:
        self.kept: list[Failure] = []
        self.works = False

    def send(self, failures: Sequence[Failure]) -> None:
        """Refuse, or keep."""
        if not self.works:
            raise OSError("disk full")
        self.kept += failures


def test_no_record_is_skipped_while_its_destination_fails(inside: World) -> None:
    shop, got, dead = inside.shop, [], Broken()

    @shop.table.on_change(shop.Order, retries=0, on_failure="dead")
    def watch(change: Inserted[Any]) -> None:
        got.append(change.new.number)
        if change.new.number == 0:
            raise Flaky

    shop.orders(inside.db, 2)
    runner = inside.runner(destinations={"dead": dead})
    for _ in range(3):
        assert runner.run_once().waiting == 1
        inside.clock.advance(60)
    assert got == [0], "the handler is not asked again: it has been given up"
    assert "disk full" in str(inside.notices_of(TemporaryFailure)[0])
    dead.works = True
    runner.run_once()
    assert got == [0, 1]
    assert [failure.record.keys["SK"]["S"] for failure in dead.kept] == ["ORDER#0"]


def test_failures_are_stored_once_and_can_be_replayed(inside: World) -> None:
    shop, got = inside.shop, []
    broken = "broken"

    @shop.table.on_change(shop.Order, retries=0, on_failure="dead")
    def watch(change: Inserted[Any]) -> None:
        if broken:
            raise Flaky(broken)
        got.append(change.new)

    shop.orders(inside.db, 3)
    dead = TableDestination(inside.db, clock=inside.clock)
    runner = inside.runner(destinations={"dead": dead})
    assert runner.run_once().failed == 3
    failures = list(dead.read("shop/watch"))
    dead.send(failures)
    assert list(dead.read("shop/watch")) == failures
    assert len(failures) == 3
    broken = "still broken"
    again = redrive(shop.table, failures)
    assert [(failure.record, failure.error, failure.attempts) for failure in again] == [
        (failure.record, "Flaky: still broken", 2) for failure in failures
    ]
    assert all("still broken" in failure.trace for failure in again)
    handled: list[object] = []
    assert redrive(shop.table, failures, handlers={watch: handled.append}) == []
    assert len(handled) == 3
    broken = ""
    assert redrive(shop.table, failures) == []
    assert sorted(order.number for order in got) == [0, 1, 2]


def test_a_failure_too_large_for_an_item_is_stored_without_its_images(inside: World) -> None:
    shop = inside.shop

    @shop.table.on_change(shop.Order, retries=0, on_failure="dead")
    def watch(change: Inserted[Any] | Modified[Any]) -> None:
        raise Flaky("x" * 10_000)

    tags = {f"{number:0390d}" for number in range(980)}
    for total in (1, 2):
        inside.db.run(shop.place(shop.Order(customer="ada", number=1, tags=tags, total=total)))
    dead = TableDestination(inside.db)
    assert inside.runner(destinations={"dead": dead}).run_once().failed == 2
    for failure in dead.read("shop/watch"):
        assert failure.record.keys["SK"] == {"S": "ORDER#1"}
        assert failure.record.new is None


def test_a_destination_with_a_missing_table_is_reported_with_a_fix(over_http: World) -> None:
    shop = over_http.shop

    @shop.table.on_change(shop.Order, retries=0, on_failure="dead")
    def watch(change: Inserted[Any]) -> None:
        raise Flaky

    shop.orders(over_http.db, 1)
    runner = over_http.runner(destinations={"dead": TableDestination(over_http.db)})
    assert runner.run_once().failed == 0
    (trouble,) = over_http.notices_of(TemporaryFailure)
    assert "missing table keyplan-failures for failed records: create it" in trouble.error
    over_http.db.create_tables(failure_table())
    over_http.clock.advance(60)
    assert runner.run_once().failed == 1


def test_a_line_truncated_by_a_crash_does_not_affect_others(inside: World, tmp_path: Path) -> None:
    shop, dead = inside.shop, JsonLinesFolder(tmp_path)

    @shop.table.on_change(shop.Order, retries=0, on_failure="dead")
    def watch(change: Inserted[Any]) -> None:
        raise Flaky

    path = dead.path_of("shop/watch")
    path.write_bytes(b'{"consumer": "shop/wa')
    expires = datetime(2030, 1, 1, tzinfo=UTC)
    inside.db.run(shop.place(shop.Order(customer="ada", number=1, tags={"a"}, expires_at=expires)))
    inside.runner(destinations={"dead": dead}).run_once()
    (failure,) = dead.read("shop/watch")
    assert failure.record.new is not None
    assert failure.record.new["tags"] == {"SS": ["a"]}
    assert path.read_bytes().count(b"\n") == 2


def test_binary_values_survive_a_round_trip_through_a_destination(tmp_path: Path) -> None:
    from keyplan.streams.records import as_plain, from_plain, record_of  # noqa: PLC0415 - what is tested

    item = {
        "PK": {"S": "1"},
        "b": {"B": b"\x00\xff"},
        "bs": {"BS": [b"\x01", b"\x02"]},
        "m": {"M": {"l": {"L": [{"B": b"\x03"}, {"NULL": True}, {"N": "1"}]}}},
    }
    with Engine.memory() as engine:
        key = [{"AttributeName": "PK", "KeyType": "HASH"}]
        attributes = [{"AttributeName": "PK", "AttributeType": "S"}]
        stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
        response = engine.call(
            "CreateTable",
            {
                "TableName": "things",
                "KeySchema": key,
                "AttributeDefinitions": attributes,
                "BillingMode": "PAY_PER_REQUEST",
                "StreamSpecification": stream,
            },
        )
        engine.call("PutItem", {"TableName": "things", "Item": item})
        arn = response["TableDescription"]["LatestStreamArn"]
        shard = engine.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"][0]["ShardId"]
        place = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
        iterator = engine.call("GetShardIterator", place)["ShardIterator"]
        (raw,) = engine.call("GetRecords", {"ShardIterator": iterator})["Records"]
    record = record_of(arn, shard, raw)
    assert record.new == item
    assert from_plain(as_plain(record)) == record
