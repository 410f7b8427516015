"""TagResource: added and changed tags, invalid tags, taggable resources."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.table_making import ARN, IN_USE, create, definitions, failure, index

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine

NOTES = ARN + "notes"


def tag(key: str, value: str = "x") -> dict[str, str]:
    return {"Key": key, "Value": value}


def add(engine: Engine, *tags: dict[str, str]) -> dict[str, Any]:
    return engine.call("TagResource", {"ResourceArn": NOTES, "Tags": list(tags)})


def refusal(engine: Engine, *tags: dict[str, str]) -> tuple[str, str]:
    return failure(engine, "TagResource", {"ResourceArn": NOTES, "Tags": list(tags)})


def listed(engine: Engine) -> dict[str, str]:
    response = engine.call("ListTagsOfResource", {"ResourceArn": NOTES})
    return {entry["Key"]: entry["Value"] for entry in response["Tags"]}


def test_tags_are_added_and_changed(engine: Engine) -> None:
    create(engine, Tags=[tag("stage", "test")])
    assert add(engine, tag("team", "blue"), tag("stage", "live")) == {}
    assert listed(engine) == {"stage": "live", "team": "blue"}


@pytest.mark.parametrize("plain", ["7", " ", "a+b-c=d._:/@", "законные буквы", "א" * 128])
def test_letters_digits_blanks_and_some_punctuation_are_accepted(engine: Engine, plain: str) -> None:
    create(engine)
    add(engine, tag(plain, plain))
    assert listed(engine) == {plain: plain}


def test_a_value_may_be_empty(engine: Engine) -> None:
    create(engine)
    add(engine, tag("a", ""))
    assert listed(engine) == {"a": ""}


def test_lengths_are_limited(engine: Engine) -> None:
    create(engine)
    add(engine, tag("k" * 128, "v" * 256))
    for key in ("", "k" * 129):
        assert refusal(engine, tag("good"), tag(key))[1] == f"The Tag Key provided is invalid, Key: {key}"
    assert refusal(engine, tag("a", "v" * 257))[1] == f"The Tag Value provided is invalid, Value: {'v' * 257}"
    assert listed(engine) == {"k" * 128: "v" * 256}


@pytest.mark.parametrize(
    ("half", "message"),
    [
        ({}, "The Tag Key provided is invalid, Key: null"),
        ({"Value": "x"}, "The Tag Key provided is invalid, Key: null"),
        ({"Key": "a"}, "The Tag Value provided is invalid, Value: null"),
    ],
)
def test_a_tag_without_key_or_value_is_rejected(engine: Engine, half: dict[str, str], message: str) -> None:
    create(engine)
    assert refusal(engine, half) == ("ValidationException", message)


@pytest.mark.parametrize("odd", ["hi!", "d%g", '"hello"', "#!%%^$$&", "<>"])
def test_other_characters_are_rejected(engine: Engine, odd: str) -> None:
    create(engine)
    assert refusal(engine, tag(odd)) == ("ValidationException", f"The Tag Key provided is invalid, Key: {odd}")
    assert refusal(engine, tag("a", odd)) == (
        "ValidationException",
        f"The Tag Value provided is invalid, Value: {odd}",
    )


def test_reserved_and_duplicate_keys_are_rejected(engine: Engine) -> None:
    create(engine)
    assert refusal(engine, tag("aws:mine")) == (
        "ValidationException",
        "Tag Key cannot be prefixed with aws:, Key: aws:mine",
    )
    assert refusal(engine, tag("a"), tag("a")) == (
        "ValidationException",
        "Duplicate Tag Keys provided as input: Duplicate Tag Key found a",
    )


def test_more_than_fifty_tags_are_rejected(engine: Engine) -> None:
    create(engine)
    add(engine, *(tag(str(number)) for number in range(50)))
    add(engine, *(tag(str(number), "changed") for number in range(50)))
    assert refusal(engine, tag("0", "again"), tag("one more")) == (
        "ValidationException",
        "Number of Tags exceed the current limit for the provided ResourceArn",
    )
    assert set(listed(engine).values()) == {"changed"}
    response = engine.call("ListTagsOfResource", {"ResourceArn": NOTES})
    assert len(response["Tags"]) == 50
    assert "NextToken" not in response
    assert engine.call("ListTagsOfResource", {"ResourceArn": NOTES, "NextToken": "no such page"}) == response


def test_all_tags_together_are_limited_to_ten_kilobytes(engine: Engine) -> None:
    create(engine)
    add(engine, *(tag(f"{number:0128}", "v" * 128) for number in range(39)))
    add(engine, tag("k" * 128, "א" * 64))
    assert refusal(engine, tag("k" * 128, "א" * 65)) == (
        "ValidationException",
        "Tag set size 10242 bytes is above max size limit of 10240 bytes",
    )
    add(engine, tag("k" * 128, "shorter"))
    assert len(listed(engine)) == 40


def test_a_missing_table_is_rejected(engine: Engine) -> None:
    assert refusal(engine, tag("a")) == (
        "ResourceNotFoundException",
        f"Requested resource not found: ResourceArn: {NOTES} not found",
    )


ELSEWHERE = "arn:aws:dynamodb:eu-west-1:123456789012:table/notes"
STREAMED = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
STREAM = NOTES + "/stream/2026-10-09T00:29:04.041"


@pytest.mark.parametrize(
    ("arn", "error"),
    [
        ("arn:aws:dynamodb:us-east-1:000000000000:table/notes", ("AccessDeniedException", "Access is denied")),
        (ELSEWHERE, ("ValidationException", f"Invalid TableArn: Invalid ResourceArn provided as input {ELSEWHERE}")),
        (STREAM, ("ResourceNotFoundException", f"Requested resource not found: ResourceArn: {STREAM} not found")),
    ],
)
def test_an_arn_that_is_not_a_table_is_rejected(engine: Engine, arn: str, error: tuple[str, str]) -> None:
    create(engine)
    for operation, more in (("TagResource", {"Tags": [tag("a")]}), ("ListTagsOfResource", {})):
        assert failure(engine, operation, {"ResourceArn": arn, **more}) == error


def test_a_stream_has_its_own_tags(engine: Engine) -> None:
    arn = create(engine, Tags=[tag("a", "of the table")], StreamSpecification=STREAMED)["LatestStreamArn"]
    request = {"ResourceArn": arn}
    assert engine.call("ListTagsOfResource", request) == {"Tags": []}
    assert engine.call("TagResource", {**request, "Tags": [tag("a", "of the stream"), tag("b")]}) == {}
    assert engine.call("UntagResource", {**request, "TagKeys": ["b"]}) == {}
    assert engine.call("ListTagsOfResource", request) == {"Tags": [tag("a", "of the stream")]}
    assert listed(engine) == {"a": "of the table"}


def test_an_ended_stream_has_no_tags(engine: Engine) -> None:
    arn = create(engine, StreamSpecification=STREAMED)["LatestStreamArn"]
    engine.call("TagResource", {"ResourceArn": arn, "Tags": [tag("a")]})
    engine.call("UpdateTable", {"TableName": "notes", "StreamSpecification": {"StreamEnabled": False}})
    assert failure(engine, "ListTagsOfResource", {"ResourceArn": arn})[0] == "ResourceNotFoundException"
    again = engine.call("UpdateTable", {"TableName": "notes", "StreamSpecification": STREAMED})["TableDescription"]
    assert engine.call("ListTagsOfResource", {"ResourceArn": again["LatestStreamArn"]}) == {"Tags": []}


def test_indexes_have_no_tags(engine: Engine) -> None:
    description = create(
        engine,
        AttributeDefinitions=definitions(id="S", by="S"),
        GlobalSecondaryIndexes=[index("mine", "by")],
    )
    arn = description["GlobalSecondaryIndexes"][0]["IndexArn"]
    assert failure(engine, "TagResource", {"ResourceArn": arn, "Tags": [tag("a")]})[0] == "ValidationException"


def test_a_table_being_created_or_deleted_is_rejected() -> None:
    clock = ManualClock()
    with Engine.memory(clock=clock, state_delay_s=1.0) as engine:
        create(engine)
        assert refusal(engine, tag("a"))[0] == "ResourceNotFoundException"
        clock.advance(1.0)
        engine.call("DeleteTable", {"TableName": "notes"})
        assert refusal(engine, tag("a")) == ("ResourceInUseException", IN_USE + "Table is being deleted: notes")
