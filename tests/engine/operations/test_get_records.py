"""GetRecords: content of records, pages, expired and altered iterators, the ends of shards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.tables_of import delete, iterator, key, put, records, shards, stream_arn, wire

from keyplan import limits
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.errors import ExpiredIteratorError, TrimmedDataAccessError, ValidationError


@pytest.fixture
def clock() -> ManualClock:
    return tables_of.clock()


@pytest.fixture
def engine(clock: ManualClock) -> Iterator[Engine]:
    with Engine.memory(clock=clock, region="eu-west-1") as engine:
        tables_of.create(engine, **tables_of.with_stream())
        yield engine


def read(engine: Engine, text: str, **members: Any) -> dict[str, Any]:
    return engine.call("GetRecords", {"ShardIterator": text, **members})


def test_a_put_an_update_and_a_delete_each_have_a_record(engine: Engine) -> None:
    put(engine, "a", v={"N": "1"})
    put(engine, "a", v={"N": "2"})
    delete(engine, "a")
    actual_records = records(engine, stream_arn(engine))
    assert [record["eventName"] for record in actual_records] == ["INSERT", "MODIFY", "REMOVE"]
    first, second, third = (record["dynamodb"] for record in actual_records)
    assert first["Keys"] == key("a")
    assert first["NewImage"] == {**key("a"), "v": {"N": "1"}}
    assert "OldImage" not in first
    assert second["OldImage"] == first["NewImage"]
    assert second["NewImage"] == {**key("a"), "v": {"N": "2"}}
    assert third["OldImage"] == second["NewImage"]
    assert "NewImage" not in third


def test_a_record_has_all_members_of_the_service(engine: Engine) -> None:
    put(engine, "a")
    (record,) = records(engine, stream_arn(engine))
    assert record["eventVersion"] == "1.1"
    assert record["eventSource"] == "aws:dynamodb"
    assert record["awsRegion"] == "eu-west-1"
    assert len(record["eventID"]) == 32
    assert int(record["eventID"], 16) >= 0
    assert "userIdentity" not in record
    change = record["dynamodb"]
    assert change["ApproximateCreationDateTime"] == int(tables_of.NOW)
    assert change["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    assert 21 <= len(change["SequenceNumber"]) <= 40


def test_sequence_numbers_increase_and_event_ids_differ(engine: Engine) -> None:
    for number in range(5):
        put(engine, "a", v={"N": str(number)})
    actual_records = records(engine, stream_arn(engine))
    numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in actual_records]
    assert numbers == sorted(set(numbers))
    assert len({record["eventID"] for record in actual_records}) == 5


def test_a_record_is_the_same_on_every_read(engine: Engine) -> None:
    put(engine, "a")
    arn = stream_arn(engine)
    assert records(engine, arn) == records(engine, arn)


def test_size_bytes_counts_keys_and_images_as_documented(engine: Engine) -> None:
    # The example of the API reference: keys 5 bytes, new image 33, old image 21.
    tables_of.create(
        engine,
        "example",
        KeySchema=[{"AttributeName": "Id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "Id", "AttributeType": "N"}],
        **tables_of.with_stream(),
    )
    for message in ("New item!", "This item has changed"):
        engine.call("PutItem", {"TableName": "example", "Item": {"Id": {"N": "101"}, "Message": {"S": message}}})
    actual_records = records(engine, stream_arn(engine, "example"))
    assert [record["dynamodb"]["SizeBytes"] for record in actual_records] == [26, 59]


@pytest.mark.parametrize(
    ("view_type", "images"),
    [
        ("KEYS_ONLY", set()),
        ("NEW_IMAGE", {"NewImage"}),
        ("OLD_IMAGE", {"OldImage"}),
        ("NEW_AND_OLD_IMAGES", {"NewImage", "OldImage"}),
    ],
)
def test_the_view_type_selects_the_images(engine: Engine, view_type: str, images: set[str]) -> None:
    tables_of.create(engine, "viewed", **tables_of.with_stream(view_type))
    put(engine, "a", table="viewed", v={"N": "1"})
    put(engine, "a", table="viewed", v={"N": "2"})
    change = records(engine, stream_arn(engine, "viewed"))[1]["dynamodb"]
    assert change.keys() & {"NewImage", "OldImage"} == images
    assert change["StreamViewType"] == view_type


def test_a_write_that_changes_nothing_leaves_no_record(engine: Engine) -> None:
    put(engine, "a", tags={"SS": ["x", "y"]}, m={"M": {"b": {"N": "1"}, "c": {"L": [{"NS": ["1", "2"]}]}}})
    put(engine, "a", m={"M": {"c": {"L": [{"NS": ["2", "1"]}]}, "b": {"N": "1.0"}}}, tags={"SS": ["y", "x"]})
    delete(engine, "b")
    assert len(records(engine, stream_arn(engine))) == 1


def test_a_change_of_order_in_a_list_is_a_change(engine: Engine) -> None:
    put(engine, "a", v={"L": [{"N": "1"}, {"N": "2"}]})
    put(engine, "a", v={"L": [{"N": "2"}, {"N": "1"}]})
    assert len(records(engine, stream_arn(engine))) == 2


def test_binary_is_bytes_in_python_and_base64_on_the_wire(engine: Engine) -> None:
    put(engine, "a", v={"B": b"\x00\x01"}, w={"BS": [b"x"]})
    arn = stream_arn(engine)
    (record,) = records(engine, arn)
    assert record["dynamodb"]["NewImage"]["v"] == {"B": b"\x00\x01"}
    assert record["dynamodb"]["NewImage"]["w"] == {"BS": [b"x"]}
    (delivered,) = wire(engine.call_wire("GetRecords", {"ShardIterator": iterator(engine, arn)}))["Records"]
    assert delivered["dynamodb"]["NewImage"]["v"] == {"B": "AAE="}
    assert delivered["dynamodb"]["NewImage"]["w"] == {"BS": ["eA=="]}


def test_without_records_the_response_has_an_empty_list_and_an_iterator(engine: Engine) -> None:
    response = read(engine, iterator(engine, stream_arn(engine), "LATEST"))
    assert response["Records"] == []
    put(engine, "a")
    assert len(read(engine, response["NextShardIterator"])["Records"]) == 1


def test_limit_ends_a_page_and_the_next_page_continues(engine: Engine) -> None:
    for number in range(5):
        put(engine, str(number))
    first = read(engine, iterator(engine, stream_arn(engine)), Limit=2)
    second = read(engine, first["NextShardIterator"])
    keys = [record["dynamodb"]["Keys"]["p"]["S"] for record in first["Records"] + second["Records"]]
    assert len(first["Records"]) == 2
    assert keys == ["0", "1", "2", "3", "4"]
    assert read(engine, second["NextShardIterator"])["Records"] == []


def test_a_page_ends_at_a_megabyte(engine: Engine) -> None:
    for number in range(6):
        put(engine, str(number), v={"S": "x" * 300 * limits.KIB})
    text, pages = iterator(engine, stream_arn(engine)), []
    while True:
        response = read(engine, text)
        if not response["Records"]:
            break
        pages.append(len(response["Records"]))
        text = response["NextShardIterator"]
    assert pages == [3, 3]


@pytest.mark.parametrize("limit", [0, 1001])
def test_limit_is_between_one_and_a_thousand(engine: Engine, limit: int) -> None:
    with pytest.raises(ValidationError):
        read(engine, iterator(engine, stream_arn(engine)), Limit=limit)


def test_an_iterator_expires_after_fifteen_minutes(engine: Engine, clock: ManualClock) -> None:
    text = iterator(engine, stream_arn(engine))
    clock.advance(limits.SHARD_ITERATOR_S)
    response = read(engine, text)
    clock.advance(1)
    with pytest.raises(ExpiredIteratorError):
        read(engine, text)
    assert read(engine, response["NextShardIterator"])["Records"] == []


@pytest.mark.parametrize(
    "alter",
    [
        lambda text: "nonsense",
        lambda text: text[:-4],
        lambda text: text.replace("|1|", "|2|"),
        lambda text: text.replace("things", "others"),
        lambda text: text[:-6] + ("AAAAAA" if not text.endswith("AAAAAA") else "BBBBBB"),
    ],
)
def test_an_altered_iterator_is_invalid(engine: Engine, alter: Any) -> None:
    with pytest.raises(ValidationError, match="Invalid ShardIterator"):
        read(engine, alter(iterator(engine, stream_arn(engine))))


def test_a_disabled_stream_stays_readable_and_ends(engine: Engine) -> None:
    arn = stream_arn(engine)
    put(engine, "a")
    engine.call("UpdateTable", {"TableName": "things", "StreamSpecification": {"StreamEnabled": False}})
    put(engine, "b")
    response = read(engine, iterator(engine, arn))
    assert len(response["Records"]) == 1
    assert "NextShardIterator" not in response
    (shard,) = shards(engine, arn)
    last = response["Records"][0]["dynamodb"]["SequenceNumber"]
    assert shard["SequenceNumberRange"]["EndingSequenceNumber"] == last


def test_a_page_before_the_end_of_a_closed_shard_has_an_iterator(engine: Engine) -> None:
    arn = stream_arn(engine)
    put(engine, "a")
    put(engine, "b")
    engine.call("DeleteTable", {"TableName": "things"})
    first = read(engine, iterator(engine, arn), Limit=1)
    last = read(engine, first["NextShardIterator"], Limit=1)
    assert len(last["Records"]) == 1
    assert "NextShardIterator" not in last


def test_an_iterator_at_the_horizon_moves_with_it(engine: Engine, clock: ManualClock) -> None:
    put(engine, "a")
    clock.advance(limits.STREAM_RETENTION_S - 60)
    put(engine, "b")
    text = iterator(engine, stream_arn(engine))
    clock.advance(61)
    (record,) = read(engine, text)["Records"]
    assert record["dynamodb"]["Keys"] == key("b")


def test_an_iterator_at_a_trimmed_number_fails(engine: Engine, clock: ManualClock) -> None:
    put(engine, "a")
    arn = stream_arn(engine)
    number = records(engine, arn)[0]["dynamodb"]["SequenceNumber"]
    clock.advance(limits.STREAM_RETENTION_S - 60)
    text = iterator(engine, arn, "AT_SEQUENCE_NUMBER", SequenceNumber=number)
    clock.advance(61)
    with pytest.raises(TrimmedDataAccessError):
        read(engine, text)


def test_records_of_one_item_stay_in_one_shard_in_order(clock: ManualClock) -> None:
    with Engine.memory(clock=clock, stream_shards=4) as engine:
        tables_of.create(engine, **tables_of.with_stream())
        for number in range(10):
            for name in "abcdefgh":
                put(engine, name, v={"N": str(number)})
        arn = stream_arn(engine)
        assert len(shards(engine, arn)) == 4
        shards_of: dict[str, list[int]] = {}
        homes: dict[str, set[int]] = {}
        for shard in range(4):
            for record in read(engine, iterator(engine, arn, shard=shard))["Records"]:
                image = record["dynamodb"]["NewImage"]
                shards_of.setdefault(image["p"]["S"], []).append(int(image["v"]["N"]))
                homes.setdefault(image["p"]["S"], set()).add(shard)
        assert shards_of == {name: list(range(10)) for name in "abcdefgh"}
        assert all(len(homes_of) == 1 for homes_of in homes.values())
        assert len(set().union(*homes.values())) > 1
