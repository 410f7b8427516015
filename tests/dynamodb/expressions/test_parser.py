"""The parsers of conditions and updates."""

from __future__ import annotations

import pytest

from keyplan.dynamodb.expressions.nodes import (
    AddAction,
    And,
    Arithmetic,
    Call,
    Clause,
    Compare,
    Condition,
    DeleteAction,
    In,
    Not,
    Or,
    Path,
    RemoveAction,
    SetAction,
    Update,
    Value,
)
from keyplan.dynamodb.expressions.parser import parse_condition, parse_update
from keyplan.errors import ValidationError

A, B, C = (Compare("=", Path((name,)), Value(":v")) for name in "abc")


def read_condition(text: str) -> Condition:
    return parse_condition(text, "FilterExpression")


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
    assert read_condition(text) == tree


def test_an_expression_has_at_most_300_operators() -> None:
    assert isinstance(read_condition(" OR ".join(["a=b"] * 150)), Or)  # 150 comparisons and 149 OR
    with pytest.raises(ValidationError, match=r"The expression contains too many operators; operator count: 301$"):
        read_condition(" OR ".join(["a=b"] * 200))


def test_unknown_functions_are_reported_before_too_many_operators() -> None:
    with pytest.raises(ValidationError, match=r"Invalid function name; function: f$"):
        read_condition("a < " + "f(" * 400 + "b" + ")" * 400)


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
def test_deep_conditions_are_rejected_without_exhausting_the_stack(text: str) -> None:
    with pytest.raises(ValidationError):
        read_condition(text)


def test_the_deepest_condition_within_the_limits_is_parsed() -> None:
    text = "a=b"
    for level in range(148):
        text = f"({text}){' OR ' if level % 2 else ' AND '}a=b"
    assert isinstance(read_condition(text), And | Or)


PATH_A, PATH_B = Path(("a",)), Path(("b", 1, "#c"))


def read_update(text: str) -> Update:
    return parse_update(text, "UpdateExpression")


def test_sections_are_parsed_in_any_order_and_case() -> None:
    update = read_update("add a :v Remove a, b[1].#c SET a = b[1].#c delete a :v")
    assert update.clauses == (
        Clause("ADD", (AddAction(PATH_A, Value(":v")),)),
        Clause("REMOVE", (RemoveAction(PATH_A), RemoveAction(PATH_B))),
        Clause("SET", (SetAction(PATH_A, PATH_B),)),
        Clause("DELETE", (DeleteAction(PATH_A, Value(":v")),)),
    )


@pytest.mark.parametrize("text", ["SET a = a + :v", "SET a = (a + :v)", "SET a = (a) + (:v)", "SET a = ((a) + (:v))"])
def test_sums_and_their_operands_may_be_in_parentheses(text: str) -> None:
    total = Arithmetic("+", PATH_A, Value(":v"))
    assert read_update(text) == Update((Clause("SET", (SetAction(PATH_A, total),)),))


def test_functions_nest_and_allow_parentheses() -> None:
    (clause,) = read_update("SET a = list_append(if_not_exists(a, :v), (b[1].#c))").clauses
    inner = Call("if_not_exists", (PATH_A, Value(":v")))
    assert clause.actions == (SetAction(PATH_A, Call("list_append", (inner, PATH_B))),)


@pytest.mark.parametrize(
    "text",
    [
        "SET a = " + "if_not_exists(a, " * 230,
        "SET a = " + "(" * 4000,
        "SET a = " + "f(" * 2000 + "a" + ")" * 2000,
        "REMOVE a" + "[0]" * 1300,
    ],
)
def test_deep_updates_do_not_exhaust_the_stack(text: str) -> None:
    if text.startswith("REMOVE"):
        assert len(read_update(text).clauses[0].actions[0].path.parts) == 1301
        return
    with pytest.raises(ValidationError):
        read_update(text)
