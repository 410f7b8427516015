"""Equality and order of values."""

from __future__ import annotations

from base64 import b64encode
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from keyplan.dynamodb.expressions.ordering import compare, number_key, same
from keyplan.dynamodb.values import numbers

decimals = st.decimals(allow_nan=False, allow_infinity=False, places=12, min_value=-(10**20), max_value=10**20)


def canonical(value: Decimal) -> str:
    return numbers.canonical(format(value, "f"))


@given(decimals, decimals)
def test_numbers_order_by_value(one: Decimal, other: Decimal) -> None:
    result = compare({"N": canonical(one)}, {"N": canonical(other)})
    assert result == (one > other) - (one < other)


@given(st.binary(max_size=8), st.binary(max_size=8))
def test_binary_orders_by_unsigned_bytes(one: bytes, other: bytes) -> None:
    left, right = {"B": b64encode(one).decode()}, {"B": b64encode(other).decode()}
    assert compare(left, right) == (one > other) - (one < other)


@given(st.text(max_size=8), st.text(max_size=8))
def test_strings_order_by_their_utf8_bytes(one: str, other: str) -> None:
    first, second = one.encode(), other.encode()
    assert compare({"S": one}, {"S": other}) == (first > second) - (first < second)


def test_long_and_broken_numbers_are_compared_exactly() -> None:
    assert number_key("9007199254740993") == 9007199254740993
    assert number_key("12345678901234567890.5") == Decimal("12345678901234567890.5")


def test_sets_are_equal_in_any_order_at_any_depth() -> None:
    one: dict[str, Any] = {"M": {"a": {"L": [{"SS": ["x", "y"]}, {"N": "1"}]}}}
    other: dict[str, Any] = {"M": {"a": {"L": [{"SS": ["y", "x"]}, {"N": "1"}]}}}
    assert same(one, other)
    assert not same(one, {"M": {"a": {"L": [{"SS": ["y", "z"]}, {"N": "1"}]}}})
    assert not same(one, {"M": {"b": {"L": []}}})
    assert not same({"SS": ["1"]}, {"NS": ["1"]})
    assert not same({"L": [{"N": "1"}]}, {"L": []})
