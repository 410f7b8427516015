"""Keys of items and index entries: validation, encoding and order."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws import examples

from keyplan.engine.items.keys import EmptyKeyError, IndexKey, KeyAttribute, KeySchema, PrimaryKey, partition_bytes_of
from keyplan.errors import ValidationError

HASH = PrimaryKey(KeySchema((KeyAttribute("p", "S"),), ()))
BOTH = PrimaryKey(KeySchema((KeyAttribute("p", "S"),), (KeyAttribute("s", "N"),)))
SEVERAL = IndexKey(
    "several",
    KeySchema((KeyAttribute("a", "S"), KeyAttribute("b", "S")), (KeyAttribute("c", "S"), KeyAttribute("d", "B"))),
    is_global=True,
)
few = settings(max_examples=examples(150), deadline=None, database=None, derandomize=True)
texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)


def test_names_and_roles_are_in_order() -> None:
    assert BOTH.names == ("p", "s")
    assert SEVERAL.schema.names == ("a", "b", "c", "d")
    assert SEVERAL.schema.roles == (("a", "b"), ("c", "d"))


def test_a_key_and_its_item_have_the_same_bytes() -> None:
    key = {"p": {"S": "x"}, "s": {"N": "12"}}
    assert BOTH.of_key(key) == BOTH.of_item({**key, "other": {"S": "y"}})
    assert BOTH.extract({**key, "other": {"S": "y"}}) == key


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"p": {"S": "x"}},
        {"p": {"N": "1"}, "s": {"N": "1"}},
        {"p": {"S": "x"}, "s": {"S": "1"}},
        {"p": {"S": "x"}, "t": {"N": "1"}},
        {"p": {"S": "x"}, "s": {"N": "1"}, "t": {"N": "1"}},
    ],
)
def test_a_key_must_have_exactly_its_attributes(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        BOTH.of_key(wrong)


@pytest.mark.parametrize("wrong", [{"p": {"S": "x"}}, {"s": {"N": "1"}}, {"p": {"S": "x"}, "s": {"B": "eA=="}}])
def test_an_item_must_contain_its_key(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        BOTH.of_item(wrong)


def test_an_empty_key_has_its_own_error() -> None:
    with pytest.raises(EmptyKeyError):
        HASH.of_key({"p": {"S": ""}})


def test_an_empty_key_is_reported_before_other_errors() -> None:
    """Report the empty key first, as the service does, recorded in us-east-1."""
    with pytest.raises(EmptyKeyError):
        BOTH.of_key({"p": {"S": ""}, "s": {"N": "1"}, "other": {"S": "x"}})


@pytest.mark.parametrize(("length", "fits"), [(2048, True), (2049, False)])
def test_a_partition_key_has_a_maximum_length_in_bytes(length: int, fits: bool) -> None:
    for text in ("x" * length, "é" * (length // 2) + "x" * (length % 2)):
        if fits:
            HASH.of_key({"p": {"S": text}})
            continue
        with pytest.raises(ValidationError):
            HASH.of_key({"p": {"S": text}})


@pytest.mark.parametrize(("length", "fits"), [(1024, True), (1025, False)])
def test_a_sort_key_has_a_maximum_length_in_bytes(length: int, fits: bool) -> None:
    schema = PrimaryKey(KeySchema((KeyAttribute("p", "S"),), (KeyAttribute("s", "S"),)))
    key = {"p": {"S": "x"}, "s": {"S": "x" * length}}
    if fits:
        schema.of_key(key)
        return
    with pytest.raises(ValidationError):
        schema.of_key(key)


@few
@given(part=texts, numbers=st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=6))
def test_items_of_a_partition_are_in_numeric_order_after_one_prefix(part: str, numbers: list[int]) -> None:
    keys = {number: BOTH.of_key({"p": {"S": part}, "s": {"N": str(number)}}) for number in numbers}
    assert sorted(keys, key=lambda number: keys[number]) == sorted(keys)
    assert {partition_bytes_of(key) for key in keys.values()} == {HASH.of_key({"p": {"S": part}})}


def _entry(parts: tuple[str, str, str, bytes], table_key: bytes = b"k") -> bytes:
    a, b, c, d = parts
    item = {"a": {"S": a}, "b": {"S": b}, "c": {"S": c}, "d": {"B": b64encode(d).decode()}}
    entry = SEVERAL.entry_key(item, table_key)
    assert entry is not None
    return entry


sorts = st.tuples(texts, st.binary(min_size=1, max_size=4))


@few
@given(left=sorts, right=sorts)
def test_entries_are_ordered_by_their_attributes_in_turn(left: tuple[str, bytes], right: tuple[str, bytes]) -> None:
    orders = [(text.encode(), content) for text, content in (left, right)]
    entries = [_entry(("a", "b", *pair)) for pair in (left, right)]
    assert (entries[0] < entries[1]) == (orders[0] < orders[1])
    assert (entries[0] == entries[1]) == (orders[0] == orders[1])


@few
@given(left=st.tuples(texts, texts), right=st.tuples(texts, texts))
def test_a_partition_attribute_never_runs_into_the_next(left: tuple[str, str], right: tuple[str, str]) -> None:
    prefixes = [SEVERAL.prefix([{"S": a}, {"S": b}]) for a, b in (left, right)]
    assert (prefixes[0] == prefixes[1]) == (left == right)
    assert _entry((*left, "c", b"d")).startswith(prefixes[0])


def test_an_item_without_a_key_attribute_has_no_entry() -> None:
    item = {"a": {"S": "1"}, "b": {"S": "2"}, "c": {"S": "3"}, "d": {"B": "eA=="}}
    assert SEVERAL.entry_key(item, b"k") is not None
    for name in item:
        assert SEVERAL.entry_key({other: value for other, value in item.items() if other != name}, b"k") is None
        assert SEVERAL.entry_key({**item, name: {"NULL": True}}, b"k") is None


def test_an_entry_moves_only_with_its_key_attributes() -> None:
    item = {"a": {"S": "1"}, "b": {"S": "2"}, "c": {"S": "3"}, "d": {"B": "eA=="}}
    assert SEVERAL.has_same_key(item, {**item, "other": {"S": "4"}})
    assert SEVERAL.has_same_key({"other": {"S": "4"}}, {})
    for name in item:
        for other in ({**item, name: {"S": "else"}}, {at: value for at, value in item.items() if at != name}):
            assert not SEVERAL.has_same_key(item, other)
            assert not SEVERAL.has_same_key(other, item)


def test_an_attribute_that_cannot_be_an_index_key_is_rejected() -> None:
    SEVERAL.check({})
    SEVERAL.check({"a": {"S": "x"}, "other": {"N": "1"}})
    with pytest.raises(ValidationError):
        SEVERAL.check({"a": {"N": "1"}})
    for updated in (False, True):
        with pytest.raises(EmptyKeyError):
            SEVERAL.check({"a": {"S": ""}}, updated=updated)
    with pytest.raises(ValidationError):
        SEVERAL.check({"a": {"S": "x" * 1025}, "b": {"S": "x" * 1024}})
