"""UntagResource: removed tags."""

from __future__ import annotations

import pytest
from tests.engine.table_making import ARN, create, failure

from keyplan.engine.engine import Engine

NOTES = ARN + "notes"
TAGS = [{"Key": key, "Value": "x"} for key in "abc"]


def test_tags_are_removed(engine: Engine) -> None:
    create(engine, Tags=TAGS)
    assert engine.call("UntagResource", {"ResourceArn": NOTES, "TagKeys": ["b", "never there"]}) == {}
    assert engine.call("ListTagsOfResource", {"ResourceArn": NOTES}) == {"Tags": [TAGS[0], TAGS[2]]}


@pytest.mark.parametrize("key", ["", "k" * 129])
def test_an_invalid_key_is_rejected(engine: Engine, key: str) -> None:
    create(engine, Tags=TAGS)
    assert failure(engine, "UntagResource", {"ResourceArn": NOTES, "TagKeys": ["a", key]}) == (
        "ValidationException",
        f"The Tag Key provided is invalid, Key: {key}",
    )
    assert engine.call("ListTagsOfResource", {"ResourceArn": NOTES}) == {"Tags": TAGS}


@pytest.mark.parametrize("key", ["aws:mine", "AWS:mine"])
def test_reserved_tags_cannot_be_removed(engine: Engine, key: str) -> None:
    create(engine, Tags=TAGS)
    assert failure(engine, "UntagResource", {"ResourceArn": NOTES, "TagKeys": ["a", key]}) == (
        "ValidationException",
        f"Tag Key cannot be prefixed with aws:, Key: {key}",
    )
    assert engine.call("ListTagsOfResource", {"ResourceArn": NOTES}) == {"Tags": TAGS}


def test_more_keys_than_a_table_can_have_tags_are_rejected(engine: Engine) -> None:
    create(engine)
    assert failure(
        engine, "UntagResource", {"ResourceArn": NOTES, "TagKeys": [str(number) for number in range(51)]}
    ) == (
        "ValidationException",
        "Number of Tags exceed the current limit for the provided ResourceArn",
    )


def test_a_missing_table_is_rejected(engine: Engine) -> None:
    request = {"ResourceArn": NOTES, "TagKeys": ["a"]}
    assert failure(engine, "UntagResource", request) == (
        "ResourceNotFoundException",
        f"Requested resource not found: ResourceArn: {NOTES} not found",
    )
