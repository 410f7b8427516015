"""Updates: the size charge and the types they assign."""

from __future__ import annotations

from typing import Any

import pytest

from keyplan.dynamodb.expressions.compiled import compile_update
from keyplan.dynamodb.expressions.legacy import compile_attribute_updates


@pytest.mark.parametrize(
    ("text", "fixed", "uses"),
    [
        ("SET b = :v", 3 + 19 + 1, {":v": 1}),
        ("SET b = :v, cd = :v", 3 + 20 + 21, {":v": 2}),
        ("SET b.leaf = :v", 3 + 19 + 1 + 8, {":v": 1}),
        ("SET b[10] = :v", 3 + 19 + 1 + 6, {":v": 1}),
        ("SET c = m.a.z", 3 + 20 + 1 + 3 * 15, {}),
        ("SET n = n + :v", 3 + 20 + 34 + 16, {":v": 1}),
        ("SET n = n - :v", 3 + 20 + 37 + 16, {":v": 1}),
        ("SET l = list_append(if_not_exists(l, :e), :v)", 3 + 20 + 37 + 39 + 16, {":e": 1, ":v": 1}),
        ("ADD s :v REMOVE r, l[1] DELETE t :w", 3 + 20 + 2 + 7 + 2, {":v": 1}),
    ],
)
def test_an_update_is_charged(text: str, fixed: int, uses: dict[str, int]) -> None:
    charge = compile_update(text, None).charge
    assert (charge.fixed, dict(charge.uses)) == (fixed, uses)


def test_a_placeholder_is_charged_as_its_name() -> None:
    assert compile_update("REMOVE #n", {"#n": "twelve_bytes"}).charge.fixed == 3 + 1 + 12


@pytest.mark.parametrize(("length", "over"), [(76, False), (77, True)])
def test_a_charge_at_the_limit_is_allowed(length: int, over: bool) -> None:
    values: dict[str, Any] = {":v": {"S": "x" * length}}
    assert compile_update("SET b = :v", None).charge.exceeds(3 + 20 + 76, values) is over


VALUES: dict[str, Any] = {":s": {"S": "x"}, ":n": {"N": "1"}, ":set": {"SS": ["x"]}, ":l": {"L": []}}


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
def test_assigned_types_of_an_update_expression(text: str, assigned: list[tuple[str, str]]) -> None:
    assert compile_update(text, None).assigned(VALUES) == assigned


def test_assigned_types_resolve_name_placeholders() -> None:
    assert compile_update("SET #n = :s", {"#n": "a.b"}).assigned(VALUES) == [("a.b", "S")]


def test_assigned_types_of_attribute_updates() -> None:
    updates: dict[str, Any] = {
        "a": {"Action": "PUT", "Value": {"B": "YQ=="}},
        "b": {"Action": "DELETE"},
        "c": {"Action": "ADD", "Value": {"N": "1"}},
    }
    assert compile_attribute_updates(updates).assigned(None) == [("a", "B"), ("c", "N")]
