"""Conditions of statements translated to expressions."""

from __future__ import annotations

import pytest

from keyplan.dynamodb.partiql.nodes import SelectStatement
from keyplan.dynamodb.partiql.parser import parse
from keyplan.dynamodb.partiql.translate import condition
from keyplan.dynamodb.partiql.values import StatementValues
from keyplan.dynamodb.values.types import AttributeValue, Item
from keyplan.errors import ValidationError

ITEM: Item = {"n": {"N": "1"}, "flag": {"S": "right"}, "yes": {"BOOL": True}}


def holds(text: str, *parameters: AttributeValue) -> bool:
    parsed = parse(f"SELECT * FROM t WHERE {text}")
    assert isinstance(parsed.statement, SelectStatement)
    assert parsed.statement.where is not None
    new_condition = condition(parsed.statement.where, StatementValues(parameters, parsed.parameters))
    return new_condition.compiled.test(ITEM, new_condition.values)


@pytest.mark.parametrize(
    "text",
    [
        "(n BETWEEN 0 AND 5) = true",
        "attribute_exists(n) <> 1",
        "attribute_exists(n) = yes",
        "yes = attribute_exists(n)",
        "attribute_exists(n) <> nope",
        "attribute_exists(n) <> attribute_exists(nope)",
        "attribute_exists(nope) = (n > 1)",
        "attribute_exists(nope) IN [true, false]",
        "NOT attribute_exists(nope) IN ['x', yes]",
        "((attribute_exists(n) = yes) = yes) = yes",
        "(n IS MISSING) = false",
    ],
)
def test_a_condition_equals_true_or_false(text: str) -> None:
    assert holds(text)
    assert not holds(f"({text}) = false")


def test_a_condition_equals_a_parameter() -> None:
    assert holds("attribute_exists(n) = ?", {"BOOL": True})
    assert not holds("attribute_exists(n) = ?", {"S": "true"})


@pytest.mark.parametrize("text", ["attribute_exists(n) > false", "1 <= (n = 1)"])
def test_conditions_have_no_order(text: str) -> None:
    with pytest.raises(ValidationError, match=r"operator or function: (>|<=), operand type: BOOL$"):
        holds(text)


@pytest.mark.parametrize(
    "text",
    [
        "attribute_exists(n)" + " = true" * 1000,
        "attribute_exists(n)" + " = yes" * 20,
        "attribute_exists(n)" + " IN [true]" * 700,
    ],
)
def test_nested_comparisons_of_conditions_are_bounded(text: str) -> None:
    with pytest.raises(ValidationError, match="too many operators"):
        holds(text)


def test_deep_conditions_do_not_exhaust_the_stack() -> None:
    levels = 70
    assert holds("(flag = 'x' OR NOT " * levels + "yes = true" + ") = true" * levels)


def test_translated_conditions_have_no_length_limit() -> None:
    choices = ", ".join(str(number % 10) for number in range(100))
    assert holds(" AND ".join([f"n IN [{choices}]"] * 12))
