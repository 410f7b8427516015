"""Types that updated attributes will have, known from the request alone."""

from __future__ import annotations

import pytest

from keyplan.dynamodb.expressions.compiled import compile_update
from keyplan.dynamodb.expressions.legacy import compile_attribute_updates

VALUES = {":s": {"S": "x"}, ":n": {"N": "1"}, ":set": {"SS": ["x"]}, ":l": {"L": []}}


@pytest.mark.parametrize(
    ("text", "assigned"),
    [
        ("SET a = :s", [("a", "S")]),
        ("SET a = b + :n", [("a", "N")]),
        ("SET a = list_append(b, :l)", [("a", "L")]),
        ("ADD a :n DELETE b :set", [("a", "N"), ("b", "SS")]),
        ("SET a = b, c = if_not_exists(c, :s), d.e = :s REMOVE f", []),
    ],
)
def test_of_an_expression(text: str, assigned: list[tuple[str, str]]) -> None:
    assert compile_update(text, None).assigned(VALUES) == assigned


def test_a_name_placeholder_stands_for_its_name() -> None:
    assert compile_update("SET #n = :s", {"#n": "a.b"}).assigned(VALUES) == [("a.b", "S")]


def test_of_attribute_updates() -> None:
    updates = {
        "a": {"Action": "PUT", "Value": {"B": "YQ=="}},
        "b": {"Action": "DELETE"},
        "c": {"Action": "ADD", "Value": {"N": "1"}},
    }
    assert compile_attribute_updates(updates).assigned(None) == [("a", "B"), ("c", "N")]
