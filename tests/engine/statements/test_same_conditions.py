"""A condition means in a statement what it means in a filter expression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.table_making import create, definitions, schema

from keyplan.engine.engine import Engine
from keyplan.errors import ValidationError

_ITEMS: list[dict[str, Any]] = [
    {"a": {"S": "abc"}, "b": {"N": "2"}},
    {"a": {"N": "10"}, "b": {"L": [{"S": "x"}, {"N": "2"}]}},
    {"a": {"SS": ["x", "y"]}, "b": {"NULL": True}},
    {"a": {"M": {"b": {"S": "ab"}}}},
    {"b": {"BOOL": True}},
    {"a": {"B": b"ab"}, "b": {"S": ""}},
    {},
]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.memory() as engine:
        create(engine, "same", AttributeDefinitions=definitions(pk="N"), KeySchema=schema("pk"))
        for number, item in enumerate(_ITEMS):
            engine.call("PutItem", {"TableName": "same", "Item": {"pk": {"N": str(number)}, **item}})
        yield engine


_PATHS = st.sampled_from(["a", "b", "a.b", "b[0]", "b[1]", "nope"])
_VALUES = st.sampled_from(
    [{"S": "abc"}, {"S": "ab"}, {"S": "x"}, {"S": "S"}, {"N": "2"}, {"N": "10"}, {"SS": ["y", "x"]}, {"NULL": True}]
)
_TESTS = st.one_of(
    st.tuples(st.sampled_from(["{0} = {v}", "{0} <> {v}", "{0} < {v}", "{v} >= {0}", "size({0}) > {v}"]), _PATHS),
    st.tuples(st.sampled_from(["begins_with({0}, {v})", "contains({0}, {v})", "attribute_type({0}, {v})"]), _PATHS),
)
_WITHOUT = st.tuples(st.sampled_from(["attribute_exists({0})", "attribute_not_exists({0})", "{0} = b"]), _PATHS)


@given(
    tests=st.lists(st.tuples(_TESTS | _WITHOUT, _VALUES), min_size=1, max_size=4),
    joints=st.lists(st.sampled_from(["{} AND {}", "({} OR {})", "NOT {} AND {}"]), min_size=3, max_size=3),
)
def test_both_find_the_same_items(engine: Engine, tests: list[Any], joints: list[str]) -> None:
    statement = expression = ""
    parameters: list[dict[str, Any]] = []
    values: dict[str, dict[str, Any]] = {}
    for number, ((pattern, path), value) in enumerate(tests):
        question, placeholder = pattern.format(path, v="?"), pattern.format(path, v=f":v{number}")
        joint = joints[number - 1]
        statement = joint.format(question, statement) if number else question
        expression = joint.format(placeholder, expression) if number else placeholder
        if "{v}" in pattern:
            parameters.insert(0, value)
            values[f":v{number}"] = value
    given_values = {"ExpressionAttributeValues": values} if values else {}
    given_parameters = {"Parameters": parameters} if parameters else {}
    try:
        expected = engine.call("Scan", {"TableName": "same", "FilterExpression": expression, **given_values})["Items"]
    except ValidationError:
        with pytest.raises(ValidationError):
            engine.call("ExecuteStatement", {"Statement": f"SELECT * FROM same WHERE {statement}", **given_parameters})
        return
    found = engine.call("ExecuteStatement", {"Statement": f"SELECT * FROM same WHERE {statement}", **given_parameters})
    assert found["Items"] == expected
