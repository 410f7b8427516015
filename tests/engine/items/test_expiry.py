"""Time to live: when items expire, which the sweep removes, and the state after it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.tables_of import get, put, records, stream_arn

from keyplan import limits
from keyplan.clock import ManualClock
from keyplan.engine import background, fsck
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan.engine.items import expiry, sweep
from keyplan.errors import DatabaseCorruptError

NOW = int(tables_of.NOW)


@pytest.fixture
def clock() -> ManualClock:
    return tables_of.clock()


@pytest.fixture
def engine(clock: ManualClock) -> Iterator[Engine]:
    with Engine.memory(clock=clock) as engine:
        prepare(engine)
        yield engine
        assert fsck.check(engine) == []


def prepare(engine: Engine, **members: Any) -> None:
    tables_of.create(engine, **tables_of.with_index(), **tables_of.with_stream(), **members)
    specification = {"Enabled": True, "AttributeName": "expires_at"}
    engine.call("UpdateTimeToLive", {"TableName": "things", "TimeToLiveSpecification": specification})


def put_until(engine: Engine, name: str, until: Any, **attributes: Any) -> None:
    value = until if isinstance(until, dict) else {"N": str(until)}
    put(engine, name, expires_at=value, g={"S": "g"}, **attributes)


def names(engine: Engine) -> set[str]:
    return {item["p"]["S"] for item in engine.call("Scan", {"TableName": "things"})["Items"]}


def test_expired_items_stay_until_the_sweep(engine: Engine) -> None:
    put_until(engine, "old", NOW - 10)
    put_until(engine, "new", NOW + 10)
    assert names(engine) == {"old", "new"}
    assert engine.sweep() == 1
    assert names(engine) == {"new"}
    assert engine.sweep() == 0


def test_items_expire_after_their_second_has_passed(engine: Engine, clock: ManualClock) -> None:
    put_until(engine, "a", NOW)
    assert engine.sweep() == 0
    clock.advance(0.5)
    assert engine.sweep() == 1


@pytest.mark.parametrize(
    "value",
    [
        {"S": str(NOW - 10)},
        {"NS": [str(NOW - 10)]},
        {"NULL": True},
        {"N": "-1"},
        {"N": "-0.5"},
        {"N": str(-NOW)},
        {"N": "9.9999999999999999999999999999999999999E+125"},
        {"N": "1E-130"},
        {"N": "0"},
        {"N": str(2**64)},
        {"N": str(2**64 - 1)},
        {"N": str((NOW - 10) * 1000)},
        {"M": {"N": {"N": "1"}}},
    ],
)
def test_values_that_are_not_recent_timestamps_never_expire(engine: Engine, value: dict[str, Any]) -> None:
    put_until(engine, "a", value)
    assert engine.sweep() == 0
    assert names(engine) == {"a"}
    put_until(engine, "a", NOW - 1)
    assert engine.sweep() == 1


def test_fractions_of_a_second_are_accepted(engine: Engine) -> None:
    put_until(engine, "a", f"{NOW - 10}.75")
    assert engine.sweep() == 1


def test_timestamps_more_than_five_years_ago_are_ignored(engine: Engine) -> None:
    put_until(engine, "mistake", NOW - limits.TTL_PAST_S - 1)
    put_until(engine, "old", NOW - limits.TTL_PAST_S + 1)
    assert engine.sweep() == 1
    assert names(engine) == {"mistake"}


def test_an_extended_expiry_counts(engine: Engine) -> None:
    put_until(engine, "a", NOW - 10)
    put_until(engine, "a", NOW + 10)
    put_until(engine, "b", NOW - 10)
    engine.call(
        "UpdateItem",
        {"TableName": "things", "Key": tables_of.key("b"), "UpdateExpression": "REMOVE expires_at"},
    )
    assert engine.sweep() == 0


def test_an_expiry_removes_index_entries_and_is_marked_in_the_stream(engine: Engine) -> None:
    put_until(engine, "a", NOW - 10)
    engine.sweep()
    query = {
        "TableName": "things",
        "IndexName": "by_g",
        "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": {"S": "g"}},
    }
    assert engine.call("Query", query)["Items"] == []
    record = records(engine, stream_arn(engine))[-1]
    assert record["eventName"] == "REMOVE"
    assert record["userIdentity"] == {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    assert record["dynamodb"]["OldImage"]["p"] == {"S": "a"}


def test_a_manual_delete_is_not_marked(engine: Engine) -> None:
    put_until(engine, "a", NOW - 10)
    tables_of.delete(engine, "a")
    assert "userIdentity" not in records(engine, stream_arn(engine))[-1]


def test_a_sweep_removes_more_than_one_batch(engine: Engine) -> None:
    for number in range(250):
        put_until(engine, str(number), NOW - 1 - number)
    assert engine.sweep() == 250
    assert names(engine) == set()


def test_a_sweep_pauses_after_each_transaction_for_as_long_as_it_took() -> None:
    class Ticking(ManualClock):
        """A clock that advances a second at every read."""

        paused_s: list[float]

        def monotonic(self) -> float:
            self.advance(1.0)
            return super().monotonic()

        def wait(self, event: threading.Event, seconds: float) -> bool:
            self.paused_s.append(seconds)
            return event.is_set()

    ticking = Ticking(NOW)
    ticking.paused_s = []
    with Engine.memory(clock=ticking) as engine:
        prepare(engine)
        for number in range(sweep.BATCH_ITEMS + 1):
            put_until(engine, str(number), NOW - 10)
        ticking.paused_s.clear()
        assert engine.sweep() == sweep.BATCH_ITEMS + 1
    assert len(ticking.paused_s) == 2
    assert min(ticking.paused_s) >= 1.0


def test_a_sweep_can_be_stopped_between_batches(engine: Engine) -> None:
    for number in range(250):
        put_until(engine, str(number), NOW - 1)
    stops = iter([False, True])
    assert engine.sweep(lambda: next(stops)) == 100
    assert engine.sweep() == 150


def test_items_written_before_it_was_enabled_expire_too(clock: ManualClock) -> None:
    with Engine.memory(clock=clock) as engine:
        tables_of.create(engine)
        put(engine, "a", expires_at={"N": str(NOW - 10)})
        specification = {"Enabled": True, "AttributeName": "expires_at"}
        engine.call("UpdateTimeToLive", {"TableName": "things", "TimeToLiveSpecification": specification})
        assert engine.sweep() == 1


def test_nothing_expires_once_it_is_disabled(engine: Engine) -> None:
    put_until(engine, "a", NOW - 10)
    specification = {"Enabled": False, "AttributeName": "expires_at"}
    engine.call("UpdateTimeToLive", {"TableName": "things", "TimeToLiveSpecification": specification})
    assert engine.sweep() == 0
    assert get(engine, "a") is not None


def test_the_delay_is_an_option_or_a_fault() -> None:
    for options in ({"ttl_delay_s": 100}, {"faults": Faults(ttl_delay=100)}):
        clock = tables_of.clock()
        with Engine.memory(clock=clock, **options) as engine:
            prepare(engine)
            put_until(engine, "a", NOW - 50)
            assert engine.sweep() == 0
            clock.advance(51)
            assert engine.sweep() == 1


def test_the_background_thread_sweeps() -> None:
    with Engine.memory(ttl_sweep_s=0.001) as engine:
        prepare(engine)
        put(engine, "a", expires_at={"N": str(int(engine.clock.now()) - 10)})
        pause = threading.Event()
        while get(engine, "a") is not None:
            pause.wait(0.005)


def damage(engine: Engine, name: str, table: str = "things") -> bytes:
    """Make an item unreadable; return its original body."""
    source_table = engine.database.table(table)
    key = source_table.key.of_key(tables_of.key(name))
    row = engine.store.view().point(source_table.tree, key)
    assert row is not None
    engine.database.write(
        source_table, lambda transaction: transaction.put(source_table.tree, key, row[0], b"{not json")
    )
    return row[1]


def mend(engine: Engine, name: str, body: bytes) -> None:
    table = engine.database.table("things")
    key = table.key.of_key(tables_of.key(name))
    engine.database.write(table, lambda transaction: transaction.put(table.tree, key, len(body), body))


def test_an_unreadable_item_does_not_prevent_other_expiries(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "BATCH_ITEMS", 3)
    for number in range(12):
        put_until(engine, f"{number:02}", NOW - 100 + number)
    before = {
        name: damage(engine, name) for name in ("00", "01", "02", "05")
    }  # a whole batch of them, and one among others
    with pytest.raises(DatabaseCorruptError, match="cannot be read"):
        engine.sweep()
    for name, body in before.items():
        mend(engine, name, body)
    assert names(engine) == before.keys()
    assert engine.sweep() == 4


def test_the_thread_continues_after_a_failing_job(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(background, "TRIM_S", 0.0)
    trimmed, pause = threading.Event(), threading.Event()
    with caplog.at_level(logging.CRITICAL + 1, "keyplan.engine.background"), Engine.memory(ttl_sweep_s=0.001) as engine:
        prepare(engine)
        monkeypatch.setattr(engine, "trim_streams", lambda _stopped: trimmed.set())
        put(engine, "a", expires_at={"N": str(int(engine.clock.now()) + 3600)})
        damage(engine, "a")
        table = engine.database.table("things")
        assert table.expiry is not None
        # Expired from now on: an item that cannot be read cannot be overwritten.
        tree, key = table.expiry.tree, table.key.of_key(tables_of.key("a"))
        at = int(engine.clock.now()) - 10
        engine.database.write(table, lambda transaction: transaction.put(tree, expiry.expiry_key(at, key), 0, b""))
        with pytest.raises(DatabaseCorruptError):
            engine.sweep()
        assert trimmed.wait(60)
        put(engine, "b", expires_at={"N": str(int(engine.clock.now()) - 10)})
        while get(engine, "b") is not None:
            pause.wait(0.005)
        assert engine.background.running
