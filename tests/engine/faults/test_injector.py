"""Fault injection: every kind, its replay from the seed, and no effect when it is off."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.tables_of import delete, get, put, records, stream_arn

from keyplan.clock import ManualClock
from keyplan.engine import fsck
from keyplan.engine.engine import Engine
from keyplan.engine.faults import lag
from keyplan.engine.faults.settings import Faults
from keyplan.errors import (
    ConditionalCheckFailedError,
    InternalServerError,
    ResourceNotFoundError,
    ServiceError,
    TransactionCanceledError,
    TransactionConflictError,
    ValidationError,
)


@pytest.fixture
def clock() -> ManualClock:
    return tables_of.clock()


@pytest.fixture
def open_engine(clock: ManualClock) -> Iterator[Callable[..., Engine]]:
    """Return a function that opens engines in memory with a table, an index and a stream."""
    opened = []

    def make(**faults: Any) -> Engine:
        engine = Engine.memory(clock=clock, faults=Faults(**faults))
        opened.append(engine)
        tables_of.create(engine, **tables_of.with_index(), **tables_of.with_stream())
        return engine

    yield make
    for engine in opened:
        engine.close()


def by_g(engine: Engine, g: str = "g") -> list[dict[str, Any]]:
    query = {
        "TableName": "things",
        "IndexName": "by_g",
        "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": {"S": g}},
    }
    items: list[dict[str, Any]] = engine.call("Query", query)["Items"]
    return items


def waiting(engine: Engine) -> int:
    """Return how many index writes wait."""
    trees = lag.find(engine.store.view())
    return 0 if trees is None else engine.store.view().totals(trees.waiting)[0]


def outcomes(count: int, call: Callable[[int], object]) -> list[str]:
    """Return the error code of each call, or an empty string."""
    results = []
    for number in range(count):
        try:
            call(number)
            results.append("")
        except ServiceError as error:
            results.append(error.code)
    return results


# Settings.


@pytest.mark.parametrize(
    "wrong",
    [
        {"throttle": 0.2},
        {"conflicts": 1.1},
        {"stale_reads": -0.1},
        {"gsi_lag": -1},
        {"gsi_lag": (3, 2)},
        {"ttl_delay": -1},
        {"stale_s": -1},
        {"conflicts": "0.2"},
        {"unprocessed": None},
        {"throttle": []},
        {"gsi_lag": (1,)},
        {"gsi_lag": [0, 1]},
        {"gsi_lag": ("0", "1")},
        {"gsi_lag": (0, float("inf"))},
        {"stale_s": float("nan")},
        {"ttl_delay": "1"},
    ],
)
def test_invalid_settings_are_rejected(wrong: dict[str, Any]) -> None:
    ((name, value),) = wrong.items()
    with pytest.raises(ValueError, match=f"{name} must be .*, not {re.escape(repr(value))}"):
        Faults(**wrong)


def test_by_default_no_faults_are_injected(open_engine: Callable[..., Engine]) -> None:
    engine = open_engine()
    assert outcomes(50, lambda number: put(engine, str(number), g={"S": "g"})) == [""] * 50
    assert len(by_g(engine)) == 50
    assert len(records(engine, stream_arn(engine))) == 50


def test_an_engine_without_faults_has_no_injector() -> None:
    with Engine.memory() as engine:
        assert engine.faults is None
        assert engine.database.view == engine.store.view


# Lagging indexes.


def test_an_index_shows_a_write_only_after_the_lag(open_engine: Callable[..., Engine], clock: ManualClock) -> None:
    engine = open_engine(gsi_lag=5)
    put(engine, "a", g={"S": "g"})
    assert get(engine, "a") is not None
    assert by_g(engine) == []
    clock.advance(4.9)
    assert by_g(engine) == []
    clock.advance(0.2)
    assert len(by_g(engine)) == 1


def test_versions_are_shown_in_order(open_engine: Callable[..., Engine], clock: ManualClock) -> None:
    engine = open_engine(gsi_lag=5)
    for number in range(3):
        put(engine, "a", g={"S": "g"}, v={"N": str(number)})
        clock.advance(1)
    delete(engine, "a")
    versions = []
    for _ in range(8):
        versions.append([item["v"]["N"] for item in by_g(engine)])
        clock.advance(1)
    assert versions == [[], [], ["0"], ["1"], ["2"], [], [], []]


def test_a_moved_entry_appears_at_its_new_place_when_it_disappears_from_the_old(
    open_engine: Callable[..., Engine], clock: ManualClock
) -> None:
    engine = open_engine(gsi_lag=(1, 9))
    put(engine, "a", g={"S": "here"})
    clock.advance(10)
    put(engine, "a", g={"S": "there"})
    for _ in range(20):
        assert len(by_g(engine, "here")) + len(by_g(engine, "there")) == 1
        clock.advance(0.5)
    assert len(by_g(engine, "there")) == 1


def test_writes_of_one_entry_keep_their_order_with_any_lag(
    open_engine: Callable[..., Engine], clock: ManualClock
) -> None:
    engine = open_engine(gsi_lag=(0, 100))
    for number in range(30):
        put(engine, "a", g={"S": "g"}, v={"N": str(number)})
    versions = []
    for _ in range(110):
        versions += [int(item["v"]["N"]) for item in by_g(engine)]
        clock.advance(1)
    assert versions == sorted(versions)
    assert versions[-1] == 29


def test_local_indexes_and_streams_do_not_lag(clock: ManualClock) -> None:
    with Engine.memory(clock=clock, faults=Faults(gsi_lag=5)) as engine:
        tables_of.create(
            engine,
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in "psg"],
            LocalSecondaryIndexes=[
                {
                    "IndexName": "local",
                    "KeySchema": [
                        {"AttributeName": "p", "KeyType": "HASH"},
                        {"AttributeName": "g", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
            **tables_of.with_stream(),
        )
        put(engine, "a", g={"S": "g"})
        assert engine.call("Scan", {"TableName": "things", "IndexName": "local"})["Count"] == 1
        assert len(records(engine, stream_arn(engine))) == 1


def test_pending_index_writes_survive_the_engine_and_are_applied_on_open(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "data.db"
    with Engine.open(path, clock=clock, faults=Faults(gsi_lag=60)) as engine:
        tables_of.create(engine, **tables_of.with_index())
        put(engine, "a", g={"S": "g"})
        put(engine, "b", g={"S": "g"})
        delete(engine, "b")
        assert by_g(engine) == []
    with Engine.open(path, clock=clock, faults=Faults(gsi_lag=60)) as engine:
        assert by_g(engine) == []
    with Engine.open(path, clock=clock) as engine:
        assert len(by_g(engine)) == 1
        assert waiting(engine) == 0
        assert fsck.check(engine) == []


def test_an_engine_without_lag_next_to_one_with_lag_keeps_the_index_correct(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "data.db"
    with Engine.open(path, clock=clock, faults=Faults(gsi_lag=60)) as lagging:
        tables_of.create(lagging, **tables_of.with_index())
        with Engine.open(path, clock=clock) as prompt:
            put(lagging, "a", g={"S": "g"}, v={"N": "1"})
            put(lagging, "b", g={"S": "g"}, v={"N": "1"})
            put(prompt, "a", g={"S": "g"}, v={"N": "2"})
            delete(prompt, "b")
        clock.advance(61)
        assert [item["v"]["N"] for item in by_g(lagging)] == ["2"]
        assert fsck.check(lagging) == []


def test_fsck_accounts_for_pending_index_writes(open_engine: Callable[..., Engine]) -> None:
    engine = open_engine(gsi_lag=60)
    put(engine, "a", g={"S": "g"})
    assert waiting(engine) == 1
    assert fsck.check(engine) == []
    (index,) = engine.database.table("things").indexes.values()
    engine.store.write(lambda transaction: transaction.put(index.tree, b"stray", 1, b"{}"))
    assert len(fsck.check(engine)) == 1


def test_due_index_writes_are_applied_inside_a_group(tmp_path: Path, clock: ManualClock) -> None:
    with Engine.open(tmp_path / "data.db", clock=clock, faults=Faults(gsi_lag=5)) as engine:
        tables_of.create(engine, **tables_of.with_index())
        put(engine, "a", g={"S": "g"})
        clock.advance(6)
        with engine.group():
            get(engine, "a")
            put(engine, "b", g={"S": "g"})
        assert len(by_g(engine)) == 1
        assert waiting(engine) == 1


def test_pending_writes_of_a_dropped_table_are_discarded(
    open_engine: Callable[..., Engine], clock: ManualClock
) -> None:
    engine = open_engine(gsi_lag=60)
    put(engine, "a", g={"S": "g"})
    engine.call("DeleteTable", {"TableName": "things"})
    clock.advance(61)
    tables_of.create(engine, **tables_of.with_index())
    engine.settle()
    assert waiting(engine) == 0
    assert by_g(engine) == []


def test_a_failed_transaction_leaves_no_pending_writes(open_engine: Callable[..., Engine]) -> None:
    engine = open_engine(gsi_lag=60)
    put(engine, "b")
    items = [
        {"Put": {"TableName": "things", "Item": {**tables_of.key("a"), "g": {"S": "g"}}}},
        {
            "Delete": {
                "TableName": "things",
                "Key": tables_of.key("b"),
                "ConditionExpression": "attribute_not_exists(p)",
            }
        },
    ]
    with pytest.raises(TransactionCanceledError):
        engine.call("TransactWriteItems", {"TransactItems": items})
    assert waiting(engine) == 0


# Stale reads.


def test_a_stale_read_returns_an_earlier_version(open_engine: Callable[..., Engine], clock: ManualClock) -> None:
    engine = open_engine(stale_reads=1, stale_s=10)
    versions: set[str | None] = {None}
    for number in range(20):
        put(engine, "a", v={"N": str(number)})
        clock.advance(1)
        versions.add(str(number))
        item = get(engine, "a")
        version = item["v"]["N"] if item else None
        assert version in versions
        assert version is None or int(version) >= number - 10
    assert get(engine, "a", ConsistentRead=True)["v"]["N"] == "19"  # type: ignore[index]
    clock.advance(11)
    assert get(engine, "a")["v"]["N"] == "19"  # type: ignore[index]


def test_reads_are_stale_at_the_configured_rate(open_engine: Callable[..., Engine], clock: ManualClock) -> None:
    engine = open_engine(stale_reads=0.25, stale_s=1)
    put(engine, "a", v={"N": "1"})
    clock.advance(100)
    put(engine, "a", v={"N": "2"})
    counts = Counter(get(engine, "a")["v"]["N"] for _ in range(400))  # type: ignore[index]
    assert 60 < counts["1"] < 140


@pytest.mark.parametrize("forward", [True, False])
def test_stale_pages_show_earlier_rows(open_engine: Callable[..., Engine], clock: ManualClock, forward: bool) -> None:
    engine = open_engine(stale_reads=1, stale_s=1)
    for s in "bdf":
        put(engine, "p", s, v={"N": "1"}, g={"S": "g"})
    clock.advance(100)
    put(engine, "p", "a", g={"S": "g"})
    put(engine, "p", "d", v={"N": "2"}, g={"S": "g"})
    delete(engine, "p", "f")
    query = {
        "TableName": "things",
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "p"}},
        "ScanIndexForward": forward,
    }
    now = [("b", "1"), ("d", "1"), ("f", "1")]
    results = [(item["s"]["S"], item["v"]["N"]) for item in engine.call("Query", query)["Items"]]
    assert results == (now if forward else now[::-1])
    assert engine.call("Query", {**query, "Limit": 2})["Count"] == 2
    fresh = engine.call("Query", {**query, "ConsistentRead": True})["Items"]
    assert sorted(item["s"]["S"] for item in fresh) == ["a", "b", "d"]
    assert sorted(item["s"]["S"] for item in engine.call("Scan", {"TableName": "things"})["Items"]) == ["b", "d", "f"]
    assert sorted(item["s"]["S"] for item in by_g(engine)) == ["b", "d", "f"]
    keys = [tables_of.key("p", s) for s in "adf"]
    batch = engine.call("BatchGetItem", {"RequestItems": {"things": {"Keys": keys}}})["Responses"]["things"]
    assert sorted(item["s"]["S"] for item in batch) == ["d", "f"]


def test_transactional_reads_are_never_stale(open_engine: Callable[..., Engine], clock: ManualClock) -> None:
    engine = open_engine(stale_reads=1, stale_s=100)
    put(engine, "a")
    clock.advance(1)
    items = [{"Get": {"TableName": "things", "Key": tables_of.key("a")}}]
    assert "Item" in engine.call("TransactGetItems", {"TransactItems": items})["Responses"][0]


def test_conditions_are_never_stale(open_engine: Callable[..., Engine]) -> None:
    engine = open_engine(stale_reads=1, stale_s=100)
    put(engine, "a")
    with pytest.raises(ConditionalCheckFailedError):
        engine.call(
            "PutItem",
            {"TableName": "things", "Item": tables_of.key("a"), "ConditionExpression": "attribute_not_exists(p)"},
        )


# Unprocessed parts of batches.


def test_a_batch_write_completes_by_retrying(open_engine: Callable[..., Engine]) -> None:
    engine = open_engine(unprocessed=0.6)
    names = [str(number) for number in range(25)]
    requests = {"things": [{"PutRequest": {"Item": {**tables_of.key(name), "b": {"B": b"x"}}}} for name in names]}
    rounds = 0
    while requests:
        before = sum(map(len, requests.values()))
        requests = engine.call("BatchWriteItem", {"RequestItems": requests})["UnprocessedItems"]
        assert sum(map(len, requests.values())) < before
        rounds += 1
    assert rounds > 2
    assert engine.call("Scan", {"TableName": "things"})["Count"] == 25


def test_a_batch_get_completes_by_retrying(open_engine: Callable[..., Engine]) -> None:
    engine = open_engine(unprocessed=0.6)
    for number in range(20):
        put(engine, str(number))
    requests: dict[str, Any] = {
        "things": {"Keys": [tables_of.key(str(number)) for number in range(20)], "ProjectionExpression": "p"}
    }
    items, rounds = [], 0
    while requests:
        response = engine.call("BatchGetItem", {"RequestItems": requests})
        items += [item["p"]["S"] for item in response["Responses"]["things"]]
        requests = response["UnprocessedKeys"]
        rounds += 1
    assert rounds > 2
    assert sorted(items, key=int) == [str(number) for number in range(20)]


def test_a_batch_of_one_is_always_processed(open_engine: Callable[..., Engine]) -> None:
    engine = open_engine(unprocessed=1)
    batch = {"things": [{"PutRequest": {"Item": tables_of.key("a")}}]}
    assert engine.call("BatchWriteItem", {"RequestItems": batch})["UnprocessedItems"] == {}


# Conflicts.


def test_single_writes_conflict_and_are_not_applied(open_engine: Callable[..., Engine]) -> None:
    engine = open_engine(conflicts=0.3)
    results = outcomes(100, lambda number: put(engine, str(number), g={"S": "g"}))
    failed = results.count("TransactionConflictException")
    assert 15 < failed < 50
    assert set(results) == {"", "TransactionConflictException"}
    assert engine.call("Scan", {"TableName": "things"})["Count"] == 100 - failed
    assert len(by_g(engine)) == 100 - failed
    assert len(records(engine, stream_arn(engine))) == 100 - failed


def test_transactions_are_cancelled_with_the_reason_at_the_conflicting_action(
    open_engine: Callable[..., Engine],
) -> None:
    engine = open_engine(conflicts=0.3)
    reasons = set()
    for number in range(50):
        items = [{"Put": {"TableName": "things", "Item": tables_of.key(f"{number}-{index}")}} for index in range(3)]
        try:
            engine.call("TransactWriteItems", {"TransactItems": items})
        except TransactionCanceledError as error:
            codes = [reason["Code"] for reason in error.members["CancellationReasons"]]
            assert sorted(codes) == ["None", "None", "TransactionConflict"]
            reasons.add(codes.index("TransactionConflict"))
            assert get(engine, f"{number}-0", ConsistentRead=True) is None
    assert reasons == {0, 1, 2}


def test_transactional_reads_conflict_too(open_engine: Callable[..., Engine]) -> None:
    engine = open_engine(conflicts=0.5)
    items = [{"Get": {"TableName": "things", "Key": tables_of.key(name)}} for name in "ab"]
    results = outcomes(40, lambda _: engine.call("TransactGetItems", {"TransactItems": items}))
    assert set(results) == {"", "TransactionCanceledException"}


def test_request_errors_take_precedence_over_conflicts(open_engine: Callable[..., Engine]) -> None:
    engine = open_engine(conflicts=1)
    with pytest.raises(ResourceNotFoundError):
        put(engine, "a", table="nowhere")
    with pytest.raises(ValidationError):
        engine.call("PutItem", {"TableName": "things", "Item": {"p": {"S": "a"}}})
    with pytest.raises(TransactionConflictError):
        put(engine, "a")


def test_conflicting_writes_of_a_batch_are_unprocessed(open_engine: Callable[..., Engine]) -> None:
    engine = open_engine(conflicts=0.5)
    batch = {"things": [{"PutRequest": {"Item": tables_of.key(str(number))}} for number in range(20)]}
    left = engine.call("BatchWriteItem", {"RequestItems": batch})["UnprocessedItems"]["things"]
    assert 3 < len(left) < 17
    assert engine.call("Scan", {"TableName": "things"})["Count"] == 20 - len(left)


# Internal errors.


def test_internal_errors_occur_before_or_after_the_write(open_engine: Callable[..., Engine]) -> None:
    engine = open_engine(internal_errors=0.5)
    failed = [number for number, code in enumerate(outcomes(100, lambda number: put(engine, str(number)))) if code]
    assert 30 < len(failed) < 70
    items: set[str] = set()
    while not items:
        try:
            items = {item["p"]["S"] for item in engine.call("Scan", {"TableName": "things"})["Items"]}
        except InternalServerError:
            continue
    applied = [number for number in failed if str(number) in items]
    assert 0 < len(applied) < len(failed)
    assert len(items) == 100 - len(failed) + len(applied)


def test_internal_errors_do_not_affect_table_operations(open_engine: Callable[..., Engine]) -> None:
    engine = open_engine(internal_errors=1)
    assert engine.call("DescribeTable", {"TableName": "things"})["Table"]["TableStatus"] == "ACTIVE"
    with pytest.raises(InternalServerError):
        get(engine, "a")


# Streams.


def test_records_are_delivered_twice_and_none_is_lost(open_engine: Callable[..., Engine]) -> None:
    engine = open_engine(duplicate_stream_records=0.3)
    for number in range(100):
        put(engine, str(number % 7), v={"N": str(number)})
    results = [int(record["dynamodb"]["NewImage"]["v"]["N"]) for record in records(engine, stream_arn(engine))]
    assert sorted(set(results)) == list(range(100))
    assert 110 < len(results) < 150
    assert results == sorted(results)


def test_records_are_reordered_but_not_within_an_item(open_engine: Callable[..., Engine]) -> None:
    engine = open_engine(reorder_stream_records=0.5, duplicate_stream_records=0.2)
    for number in range(100):
        put(engine, str(number % 7), v={"N": str(number)})
    results = [int(record["dynamodb"]["NewImage"]["v"]["N"]) for record in records(engine, stream_arn(engine))]
    assert results != sorted(results)
    assert set(results) == set(range(100))
    for item in range(7):
        of_item = [number for number in results if number % 7 == item]
        assert of_item == sorted(of_item)


def test_a_page_never_has_more_records_than_requested(open_engine: Callable[..., Engine]) -> None:
    engine = open_engine(duplicate_stream_records=1)
    for number in range(5):
        put(engine, str(number))
    text = tables_of.iterator(engine, stream_arn(engine))
    assert len(engine.call("GetRecords", {"ShardIterator": text, "Limit": 3})["Records"]) == 3


# Replay.


EVERYTHING: dict[str, Any] = {
    "gsi_lag": (0, 2),
    "stale_reads": 0.3,
    "unprocessed": 0.3,
    "conflicts": 0.2,
    "internal_errors": 0.1,
    "duplicate_stream_records": 0.2,
    "reorder_stream_records": 0.2,
    "throttle": True,
}


def history(seed: int) -> list[Any]:
    clock = tables_of.clock()
    with Engine.memory(clock=clock, faults=Faults(seed=seed, **EVERYTHING)) as engine:
        tables_of.create(engine, **tables_of.with_index(), **tables_of.with_stream())
        results: list[Any] = []
        arn = stream_arn(engine)
        for number in range(60):
            clock.advance(0.1)
            calls: list[Callable[[], Any]] = [
                lambda number=number: put(engine, str(number % 5), v={"N": str(number)}, g={"S": "g"}),  # type: ignore[misc]
                lambda: get(engine, "1"),
                lambda: by_g(engine),
                lambda: engine.call("GetRecords", {"ShardIterator": tables_of.iterator(engine, arn)})["Records"],
            ]
            for call in calls:
                try:
                    results.append(call())
                except ServiceError as error:
                    results.append(error.code)
        return results


def test_a_failure_can_be_replayed_from_its_seed() -> None:
    assert history(7) == history(7)
    assert history(7) != history(8)


def test_one_kind_of_fault_does_not_change_the_decisions_of_another(open_engine: Callable[..., Engine]) -> None:
    alone = open_engine(conflicts=0.3)
    beside = Engine.memory(
        clock=alone.clock, faults=Faults(conflicts=0.3, stale_reads=0.5, duplicate_stream_records=0.5, gsi_lag=3)
    )
    with beside:
        tables_of.create(beside, **tables_of.with_index())
        assert outcomes(100, lambda number: put(beside, str(number))) == outcomes(
            100, lambda number: put(alone, str(number))
        )


def test_concurrent_threads_lose_nothing_under_faults(tmp_path: Path, clock: ManualClock) -> None:
    faults = Faults(conflicts=0.2, gsi_lag=1, stale_reads=0.2, throttle=True)
    with Engine.open(tmp_path / "data.db", durability="full", clock=clock, faults=faults) as engine:
        tables_of.create(engine, **tables_of.with_index(), **tables_of.with_stream())
        written: list[int] = [0] * 4

        def work(worker: int) -> None:
            results = outcomes(40, lambda number: put(engine, f"{worker}-{number}", g={"S": "g"}))
            written[worker] = results.count("")

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert 0 < sum(written) < 160
        clock.advance(2)
        engine.settle()
        assert engine.call("Scan", {"TableName": "things", "ConsistentRead": True})["Count"] == sum(written)
        assert fsck.check(engine) == []


def test_dropped_tables_leave_no_throughput_state() -> None:
    with Engine.memory(faults=Faults(throttle=True)) as engine:
        for _ in range(5):
            tables_of.create(engine)
            put(engine, "a")
            engine.call("DeleteTable", {"TableName": "things"})
        assert engine.faults is not None
        assert engine.faults.throttle is not None
        assert len(engine.faults.throttle._resources) == 1
