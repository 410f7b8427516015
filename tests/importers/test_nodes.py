"""Values of documents: what each is taken as, and what is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest

from keyplan.importers.nodes import ImportSourceError, Node, UnresolvedValue

MOST = 10**18 - 1


def node(value: Any) -> Node:
    return Node(value, "t: a")


@pytest.mark.parametrize(
    ("method", "value", "expected"),
    [
        ("text", "x", "x"),
        ("text", 2026, "2026"),
        ("text", True, "true"),
        ("text", False, "false"),
        ("integer", 0, 0),
        ("integer", "7", 7),
        ("integer", "007", 7),
        ("integer", MOST, MOST),
        ("integer", str(MOST), MOST),
        ("flag", True, True),
        ("flag", False, False),
        ("flag", "true", True),
        ("flag", "False", False),
        ("mapping", {"x": 1}, {"x": 1}),
    ],
)
def test_a_value_is_converted(method: str, value: Any, expected: Any) -> None:
    results = getattr(node(value), method)()
    assert (type(results), results) == (type(expected), expected)


@pytest.mark.parametrize(
    ("method", "value", "expected"),
    [
        ("text", "", "expected a text, got ''"),
        ("text", 1.5, "expected a text, got 1.5"),
        ("text", ["x"], "expected a text, got ['x']"),
        ("integer", -1, "expected a whole number from 0, got -1"),
        ("integer", True, "expected a whole number from 0, got True"),
        ("integer", 1.0, "expected a whole number from 0, got 1.0"),
        ("integer", "", "expected a whole number from 0, got ''"),
        ("integer", "-1", "expected a whole number from 0, got '-1'"),
        ("integer", "\u0667", "expected a whole number from 0, got '\u0667'"),
        ("integer", MOST + 1, f"expected a whole number from 0, got {MOST + 1}"),
        ("integer", "0" * 19, f"expected a whole number from 0, got '{'0' * 19}'"),
        ("flag", "yes", "expected true or false, got 'yes'"),
        ("flag", 1, "expected true or false, got 1"),
        ("flag", None, "expected true or false, got None"),
        ("mapping", [1], "expected a mapping, got [1]"),
        ("items", {"x": 1}, "expected a list, got {'x': 1}"),
        ("items", "x" * 58, f"expected a list, got '{'x' * 58}'"),
        ("items", "x" * 59, f"expected a list, got '{'x' * 56}..."),
        ("text", UnresolvedValue("it is open"), "it is open"),
        ("integer", UnresolvedValue("it is open"), "it is open"),
        ("flag", UnresolvedValue("it is open"), "it is open"),
        ("mapping", UnresolvedValue("it is open"), "it is open"),
        ("items", UnresolvedValue("it is open"), "it is open"),
    ],
)
def test_an_invalid_value_is_rejected_with_its_path(method: str, value: Any, expected: str) -> None:
    with pytest.raises(ImportSourceError) as refused:
        getattr(node(value), method)()
    assert str(refused.value) == f"t: a: {expected}"


def test_a_number_may_have_a_minimum() -> None:
    assert node(3).integer(3) == 3
    with pytest.raises(ImportSourceError, match="t: a: expected a whole number from 3, got 2"):
        node(2).integer(3)


def test_a_value_must_be_one_of_the_allowed_words() -> None:
    assert node("b").one_of("a", "b") == "b"
    with pytest.raises(ImportSourceError, match="t: a: expected one of a, b, got 'c'"):
        node("c").one_of("a", "b")


def test_members_have_their_paths() -> None:
    root = node({"b": {"c": [{"d": 1}, 2]}, "e": None})
    actual = root.at("b", "c")
    assert actual is not None
    assert [item.path for item in actual.items()] == ["t: a.b.c[0]", "t: a.b.c[1]"]
    assert [element.value for element in root.need("b").elements("c")] == [{"d": 1}, 2]
    assert list(root.elements("x")) == []
    assert (root.get("e"), root.get("x"), root.at("x", "y"), root.at("b", "x")) == (None, None, None, None)
    with pytest.raises(ImportSourceError, match="t: a: e is missing"):
        root.need("e")
