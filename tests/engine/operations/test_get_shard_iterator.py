"""GetShardIterator: iterator types, required members, trimmed and unknown records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.tables_of import put, records, shards, stream_arn

from keyplan import limits
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.errors import ResourceNotFoundError, TrimmedDataAccessError, ValidationError


@pytest.fixture
def clock() -> ManualClock:
    return tables_of.clock()


@pytest.fixture
def engine(clock: ManualClock) -> Iterator[Engine]:
    with Engine.memory(clock=clock) as engine:
        tables_of.create(engine, **tables_of.with_stream("KEYS_ONLY"))
        for name in ("a", "b", "c"):
            put(engine, name)
            clock.advance(10)
        yield engine


def names_from(engine: Engine, kind: str, **members: Any) -> list[str]:
    text = tables_of.iterator(engine, stream_arn(engine), kind, **members)
    actual_records = engine.call("GetRecords", {"ShardIterator": text})["Records"]
    return [record["dynamodb"]["Keys"]["p"]["S"] for record in actual_records]


def number_of(engine: Engine, place: int) -> str:
    number: str = records(engine, stream_arn(engine))[place]["dynamodb"]["SequenceNumber"]
    return number


def test_each_iterator_type_starts_at_its_position(engine: Engine) -> None:
    second = number_of(engine, 1)
    assert names_from(engine, "TRIM_HORIZON") == ["a", "b", "c"]
    assert names_from(engine, "LATEST") == []
    assert names_from(engine, "AT_SEQUENCE_NUMBER", SequenceNumber=second) == ["b", "c"]
    assert names_from(engine, "AFTER_SEQUENCE_NUMBER", SequenceNumber=second) == ["c"]
    assert names_from(engine, "AT_TIMESTAMP", Timestamp=tables_of.NOW + 10) == ["b", "c"]


def test_the_starting_number_of_a_shard_is_a_valid_position(engine: Engine) -> None:
    start = shards(engine, stream_arn(engine))[0]["SequenceNumberRange"]["StartingSequenceNumber"]
    assert names_from(engine, "AT_SEQUENCE_NUMBER", SequenceNumber=start) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("AT_SEQUENCE_NUMBER", None),
        ("AFTER_SEQUENCE_NUMBER", None),
        ("LATEST", "1" * 21),
        ("TRIM_HORIZON", "1" * 21),
        ("AT_TIMESTAMP", None),
        ("AT_SEQUENCE_NUMBER", "x" * 21),
        ("AT_SEQUENCE_NUMBER", "9" * 21),
        ("SOMEWHERE", None),
    ],
)
def test_type_and_number_must_match(engine: Engine, kind: str, number: str | None) -> None:
    members: dict[str, Any] = {} if number is None else {"SequenceNumber": number}
    with pytest.raises(ValidationError):
        tables_of.iterator(engine, stream_arn(engine), kind, **members)


def test_a_trimmed_number_is_reported(engine: Engine, clock: ManualClock) -> None:
    second = number_of(engine, 1)
    clock.advance(limits.STREAM_RETENTION_S - 15)
    for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
        with pytest.raises(TrimmedDataAccessError):
            tables_of.iterator(engine, stream_arn(engine), kind, SequenceNumber=second)
    assert names_from(engine, "TRIM_HORIZON") == ["c"]


def test_unknown_shards_and_streams_are_not_found(engine: Engine) -> None:
    request = {"StreamArn": stream_arn(engine), "ShardId": "x" * 30, "ShardIteratorType": "LATEST"}
    with pytest.raises(ResourceNotFoundError, match="Requested resource not found: Shard does not exist"):
        engine.call("GetShardIterator", request)
    with pytest.raises(ResourceNotFoundError):
        engine.call("GetShardIterator", {**request, "StreamArn": request["StreamArn"] + "0"})
    with pytest.raises(ValidationError, match="Invalid StreamArn"):
        engine.call("GetShardIterator", {**request, "StreamArn": "x" * 40})


def test_iterators_of_different_shards_differ(clock: ManualClock) -> None:
    with Engine.memory(clock=clock, stream_shards=3) as engine:
        tables_of.create(engine, **tables_of.with_stream())
        arn = stream_arn(engine)
        assert len({tables_of.iterator(engine, arn, "LATEST", shard) for shard in range(3)}) == 3
