"""The condition parser: precedence, parentheses, limits."""

from __future__ import annotations

import pytest

from keyplan.dynamodb.expressions.condition import parse
from keyplan.dynamodb.expressions.nodes import And, Call, Compare, Condition, In, Not, Or, Path, Value
from keyplan.errors import ValidationError

A, B, C = (Compare("=", Path((name,)), Value(":v")) for name in "abc")


def read(text: str) -> Condition:
    return parse(text, "FilterExpression")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = :v OR b = :v AND c = :v", Or((A, And((B, C))))),
        ("a = :v AND b = :v OR c = :v", Or((And((A, B)), C))),
        ("(a = :v OR b = :v) AND c = :v", And((Or((A, B)), C))),
        ("NOT a = :v AND b = :v", And((Not(A), B))),
        ("NOT (a = :v AND b = :v)", Not(And((A, B)))),
        ("NOT NOT a = :v", Not(Not(A))),
        ("a = :v AND b = :v AND c = :v", And((A, B, C))),
        ("(a = :v AND b = :v) AND c = :v", And((And((A, B)), C))),
        ("(a) = (:v)", A),
        ("((a) = :v)", A),
        ("((a) = (:v) AND (b = :v))", And((A, B))),
        ("(size(a)) = :v", Compare("=", Call("size", (Path(("a",)),)), Value(":v"))),
        ("(contains(a, (b)))", Call("contains", (Path(("a",)), Path(("b",))))),
        ("(a) IN ((b), :v)", In(Path(("a",)), (Path(("b",)), Value(":v")))),
    ],
)
def test_precedence_and_parentheses(text: str, tree: Condition) -> None:
    assert read(text) == tree


def test_three_hundred_operators_are_read_and_one_more_is_not() -> None:
    assert isinstance(read(" OR ".join(["a=b"] * 150)), Or)  # 150 comparisons and 149 OR
    with pytest.raises(ValidationError, match=r"The expression contains too many operators; operator count: 301$"):
        read(" OR ".join(["a=b"] * 200))


def test_a_function_that_does_not_exist_is_told_rather_than_too_many_of_it() -> None:
    with pytest.raises(ValidationError, match=r"Invalid function name; function: f$"):
        read("a < " + "f(" * 400 + "b" + ")" * 400)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 4000 + "a",
        "(" * 2000 + "a" + ")" * 2000,
        "NOT " * 1000 + "a = b",
        "NOT(" * 1000 + "a = b",
        "size(" * 800 + "a",
        "a IN (" * 600,
        "a = " + "(" * 4000,
        "a[0]" * 1000 + " = :v",
    ],
)
def test_depth_is_refused_and_never_exhausts_the_stack(text: str) -> None:
    with pytest.raises(ValidationError):
        read(text)


def test_the_deepest_condition_within_the_limits_is_read() -> None:
    text = "a=b"
    for level in range(148):
        text = f"({text}){' OR ' if level % 2 else ' AND '}a=b"
    assert isinstance(read(text), And | Or)
