"""The reserved words."""

from __future__ import annotations

import pytest

from keyplan.dynamodb.expressions.reserved import RESERVED_WORDS, is_reserved


def test_there_are_573_of_them_in_capitals() -> None:
    assert len(RESERVED_WORDS) == 573
    assert all(word.isascii() and word.isupper() for word in RESERVED_WORDS)


@pytest.mark.parametrize("name", ["status", "NAME", "Data", "ttl", "items", "year"])
def test_case_does_not_matter(name: str) -> None:
    assert is_reserved(name)


@pytest.mark.parametrize("name", ["pk", "sk", "statuses", "id", "email", "remove"])
def test_other_names_are_free(name: str) -> None:
    assert not is_reserved(name)
