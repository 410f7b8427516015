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
        ("whole", 0, 0),
        ("whole", "7", 7),
        ("whole", "007", 7),
        ("whole", MOST, MOST),
        ("whole", str(MOST), MOST),
        ("flag", True, True),
        ("flag", False, False),
        ("flag", "true", True),
        ("flag", "False", False),
        ("mapping", {"x": 1}, {"x": 1}),
    ],
)
def test_what_a_value_is_taken_as(method: str, value: Any, expected: Any) -> None:
    found = getattr(node(value), method)()
    assert (type(found), found) == (type(expected), expected)


@pytest.mark.parametrize(
    ("method", "value", "wanted"),
    [
        ("text", "", "a text is wanted, not ''"),
        ("text", 1.5, "a text is wanted, not 1.5"),
        ("text", ["x"], "a text is wanted, not ['x']"),
        ("whole", -1, "a whole number from 0 is wanted, not -1"),
        ("whole", True, "a whole number from 0 is wanted, not True"),
        ("whole", 1.0, "a whole number from 0 is wanted, not 1.0"),
        ("whole", "", "a whole number from 0 is wanted, not ''"),
        ("whole", "-1", "a whole number from 0 is wanted, not '-1'"),
        ("whole", "\u0667", "a whole number from 0 is wanted, not '\u0667'"),
        ("whole", MOST + 1, f"a whole number from 0 is wanted, not {MOST + 1}"),
        ("whole", "0" * 19, f"a whole number from 0 is wanted, not '{'0' * 19}'"),
        ("flag", "yes", "true or false is wanted, not 'yes'"),
        ("flag", 1, "true or false is wanted, not 1"),
        ("flag", None, "true or false is wanted, not None"),
        ("mapping", [1], "a mapping is wanted, not [1]"),
        ("items", {"x": 1}, "a list is wanted, not {'x': 1}"),
        ("items", "x" * 58, f"a list is wanted, not '{'x' * 58}'"),
        ("items", "x" * 59, f"a list is wanted, not '{'x' * 56}..."),
        ("text", UnresolvedValue("it is open"), "it is open"),
        ("whole", UnresolvedValue("it is open"), "it is open"),
        ("flag", UnresolvedValue("it is open"), "it is open"),
        ("mapping", UnresolvedValue("it is open"), "it is open"),
        ("items", UnresolvedValue("it is open"), "it is open"),
    ],
)
def test_what_is_refused_is_told_with_its_place(method: str, value: Any, wanted: str) -> None:
    with pytest.raises(ImportSourceError) as refused:
        getattr(node(value), method)()
    assert str(refused.value) == f"t: a: {wanted}"


def test_a_number_may_have_a_least() -> None:
    assert node(3).whole(3) == 3
    with pytest.raises(ImportSourceError, match="t: a: a whole number from 3 is wanted, not 2"):
        node(2).whole(3)


def test_one_of_some_words() -> None:
    assert node("b").one_of("a", "b") == "b"
    with pytest.raises(ImportSourceError, match="t: a: one of a, b is wanted, not 'c'"):
        node("c").one_of("a", "b")


def test_members_have_their_paths() -> None:
    whole = node({"b": {"c": [{"d": 1}, 2]}, "e": None})
    found = whole.at("b", "c")
    assert found is not None
    assert [one.path for one in found.items()] == ["t: a.b.c[0]", "t: a.b.c[1]"]
    assert [one.value for one in whole.need("b").each("c")] == [{"d": 1}, 2]
    assert list(whole.each("x")) == []
    assert (whole.get("e"), whole.get("x"), whole.at("x", "y"), whole.at("b", "x")) == (None, None, None, None)
    with pytest.raises(ImportSourceError, match="t: a: e is missing"):
        whole.need("e")
