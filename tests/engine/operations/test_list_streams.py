"""ListStreams: by table, in pages, removed a day after they ended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.engine import tables_of
from tests.engine.tables_of import stream_arn

from keyplan import limits
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.errors import ValidationError


@pytest.fixture
def clock() -> ManualClock:
    return tables_of.clock()


@pytest.fixture
def engine(clock: ManualClock) -> Iterator[Engine]:
    with Engine.memory(clock=clock) as engine:
        yield engine


def test_the_list_is_empty_without_streams(engine: Engine) -> None:
    tables_of.create(engine)
    assert engine.call("ListStreams", {}) == {"Streams": []}
    assert engine.call("ListStreams", {"TableName": "things"}) == {"Streams": []}
    assert engine.call("ListStreams", {"TableName": "nowhere"}) == {"Streams": []}


def test_streams_are_listed_for_one_table_or_all(engine: Engine) -> None:
    for name in ("one", "two"):
        tables_of.create(engine, name, **tables_of.with_stream())
    (stream,) = engine.call("ListStreams", {"TableName": "one"})["Streams"]
    assert stream["TableName"] == "one"
    assert stream["StreamArn"] == stream_arn(engine, "one")
    assert stream["StreamLabel"] == stream["StreamArn"].rpartition("/stream/")[2]
    assert {entry["TableName"] for entry in engine.call("ListStreams", {})["Streams"]} == {"one", "two"}


def test_pages_cover_all_streams_once(engine: Engine) -> None:
    names = [f"table{number}" for number in range(5)]
    for name in names:
        tables_of.create(engine, name, **tables_of.with_stream())
    table_names, request = [], {"Limit": 2}
    while True:
        response = engine.call("ListStreams", request)
        assert len(response["Streams"]) <= 2
        table_names += [stream["TableName"] for stream in response["Streams"]]
        if "LastEvaluatedStreamArn" not in response:
            break
        request = {"Limit": 2, "ExclusiveStartStreamArn": response["LastEvaluatedStreamArn"]}
    assert sorted(table_names) == names


def test_the_start_must_be_the_arn_of_a_stream(engine: Engine) -> None:
    with pytest.raises(ValidationError, match="Invalid StreamArn"):
        engine.call("ListStreams", {"ExclusiveStartStreamArn": "x" * 40})


@pytest.mark.parametrize("limit", [0, 101])
def test_limit_is_between_one_and_a_hundred(engine: Engine, limit: int) -> None:
    with pytest.raises(ValidationError):
        engine.call("ListStreams", {"Limit": limit})


def test_an_ended_stream_is_listed_for_a_day(engine: Engine, clock: ManualClock) -> None:
    tables_of.create(engine, **tables_of.with_stream())
    engine.call("UpdateTable", {"TableName": "things", "StreamSpecification": {"StreamEnabled": False}})
    clock.advance(limits.STREAM_RETENTION_S - 1)
    assert len(engine.call("ListStreams", {"TableName": "things"})["Streams"]) == 1
    clock.advance(1)
    assert engine.call("ListStreams", {"TableName": "things"})["Streams"] == []


def test_a_stream_enabled_again_is_a_different_stream(engine: Engine) -> None:
    tables_of.create(engine, **tables_of.with_stream())
    first = stream_arn(engine)
    specification = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    engine.call("UpdateTable", {"TableName": "things", "StreamSpecification": {"StreamEnabled": False}})
    engine.call("UpdateTable", {"TableName": "things", "StreamSpecification": specification})
    assert stream_arn(engine) != first
    assert len(engine.call("ListStreams", {"TableName": "things"})["Streams"]) == 2
