"""Sets, equality and order of values."""

from __future__ import annotations

from base64 import b64encode
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan.dynamodb.values import numbers, types
from keyplan.dynamodb.values.types import comparable_number, compare, equal_values


@pytest.mark.parametrize(
    ("kind", "written", "stored"),
    [
        ("SS", ["b", "", "a", "é", "Z", "\U0001f600", "\uffff"], ["", "Z", "a", "b", "é", "\uffff", "\U0001f600"]),
        ("NS", ["10", "-1", "9", "0.5"], ["-1", "0.5", "9", "10"]),
        ("BS", ["/w==", "AQI=", "AQ==", ""], ["", "AQ==", "AQI=", "/w=="]),
        ("SS", ["one"], ["one"]),
    ],
)
def test_set_members_are_stored_in_order(kind: str, written: list[str], stored: list[str]) -> None:
    assert types.sorted_members(kind, written) == stored


def test_duplicates_are_listed_in_order_up_to_the_first_repeat() -> None:
    assert types.members_in_message_order("SS", ["c", "b", "c", "a", "b"]) == ["b", "c", "c", "a", "b"]
    assert types.members_in_message_order("BS", ["/w==", "AA==", "AA=="]) == ["AA==", "/w==", "AA=="]


decimals = st.decimals(allow_nan=False, allow_infinity=False, places=12, min_value=-(10**20), max_value=10**20)


def canonical(value: Decimal) -> str:
    return numbers.canonical(format(value, "f"))


@given(decimals, decimals)
def test_numbers_order_by_value(left: Decimal, right: Decimal) -> None:
    result = compare({"N": canonical(left)}, {"N": canonical(right)})
    assert result == (left > right) - (left < right)


@given(st.binary(max_size=8), st.binary(max_size=8))
def test_binary_orders_by_unsigned_bytes(first: bytes, second: bytes) -> None:
    left, right = {"B": b64encode(first).decode()}, {"B": b64encode(second).decode()}
    assert compare(left, right) == (first > second) - (first < second)


@given(st.text(max_size=8), st.text(max_size=8))
def test_strings_order_by_their_utf8_bytes(one: str, other: str) -> None:
    first, second = one.encode(), other.encode()
    assert compare({"S": one}, {"S": other}) == (first > second) - (first < second)


def test_long_and_fractional_numbers_are_compared_exactly() -> None:
    assert comparable_number("9007199254740993") == 9007199254740993
    assert comparable_number("12345678901234567890.5") == Decimal("12345678901234567890.5")


def test_sets_are_equal_in_any_order_at_any_depth() -> None:
    first: dict[str, Any] = {"M": {"a": {"L": [{"SS": ["x", "y"]}, {"N": "1"}]}}}
    other: dict[str, Any] = {"M": {"a": {"L": [{"SS": ["y", "x"]}, {"N": "1"}]}}}
    assert equal_values(first, other)
    assert not equal_values(first, {"M": {"a": {"L": [{"SS": ["y", "z"]}, {"N": "1"}]}}})
    assert not equal_values(first, {"M": {"b": {"L": []}}})
    assert not equal_values({"SS": ["1"]}, {"NS": ["1"]})
    assert not equal_values({"L": [{"N": "1"}]}, {"L": []})
