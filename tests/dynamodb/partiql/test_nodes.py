"""Functions that read terms: names, joins, equalities."""

from __future__ import annotations

import pytest

from keyplan.dynamodb.partiql import nodes
from keyplan.dynamodb.partiql.nodes import Constant, Infix, SelectStatement, Term
from keyplan.dynamodb.partiql.parser import parse
from keyplan.errors import ValidationError


def where(condition: str) -> Term:
    statement = parse(f"SELECT * FROM t WHERE {condition}").statement
    assert isinstance(statement, SelectStatement)
    assert statement.where is not None
    return statement.where


def test_attributes_are_listed_in_order_by_first_name() -> None:
    term = where("a.x = 1 AND NOT begins_with(b, 'x') OR c IN [1] AND d BETWEEN e AND 2 AND f IS MISSING")
    assert nodes.attributes(term) == ["a", "b", "c", "d", "e", "f"]


def test_joined_terms_are_found_across_parentheses() -> None:
    assert len(nodes.joined_terms(where("a = 1 AND (b = 2 AND (c = 3 AND d = 4))"), "and")) == 4
    assert len(nodes.joined_terms(where("a = 1 AND (b = 2 OR c = 3)"), "and")) == 2
    assert len(nodes.joined_terms(where("a = 1"), "or")) == 1


def test_equalities_compare_an_attribute_with_a_value() -> None:
    assert nodes.equality(where("a = 1")) == ("a", Constant("N", "1"))
    assert nodes.equality(where("1 = a")) == ("a", Constant("N", "1"))
    for other in ("a = b", "a < 1", "a.b = 1", "size(a) = 1", "a = b + 1"):
        assert nodes.equality(where(other)) is None


def test_equalities_are_separated_from_the_rest() -> None:
    results, rest = nodes.equalities(where("pk = 'a' AND x = 1 AND sk = ?"), ("pk", "sk"))
    assert sorted(results) == ["pk", "sk"]
    assert isinstance(rest, Infix)
    assert nodes.attributes(rest) == ["x"]
    assert nodes.equalities(None, ("pk",)) == ({}, None)
    assert nodes.equalities(where("pk = 'a' OR x = 1"), ("pk",))[0] == {}


def test_a_key_attribute_compared_twice_is_rejected() -> None:
    with pytest.raises(ValidationError, match="Multiple conditions on same key pk"):
        nodes.equalities(where("pk = 'a' AND pk = 'b'"), ("pk",))
