"""Compiled expressions: their attributes, caching, and the order of checks."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

from keyplan.dynamodb.expressions.compiled import (
    compile_condition,
    compile_key_condition,
    compile_projection,
    compile_update,
)
from keyplan.errors import ValidationError

ONE = {":v": {"N": "1"}}


def test_conditions_report_the_attributes_they_read() -> None:
    condition = compile_condition("#a.b[0] = :v AND size(c) > d.#e", {"#a": "x", "#e": "y"}, "F")
    assert condition.attributes == {"x", "c", "d"}
    assert condition.names_used == {"#a", "#e"}
    assert condition.values_used == {":v"}
    assert condition.paths == (("x", "b", 0), ("c",), ("d", "y"))


def test_updates_report_changed_and_read_paths_separately() -> None:
    update = compile_update("SET a.b = c + :v REMOVE #d[2]", {"#d": "e"})
    assert update.attributes == {"a", "e"}
    assert update.paths == (("a", "b"), ("e", 2))
    assert set(update.paths_read) == {("a", "b"), ("c",), ("e", 2)}
    assert update.names_used == {"#d"}
    assert update.values_used == {":v"}


def test_projections_and_key_conditions_report_their_attributes() -> None:
    projection = compile_projection("a.b, #c", {"#c": "d"})
    assert projection.attributes == {"a", "d"}
    assert projection.names_used == {"#c"}
    key = compile_key_condition("#p = :v AND sk > :w", {"#p": "pk"})
    assert key.attributes == {"pk", "sk"}
    assert key.values_used == {":v", ":w"}


def test_compiled_expressions_are_cached_by_text_and_names() -> None:
    first = compile_condition("#a = :v", {"#a": "x"}, "FilterExpression")
    assert compile_condition("#a = :v", {"#a": "x"}, "FilterExpression") is first
    assert compile_condition("#a = :v", {"#a": "y"}, "FilterExpression") is not first
    assert compile_condition("#a = :v", {"#a": "x"}, "ConditionExpression") is not first


def test_an_undefined_value_before_an_undefined_name_is_reported_first() -> None:
    condition = compile_condition("a = :x AND #n = :v", None, "FilterExpression")
    with pytest.raises(ValidationError, match="attribute value: :x"):
        condition.check(ONE)
    with pytest.raises(ValidationError, match="attribute name: #n"):
        condition.check({":x": {"N": "1"}, **ONE})
    with pytest.raises(ValidationError, match="attribute name: #n"):
        condition.test({"a": {"N": "1"}}, {":x": {"N": "1"}, **ONE})


def test_update_problems_that_need_values_are_raised_by_check() -> None:
    update = compile_update("SET a = if_not_exists(b), c = :v", None)
    with pytest.raises(ValidationError, match="attribute value: :v"):
        update.check(None)
    with pytest.raises(ValidationError, match="number of operands: 1"):
        update.check(ONE)


def test_key_condition_form_is_checked_separately() -> None:
    key = compile_key_condition("pk = :v OR pk = :v", None)
    key.check(ONE)
    with pytest.raises(ValidationError, match="Invalid operator used in KeyConditionExpression: OR"):
        key.check_form()


def test_unchanged_values_are_shared_after_an_update() -> None:
    item: dict[str, Any] = {"a": {"M": {"x": {"L": []}, "y": {"L": []}}}, "b": {"S": "s"}}
    new = compile_update("SET a.z = :v", None).apply(item, ONE)
    assert new["b"] is item["b"]
    assert new["a"] is not item["a"]
    assert new["a"]["M"]["x"] is item["a"]["M"]["x"]
    assert "z" not in item["a"]["M"]


@pytest.mark.parametrize(
    ("text", "updated"),
    [
        ("SET a.x = :v, b = :v", {"a": {"M": {"x": {"N": "1"}}}, "b": {"N": "2"}}),
        ("REMOVE a.y", {}),
        ("ADD l[1] :v", {"l": {"L": [{"N": "8"}]}}),
        ("SET a = :v", {"a": {"M": {"x": {"N": "1"}}}}),
    ],
)
def test_updated_shows_only_the_paths_of_the_update(text: str, updated: dict[str, Any]) -> None:
    item: dict[str, Any] = {
        "a": {"M": {"x": {"N": "1"}}},
        "b": {"N": "2"},
        "l": {"L": [{"N": "7"}, {"N": "8"}]},
        "z": {"N": "3"},
    }
    assert compile_update(text, None).updated(item) == updated


def test_compiled_expressions_stay_below_the_recursion_limit() -> None:
    """Run the deepest texts within the limits on a stack with room for 400 frames."""
    condition = "a=:v"
    for level in range(148):
        condition = f"({condition}){' OR ' if level % 2 else ' AND '}a=:v"
    negations = "NOT (" * 290 + "a = :v" + ")" * 290
    chain = "SET a = " + "if_not_exists(b," * 240 + ":v" + ")" * 240
    failures: list[Exception] = []

    def run() -> None:
        try:
            for text in (condition, negations):
                compiled = compile_condition(text, None, "FilterExpression")
                compiled.check(ONE)
                compiled.test({"a": {"N": "1"}}, ONE)
            update = compile_update(chain, None)
            update.check(ONE)
            assert update.apply({}, ONE) == {"a": {"N": "1"}}
        except (RecursionError, ValidationError, AssertionError) as error:
            failures.append(error)

    limit = sys.getrecursionlimit()
    thread = threading.Thread(target=run)
    sys.setrecursionlimit(450)
    try:
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
    assert failures == []
