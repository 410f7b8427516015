"""The update parser: sections, actions, arithmetic."""

from __future__ import annotations

import pytest

from keyplan.dynamodb.expressions.nodes import (
    AddAction,
    Arithmetic,
    Call,
    Clause,
    DeleteAction,
    Path,
    RemoveAction,
    SetAction,
    Update,
    Value,
)
from keyplan.dynamodb.expressions.update import parse
from keyplan.errors import ValidationError

A, B = Path(("a",)), Path(("b", 1, "#c"))


def read(text: str) -> Update:
    return parse(text, "UpdateExpression")


def test_every_section_is_read_in_any_order_and_case() -> None:
    update = read("add a :v Remove a, b[1].#c SET a = b[1].#c delete a :v")
    assert update.clauses == (
        Clause("ADD", (AddAction(A, Value(":v")),)),
        Clause("REMOVE", (RemoveAction(A), RemoveAction(B))),
        Clause("SET", (SetAction(A, B),)),
        Clause("DELETE", (DeleteAction(A, Value(":v")),)),
    )


@pytest.mark.parametrize("text", ["SET a = a + :v", "SET a = (a + :v)", "SET a = (a) + (:v)", "SET a = ((a) + (:v))"])
def test_parentheses_may_stand_around_a_sum_and_its_operands(text: str) -> None:
    total = Arithmetic("+", A, Value(":v"))
    assert read(text) == Update((Clause("SET", (SetAction(A, total),)),))


def test_functions_nest_and_take_parentheses() -> None:
    (clause,) = read("SET a = list_append(if_not_exists(a, :v), (b[1].#c))").clauses
    inner = Call("if_not_exists", (A, Value(":v")))
    assert clause.actions == (SetAction(A, Call("list_append", (inner, B))),)


@pytest.mark.parametrize(
    "text",
    [
        "SET a = " + "if_not_exists(a, " * 230,
        "SET a = " + "(" * 4000,
        "SET a = " + "f(" * 2000 + "a" + ")" * 2000,
        "REMOVE a" + "[0]" * 1300,
    ],
)
def test_depth_never_exhausts_the_stack(text: str) -> None:
    if text.startswith("REMOVE"):
        assert len(read(text).clauses[0].actions[0].path.parts) == 1301
        return
    with pytest.raises(ValidationError):
        read(text)
