"""Literals and parameters to attribute values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan.dynamodb.partiql.nodes import InsertStatement, Struct
from keyplan.dynamodb.partiql.parser import parse
from keyplan.dynamodb.partiql.values import StatementValues, parameters
from keyplan.errors import ValidationError


def value(literal: str, *given_parameters: dict[str, Any]) -> Any:
    parsed = parse(f"INSERT INTO t VALUE {{'v': {literal}}}")
    assert isinstance(parsed.statement, InsertStatement)
    assert isinstance(parsed.statement.item, Struct)
    values = StatementValues(parameters(given_parameters, wire=True), parsed.parameters)
    return values.evaluate(parsed.statement.item.members[0][1])


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("'a'", {"S": "a"}),
        ("-01.50", {"N": "-1.5"}),
        ("TRUE", {"BOOL": True}),
        ("null", {"NULL": True}),
        ("[1, 'a']", {"L": [{"N": "1"}, {"S": "a"}]}),
        ("{'a': {'b': []}}", {"M": {"a": {"M": {"b": {"L": []}}}}}),
        ("<<2, 1>>", {"NS": ["1", "2"]}),
        ("<<'b', 'a'>>", {"SS": ["a", "b"]}),
    ],
)
def test_literals(literal: str, expected: Any) -> None:
    assert value(literal) == expected


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        ("[1, ?]", "Unsupported data type: Parameter under key root[1] at 1:31:1"),
        ("{'a': [?]}", "Unsupported data type: Parameter under key root.a[0] at 1:34:1"),
        ("<<?>>", "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"),
    ],
)
def test_parameters_replace_whole_values_only(literal: str, message: str) -> None:
    assert value("?", {"N": "1.0"}) == {"N": "1"}
    with pytest.raises(ValidationError) as caught:
        value(literal, {"S": "x"})
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        ("MISSING", "MISSING must be compared using IS operator"),
        ("<<1, 'a'>>", "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"),
        (
            "<<2, 2.0>>",
            "One or more parameter values were invalid: Input collection [2, 2.0] contains duplicates! under root",
        ),
        ("<<[1]>>", "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"),
        ("{'a': 1, 'a': 2}", "Duplicate keys in tuple. Key: a under root"),
        ("`1`", "Ion Literals are not supported: 1 under key root"),
        ("other", "Unsupported data type: other under key root at 1:27:5"),
        ("1 + 1", "Unsupported operation: +"),
    ],
)
def test_terms_that_are_not_values_are_rejected(literal: str, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        value(literal)
    assert caught.value.message == message


def test_deep_values_are_rejected() -> None:
    with pytest.raises(ValidationError, match="Nesting Levels have exceeded supported limits"):
        value("[" * 40 + "]" * 40)


_SCALARS = st.one_of(
    st.builds(lambda text: {"S": text}, st.text(max_size=8)),
    st.builds(lambda number: {"N": str(number)}, st.integers(-(10**30), 10**30)),
    st.builds(lambda flag: {"BOOL": flag}, st.booleans()),
    st.just({"NULL": True}),
    st.builds(lambda members: {"SS": sorted(members)}, st.sets(st.text(max_size=4), min_size=1, max_size=4)),
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.builds(lambda members: {"L": members}, st.lists(inner, max_size=4))
        | st.builds(lambda members: {"M": members}, st.dictionaries(st.text(min_size=1, max_size=4), inner, max_size=4))
    ),
    max_leaves=8,
)


def written(attribute_value: dict[str, Any]) -> str:
    """Return the literal of a value."""
    ((kind, content),) = attribute_value.items()
    match kind:
        case "S":
            return "'" + str(content).replace("'", "''") + "'"
        case "BOOL" | "NULL":
            return "null" if kind == "NULL" else str(content)
        case "SS":
            return f"<<{', '.join(written({'S': member}) for member in content)}>>"
        case "L":
            return f"[{', '.join(map(written, content))}]"
        case "M":
            return (
                "{" + ", ".join(f"{written({'S': name})}: {written(member)}" for name, member in content.items()) + "}"
            )
        case _:
            return str(content)


@given(_VALUES)
def test_literals_equal_the_same_parameter(attribute_value: dict[str, Any]) -> None:
    assert value(written(attribute_value)) == value("?", attribute_value)
