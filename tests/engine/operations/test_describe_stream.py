"""DescribeStream: descriptions of streams, pages of shards, errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.tables_of import put, records, shards, stream_arn

from keyplan import limits
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.errors import ResourceNotFoundError, ValidationError


@pytest.fixture
def clock() -> ManualClock:
    return tables_of.clock()


@pytest.fixture
def engine(clock: ManualClock) -> Iterator[Engine]:
    with Engine.memory(clock=clock, stream_shards=5) as engine:
        tables_of.create(engine, **tables_of.with_stream("KEYS_ONLY"))
        yield engine


def describe(engine: Engine, **members: Any) -> dict[str, Any]:
    request = {"StreamArn": stream_arn(engine), **members}
    described: dict[str, Any] = engine.call("DescribeStream", request)["StreamDescription"]
    return described


def test_a_stream_is_described(engine: Engine) -> None:
    described = describe(engine)
    assert described["StreamArn"] == stream_arn(engine)
    assert described["StreamStatus"] == "ENABLED"
    assert described["StreamViewType"] == "KEYS_ONLY"
    assert described["TableName"] == "things"
    assert described["CreationRequestDateTime"] == tables_of.NOW
    assert described["KeySchema"] == [
        {"AttributeName": "p", "KeyType": "HASH"},
        {"AttributeName": "s", "KeyType": "RANGE"},
    ]
    assert described["StreamLabel"] == "2023-11-14T22:13:20.000"
    assert "LastEvaluatedShardId" not in described


def test_open_shards_have_a_start_and_no_end(engine: Engine) -> None:
    for shard in describe(engine)["Shards"]:
        assert 28 <= len(shard["ShardId"]) <= 65
        assert "ParentShardId" not in shard
        numbers = shard["SequenceNumberRange"]
        assert numbers.keys() == {"StartingSequenceNumber"}
        assert 21 <= len(numbers["StartingSequenceNumber"]) <= 40


def test_shards_are_paged_in_order_of_their_names(engine: Engine) -> None:
    shard_ids, page = [], describe(engine, Limit=2)
    while True:
        shard_ids += [shard["ShardId"] for shard in page["Shards"]]
        if "LastEvaluatedShardId" not in page:
            break
        assert page["LastEvaluatedShardId"] == shard_ids[-1]
        page = describe(engine, Limit=2, ExclusiveStartShardId=shard_ids[-1])
    assert shard_ids == sorted(set(shard_ids))
    assert len(shard_ids) == 5
    assert describe(engine, ExclusiveStartShardId=shard_ids[-1])["Shards"] == []
    assert describe(engine, ExclusiveStartShardId="z" * 40)["Shards"] == []


def test_shards_have_no_children(engine: Engine) -> None:
    shard = shards(engine, stream_arn(engine))[0]["ShardId"]
    assert describe(engine, ShardFilter={"Type": "CHILD_SHARDS", "ShardId": shard})["Shards"] == []


def test_an_ended_stream_is_disabled_and_its_shards_are_closed(engine: Engine) -> None:
    put(engine, "a")
    engine.call("UpdateTable", {"TableName": "things", "StreamSpecification": {"StreamEnabled": False}})
    arn = engine.call("ListStreams", {"TableName": "things"})["Streams"][0]["StreamArn"]
    described = engine.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]
    assert described["StreamStatus"] == "DISABLED"
    for shard in described["Shards"]:
        assert shard["SequenceNumberRange"]["EndingSequenceNumber"].isdecimal()
    assert len(records(engine, arn)) == 1


def test_the_stream_of_a_deleted_table_is_found_for_a_day(engine: Engine, clock: ManualClock) -> None:
    arn = stream_arn(engine)
    engine.call("DeleteTable", {"TableName": "things"})
    clock.advance(limits.STREAM_RETENTION_S - 1)
    assert engine.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["StreamStatus"] == "DISABLED"
    clock.advance(1)
    with pytest.raises(ResourceNotFoundError):
        engine.call("DescribeStream", {"StreamArn": arn})


def test_an_unknown_stream_is_not_found(engine: Engine) -> None:
    arn = stream_arn(engine) + "0"
    with pytest.raises(ResourceNotFoundError, match=f"Requested resource not found: Stream: {arn} not found"):
        engine.call("DescribeStream", {"StreamArn": arn})


def test_an_invalid_stream_arn_is_rejected(engine: Engine) -> None:
    with pytest.raises(ValidationError, match="Invalid StreamArn"):
        engine.call("DescribeStream", {"StreamArn": "x" * 40})


def test_a_shard_starts_after_the_trimmed_records(engine: Engine, clock: ManualClock) -> None:
    for number in range(20):
        put(engine, str(number))
    before = starts(engine)
    clock.advance(limits.STREAM_RETENTION_S + 1)
    after = starts(engine)
    assert sum(int(late) > int(early) for early, late in zip(before, after, strict=True)) > 1
    for shard, start in enumerate(after):
        tables_of.iterator(engine, stream_arn(engine), "AT_SEQUENCE_NUMBER", shard, SequenceNumber=start)


def starts(engine: Engine) -> list[str]:
    return [shard["SequenceNumberRange"]["StartingSequenceNumber"] for shard in describe(engine)["Shards"]]
