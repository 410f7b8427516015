"""Streams beyond their operations: retention, restarts of the engine, the background thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.tables_of import put, records, stream_arn

from keyplan import limits
from keyplan.clock import ManualClock
from keyplan.engine import fsck
from keyplan.engine.engine import Engine
from keyplan.engine.streams import logs, retention
from keyplan.engine.streams import records as streams
from keyplan.errors import ValidationError


@pytest.fixture
def clock() -> ManualClock:
    return tables_of.clock()


def test_trimming_removes_records_older_than_a_day(clock: ManualClock) -> None:
    with Engine.memory(clock=clock, stream_shards=3) as engine:
        tables_of.create(engine, **tables_of.with_stream())
        for number in range(10):
            put(engine, str(number))
        clock.advance(limits.STREAM_RETENTION_S / 2)
        put(engine, "later")
        assert engine.trim_streams() == 0
        clock.advance(limits.STREAM_RETENTION_S / 2 + 1)
        assert engine.trim_streams() == 10
        assert engine.trim_streams() == 0
        assert len(records(engine, stream_arn(engine))) == 1


@pytest.mark.parametrize("is_gone", [False, True])
def test_many_records_are_trimmed_in_small_batches(
    is_gone: bool, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "TRIM_RECORDS", 3)
    with Engine.memory(clock=clock, stream_shards=2) as engine:
        tables_of.create(engine, **tables_of.with_stream())
        for number in range(20):
            put(engine, str(number))
        if is_gone:
            engine.call("DeleteTable", {"TableName": "things"})
        clock.advance(limits.STREAM_RETENTION_S + 1)
        if not is_gone:
            put(engine, "later")
        write, batch_sizes = engine.store.write, []

        def watched(work: Callable[..., Any]) -> Any:
            removed, is_done = write(work)
            batch_sizes.append(removed)
            return removed, is_done

        monkeypatch.setattr(engine.store, "write", watched)
        results = iter([False, False, True])
        first = engine.trim_streams(lambda: next(results))
        assert first == sum(batch_sizes[:2])
        assert engine.trim_streams() == 20 - first
        assert max(batch_sizes) <= 2 * 3
        monkeypatch.undo()
        assert fsck.check(engine) == []
        if is_gone:
            assert logs.all_streams(engine.store.view()) == []
        else:
            assert len(records(engine, stream_arn(engine))) == 1


def test_old_records_are_not_visible_even_before_trimming(clock: ManualClock) -> None:
    with Engine.memory(clock=clock) as engine:
        tables_of.create(engine, **tables_of.with_stream())
        put(engine, "a")
        clock.advance(limits.STREAM_RETENTION_S + 1)
        assert records(engine, stream_arn(engine)) == []


def test_trimming_drops_a_stream_a_day_after_it_ended(clock: ManualClock) -> None:
    with Engine.memory(clock=clock) as engine:
        tables_of.create(engine, **tables_of.with_stream())
        put(engine, "a")
        engine.call("DeleteTable", {"TableName": "things"})
        clock.advance(limits.STREAM_RETENTION_S)
        assert engine.trim_streams() == 1
        assert logs.all_streams(engine.store.view()) == []


def test_sequence_numbers_continue_after_everything_was_trimmed(clock: ManualClock) -> None:
    with Engine.memory(clock=clock) as engine:
        tables_of.create(engine, **tables_of.with_stream())
        put(engine, "a")
        first = int(records(engine, stream_arn(engine))[0]["dynamodb"]["SequenceNumber"])
        clock.advance(limits.STREAM_RETENTION_S + 1)
        engine.trim_streams()
        put(engine, "b")
        assert int(records(engine, stream_arn(engine))[0]["dynamodb"]["SequenceNumber"]) > first


def test_records_survive_the_engine(tmp_path: Path, clock: ManualClock) -> None:
    with Engine.open(tmp_path / "data.db", clock=clock) as engine:
        tables_of.create(engine, **tables_of.with_stream())
        put(engine, "a")
        text = tables_of.iterator(engine, stream_arn(engine))
    with Engine.open(tmp_path / "data.db", clock=clock) as engine:
        assert len(engine.call("GetRecords", {"ShardIterator": text})["Records"]) == 1


def test_a_failed_write_leaves_no_record(clock: ManualClock) -> None:
    with Engine.memory(clock=clock) as engine:
        tables_of.create(engine, **tables_of.with_stream())
        request = {
            "TransactItems": [
                {"Put": {"TableName": "things", "Item": tables_of.key("a")}},
                {
                    "ConditionCheck": {
                        "TableName": "things",
                        "Key": tables_of.key("b"),
                        "ConditionExpression": "attribute_exists(p)",
                    }
                },
            ]
        }
        with pytest.raises(Exception, match="Transaction cancelled"):
            engine.call("TransactWriteItems", request)
        assert records(engine, stream_arn(engine)) == []


def test_the_background_thread_starts_with_the_first_stream_and_ends_with_the_engine() -> None:
    engine = Engine.memory(ttl_sweep_s=0.001)
    tables_of.create(engine, "plain")
    assert not engine.background.running
    tables_of.create(engine, **tables_of.with_stream())
    assert engine.background.running
    engine.close()
    assert not engine.background.running


def test_a_manual_clock_needs_no_thread(clock: ManualClock) -> None:
    with Engine.memory(clock=clock) as engine:
        tables_of.create(engine, **tables_of.with_stream())
        assert not engine.background.running


@pytest.mark.parametrize("text", ["", "1", "x" * 21, "-" + "1" * 21, "²" * 21])
def test_an_invalid_sequence_number_is_rejected(text: str) -> None:
    with pytest.raises(ValidationError):
        streams.sequence_of(text)


def test_sequence_numbers_round_trip() -> None:
    assert streams.sequence_of(streams.sequence_number(12_345)) == 12_345


@pytest.mark.parametrize("wrong_by_s", [-2 * limits.STREAM_RETENTION_S, 2 * limits.STREAM_RETENTION_S])
def test_records_stay_in_order_even_if_the_clock_was_wrong_for_a_while(clock: ManualClock, wrong_by_s: float) -> None:
    right = clock.now()
    with Engine.memory(clock=clock) as engine:
        tables_of.create(engine, **tables_of.with_stream())
        put(engine, "first")
        clock.advance(limits.STREAM_RETENTION_S - 60)
        put(engine, "second")
        clock._now += wrong_by_s
        put(engine, "when the clock was wrong")
        clock._now = right + limits.STREAM_RETENTION_S + 60
        written = records(engine, stream_arn(engine))
        assert len(written) == 2
        request = {"StreamArn": stream_arn(engine), "ShardId": shard_of(engine)}
        after = {
            "ShardIteratorType": "AFTER_SEQUENCE_NUMBER",
            "SequenceNumber": written[0]["dynamodb"]["SequenceNumber"],
        }
        iterator = engine.call("GetShardIterator", {**request, **after})["ShardIterator"]
        assert engine.call("GetRecords", {"ShardIterator": iterator})["Records"] == written[1:]


def shard_of(engine: Engine) -> str:
    described = engine.call("DescribeStream", {"StreamArn": stream_arn(engine)})["StreamDescription"]
    return str(described["Shards"][0]["ShardId"])
