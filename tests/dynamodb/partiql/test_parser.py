"""Statements to trees. The service's messages for refused statements are in `tests/conformance`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan.dynamodb.partiql.nodes import (
    Assignment,
    BetweenTerm,
    CallTerm,
    Constant,
    DeleteStatement,
    ExistsStatement,
    FromClause,
    Infix,
    InsertStatement,
    InTerm,
    IsTerm,
    JoinedTerm,
    NotTerm,
    Ordering,
    Parameter,
    PathTerm,
    Removal,
    SelectStatement,
    SequenceTerm,
    Struct,
    Term,
    UpdateStatement,
)
from keyplan.dynamodb.partiql.parser import parse
from keyplan.errors import ValidationError


def where(condition: str) -> Term:
    """Return the condition of a statement, without the positions of its paths."""
    statement = parse(f"SELECT * FROM t WHERE {condition}").statement
    assert isinstance(statement, SelectStatement)
    assert statement.where is not None
    return bare(statement.where)


def bare(term: Term) -> Term:  # noqa: PLR0911 - one case for each kind of term
    match term:
        case PathTerm():
            return PathTerm(term.parts)
        case Infix():
            return Infix(term.operator, bare(term.left), bare(term.right))
        case JoinedTerm():
            return JoinedTerm(term.operator, tuple(map(bare, term.terms)))
        case NotTerm():
            return NotTerm(bare(term.term))
        case CallTerm():
            return CallTerm(term.function, tuple(map(bare, term.arguments)), "")
        case BetweenTerm():
            return BetweenTerm(bare(term.operand), bare(term.lower), bare(term.upper))
        case InTerm():
            return InTerm(bare(term.operand), bare(term.choices))
        case IsTerm():
            return IsTerm(bare(term.operand), term.type_name)
        case _:
            return term


A, B, C = (PathTerm((name,)) for name in "abc")
ONE, TWO = Constant("N", "1"), Constant("N", "2")
A_1, B_2, C_1 = Infix("=", A, ONE), Infix("=", B, TWO), Infix("=", C, ONE)
TRUE_NULL = SequenceTerm("list", (Constant("BOOL", "true"), Constant("NULL", "null")))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1 OR b = 2 AND NOT c = 1", JoinedTerm("or", (A_1, JoinedTerm("and", (B_2, NotTerm(C_1)))))),
        ("(a = 1 OR b = 2) AND c = 1", JoinedTerm("and", (JoinedTerm("or", (A_1, B_2)), C_1))),
        ("a + 1 > b - 2", Infix(">", Infix("+", A, ONE), Infix("-", B, TWO))),
        ("a BETWEEN 1 AND 2 AND b != c", JoinedTerm("and", (BetweenTerm(A, ONE, TWO), Infix("<>", B, C)))),
        ("a NOT IN [1, ?]", NotTerm(InTerm(A, SequenceTerm("list", (ONE, Parameter(0)))))),
        ("a IN (1, 2)", InTerm(A, SequenceTerm("list", (ONE, TWO)))),
        ("a IS NOT MISSING", NotTerm(IsTerm(A, "missing"))),
        ("a IS CHARACTER VARYING", IsTerm(A, "character varying")),
        ("Begins_With(a, 'x')", CallTerm("begins_with", (A, Constant("S", "x")), "")),
        ("size(a) = -1", Infix("=", CallTerm("size", (A,), ""), Constant("N", "-1"))),
        ("a.b[3].\"c d\"['e'] = <<1>>", Infix("=", PathTerm(("a", "b", 3, "c d", "e")), SequenceTerm("bag", (ONE,)))),
        ("a = {'x': [true, null]}", Infix("=", A, Struct((("x", TRUE_NULL),)))),
        ("NOT NOT a = 1", NotTerm(NotTerm(A_1))),
    ],
)
def test_terms(text: str, tree: Term) -> None:
    assert where(text) == tree


def test_a_select() -> None:
    parsed = parse('SELECT a, b.c FROM "t"."i" WHERE a = ? ORDER BY a DESC, b;')
    statement = parsed.statement
    assert parsed.parameters == 1
    assert isinstance(statement, SelectStatement)
    assert statement.source == FromClause("t", "i")
    assert [path.parts for path in statement.columns or ()] == [("a",), ("b", "c")]
    ordered = [Ordering(bare(ordering.term), ordering.descending) for ordering in statement.order]
    assert ordered == [Ordering(A, True), Ordering(B, False)]


def test_an_insert() -> None:
    statement = parse("INSERT INTO t VALUE {'a': 1, b: ?}").statement
    assert statement == InsertStatement(FromClause("t"), Struct((("a", ONE), ("b", Parameter(0)))))


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE t SET a = 1, b = b + 1 REMOVE c WHERE a = 2 RETURNING MODIFIED OLD *",
        "FROM t WHERE a = 2 SET a = 1 SET b = b + 1 REMOVE c RETURNING MODIFIED OLD *",
    ],
)
def test_an_update_in_both_orders(text: str) -> None:
    statement = parse(text).statement
    assert isinstance(statement, UpdateStatement)
    assert statement.returning == "UPDATED_OLD"
    first, second, third = statement.changes
    assert isinstance(first, Assignment)
    assert isinstance(second, Assignment)
    assert isinstance(third, Removal)
    assert (bare(first.path), first.value) == (A, ONE)
    assert bare(second.value) == Infix("+", B, ONE)
    assert statement.where is not None
    assert bare(statement.where) == Infix("=", A, TWO)


def test_a_delete() -> None:
    statement = parse("delete from t where a = 1 returning all old *").statement
    assert isinstance(statement, DeleteStatement)
    assert statement.returning == "ALL_OLD"


def test_a_check() -> None:
    statement = parse("EXISTS(SELECT * FROM t WHERE a = 1)").statement
    assert isinstance(statement, ExistsStatement)
    assert statement.select.source == FromClause("t")


@pytest.mark.parametrize("opening", ["(", "[", "<<", "{'a': ", "NOT ", "f("])
def test_deeply_nested_terms_are_rejected(opening: str) -> None:
    with pytest.raises(ValidationError):
        parse("SELECT * FROM t WHERE a = " + opening * 1500)


@given(st.text(alphabet="SELECT*FROMWHEREtabc 'q'\"=<>()[]{}?,.-+/;0123\n", max_size=80) | st.text(max_size=80))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    try:
        parse(text)
    except ValidationError:
        return
