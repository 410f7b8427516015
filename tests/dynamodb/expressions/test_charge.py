"""What an update is charged: by action, function and path, and by every use of a value."""

from __future__ import annotations

from typing import Any

import pytest

from keyplan.dynamodb.expressions.compiled import compile_update


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
def test_the_limit_itself_is_allowed(length: int, over: bool) -> None:
    values: dict[str, Any] = {":v": {"S": "x" * length}}
    assert compile_update("SET b = :v", None).charge.exceeds(3 + 20 + 76, values) is over
