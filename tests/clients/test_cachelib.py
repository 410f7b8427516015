"""cachelib: a table made and waited for when it is not there, values kept until a time, conditional puts, clearing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("cachelib")

from cachelib import DynamoDbCache

TABLE = "cache"


@pytest.fixture
def cache(endpoint: str | None) -> Iterator[Any]:
    new_cache = DynamoDbCache(table_name=TABLE, endpoint_url=endpoint, check_connection=True)
    yield new_cache
    new_cache._dynamo.meta.client.close()


def test_the_table_is_created_with_its_time_to_live(cache: Any, client: Any) -> None:
    described = client.describe_time_to_live(TableName=TABLE)["TimeToLiveDescription"]
    assert described == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expiration_time"}


def test_a_second_cache_uses_the_table_of_the_first(cache: Any, endpoint: str | None) -> None:
    assert cache.set("a", {"deep": [1, b"\x00"]})
    other = DynamoDbCache(table_name=TABLE, endpoint_url=endpoint, check_connection=True)
    assert other.get("a") == {"deep": [1, b"\x00"]}
    other._dynamo.meta.client.close()


def test_existing_entries_are_not_added_again(cache: Any) -> None:
    assert cache.add("a", 1)
    assert not cache.add("a", 2)
    assert cache.get("a") == 1
    assert cache.has("a")


def test_many_entries_are_set_and_read_together(cache: Any) -> None:
    assert cache.set_many({"a": 1, "b": 2}) == ["a", "b"]
    assert cache.get_dict("a", "b", "c") == {"a": 1, "b": 2, "c": None}
    assert cache.delete_many("a", "c") == ["a", "c"]
    assert cache.get("a") is None
    assert cache.inc("b", 5) == 7


def test_clearing_removes_every_entry(cache: Any, client: Any) -> None:
    for number in range(30):
        cache.set(str(number), number)
    assert cache.clear()
    assert client.scan(TableName=TABLE, Select="COUNT")["Count"] == 0
