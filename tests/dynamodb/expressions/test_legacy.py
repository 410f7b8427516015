"""The older parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from keyplan.dynamodb.expressions.legacy import (
    compile_attribute_updates,
    compile_attributes_to_get,
    compile_expected,
    compile_filter,
    compile_key_conditions,
)
from keyplan.errors import ValidationError

INVALID = "One or more parameter values were invalid: "
ONE_VALUE = ["EQ", "NE", "LE", "LT", "GE", "GT", "CONTAINS", "NOT_CONTAINS", "BEGINS_WITH"]
SAMPLES: dict[str, Any] = {
    "S": {"S": "a"},
    "N": {"N": "1"},
    "B": {"B": "YQ=="},
    "BOOL": {"BOOL": True},
    "NULL": {"NULL": True},
    "SS": {"SS": ["a"]},
    "NS": {"NS": ["1"]},
    "BS": {"BS": ["YQ=="]},
    "M": {"M": {}},
    "L": {"L": []},
}


def refused(compile_it: Callable[..., object], *arguments: object) -> str:
    with pytest.raises(ValidationError) as caught:
        compile_it(*arguments)
    return caught.value.message


def filter_of(operator: str, *arguments: dict[str, Any]) -> dict[str, Any]:
    return {"a": {"ComparisonOperator": operator, "AttributeValueList": list(arguments)}}


def matches(operator: str, arguments: list[dict[str, Any]], item: dict[str, Any]) -> bool:
    return compile_filter(filter_of(operator, *arguments), None).test(item, {})


@pytest.mark.parametrize("operator", ONE_VALUE)
@pytest.mark.parametrize("count", [0, 2])
def test_most_operators_accept_one_value(operator: str, count: int) -> None:
    expected = f"{INVALID}Invalid number of argument(s) for the {operator} ComparisonOperator"
    assert refused(compile_filter, filter_of(operator, *[{"S": "a"}] * count), None) == expected


@pytest.mark.parametrize(
    ("operator", "count"),
    [("NULL", 1), ("NOT_NULL", 2), ("BETWEEN", 0), ("BETWEEN", 1), ("BETWEEN", 3), ("IN", 0)],
)
def test_other_operators_accept_none_two_or_any_values(operator: str, count: int) -> None:
    expected = f"{INVALID}Invalid number of argument(s) for the {operator} ComparisonOperator"
    assert refused(compile_filter, filter_of(operator, *[{"S": "a"}] * count), None) == expected


@pytest.mark.parametrize(
    ("operators", "refused_types"),
    [
        (["LT", "LE", "GT", "GE", "IN"], ["BOOL", "NULL", "SS", "NS", "BS", "M", "L"]),
        (["BETWEEN"], ["BOOL", "NULL", "SS", "NS", "BS", "M", "L"]),
        (["CONTAINS", "NOT_CONTAINS"], ["SS", "NS", "BS", "M", "L"]),
        (["BEGINS_WITH"], ["N", "BOOL", "NULL", "SS", "NS", "BS", "M", "L"]),
        (["EQ", "NE"], []),
    ],
)
def test_each_operator_has_its_types(operators: list[str], refused_types: list[str]) -> None:
    for operator in operators:
        for type_code, sample in SAMPLES.items():
            arguments = [sample] * (2 if operator == "BETWEEN" else 1)
            if type_code in refused_types:
                expected = f"ComparisonOperator {operator} is not valid for {type_code} "
                message = refused(compile_filter, filter_of(operator, *arguments), None)
                assert message == f"{INVALID}{expected}AttributeValue type"
            else:
                compile_filter(filter_of(operator, *arguments), None)


def test_values_of_a_list_have_one_type_and_bounds_are_in_order() -> None:
    mixed = filter_of("IN", {"S": "b"}, {"N": "1"})
    expected = INVALID + "AttributeValues inside AttributeValueList must be of same type"
    assert refused(compile_filter, mixed, None) == expected
    turned = filter_of("BETWEEN", {"N": "10"}, {"N": "9"})
    assert refused(compile_filter, turned, None) == (
        "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
    )


@pytest.mark.parametrize(
    ("operator", "arguments", "value", "missing"),
    [
        ("EQ", [{"SS": ["x", "y"]}], {"SS": ["y", "x"]}, False),
        ("NE", [{"N": "1"}], {"N": "2"}, True),
        ("NE", [{"N": "1"}], {"S": "1"}, True),
        ("LT", [{"N": "10"}], {"N": "9"}, False),
        ("LE", [{"S": "b"}], {"S": "b"}, False),
        ("GT", [{"B": "fw=="}], {"B": "gA=="}, False),
        ("GE", [{"N": "1"}], {"N": "1"}, False),
        ("BETWEEN", [{"N": "1"}, {"N": "3"}], {"N": "3"}, False),
        ("IN", [{"S": "a"}, {"S": "b"}], {"S": "b"}, False),
        ("CONTAINS", [{"S": "el"}], {"S": "hello"}, False),
        ("CONTAINS", [{"N": "2"}], {"NS": ["1", "2"]}, False),
        ("CONTAINS", [{"N": "2"}], {"L": [{"N": "2"}]}, False),
        ("NOT_CONTAINS", [{"S": "x"}], {"S": "hello"}, False),
        ("BEGINS_WITH", [{"S": "he"}], {"S": "hello"}, False),
        ("NULL", [], None, True),
        ("NOT_NULL", [], {"NULL": True}, False),
    ],
)
def test_operators_match(
    operator: str, arguments: list[dict[str, Any]], value: dict[str, Any] | None, missing: bool
) -> None:
    if value is not None:
        assert matches(operator, arguments, {"a": value})
    assert matches(operator, arguments, {}) is missing


@pytest.mark.parametrize(
    ("operator", "arguments", "value"),
    [
        ("LT", [{"N": "10"}], {"S": "1"}),
        ("BETWEEN", [{"N": "1"}, {"N": "3"}], {"N": "4"}),
        ("BEGINS_WITH", [{"S": "1"}], {"N": "1"}),
        ("NE", [{"N": "1"}], {"N": "1"}),
        ("NULL", [], {"NULL": True}),
        ("NOT_CONTAINS", [{"S": "a"}], {"SS": ["a"]}),
    ],
)
def test_operators_do_not_match(operator: str, arguments: list[dict[str, Any]], value: dict[str, Any]) -> None:
    assert not matches(operator, arguments, {"a": value})


def test_conditions_are_joined_by_and_unless_or_is_given() -> None:
    both = filter_of("NULL") | {"b": {"ComparisonOperator": "NULL"}}
    assert not compile_filter(both, None).test({"a": {"N": "1"}}, {})
    assert not compile_filter(both, "AND").test({"a": {"N": "1"}}, {})
    assert compile_filter(both, "OR").test({"a": {"N": "1"}}, {})
    assert compile_filter(both, None).attributes == {"a", "b"}
    assert compile_filter({}, "OR").test({}, {})


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, "Value must be provided when Exists is null for Attribute: a"),
        ({"Exists": True}, "Value must be provided when Exists is true for Attribute: a"),
        (
            {"Exists": False, "Value": {"S": "a"}},
            "Value cannot be used when Exists is false for Attribute: a",
        ),
        (
            {"Value": {"S": "a"}, "AttributeValueList": []},
            "Value and AttributeValueList cannot be used together for Attribute: a",
        ),
        (
            {"Exists": True, "ComparisonOperator": "EQ"},
            "Exists and ComparisonOperator cannot be used together for Attribute: a",
        ),
        (
            {"ComparisonOperator": "EQ"},
            "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: a",
        ),
        (
            {"AttributeValueList": [{"S": "a"}]},
            "AttributeValueList can only be used with a ComparisonOperator for Attribute: a",
        ),
    ],
)
def test_invalid_expected_gets_the_services_message(value: dict[str, Any], problem: str) -> None:
    assert refused(compile_expected, {"a": value}, None) == INVALID + problem


@pytest.mark.parametrize(
    ("value", "item", "result"),
    [
        ({"Exists": False}, {}, True),
        ({"Exists": False}, {"a": {"N": "1"}}, False),
        ({"Value": {"N": "1"}}, {"a": {"N": "1"}}, True),
        ({"Exists": True, "Value": {"N": "1"}}, {}, False),
        ({"ComparisonOperator": "GT", "Value": {"N": "1"}}, {"a": {"N": "2"}}, True),
        ({"ComparisonOperator": "NOT_NULL"}, {"a": {"N": "2"}}, True),
    ],
)
def test_expected_is_tested(value: dict[str, Any], item: dict[str, Any], result: bool) -> None:
    assert compile_expected({"a": value}, None).test(item, {}) is result


def test_names_of_the_older_parameters_are_never_paths() -> None:
    condition = compile_expected({"a.b": {"Value": {"N": "1"}}}, None)
    assert condition.test({"a.b": {"N": "1"}}, {})
    assert not condition.test({"a": {"M": {"b": {"N": "1"}}}}, {})
    update = compile_attribute_updates({"a.b": {"Value": {"N": "1"}}})
    assert update.apply({}, None) == {"a.b": {"N": "1"}}


def key(**conditions: Any) -> dict[str, Any]:
    return {
        name: {"ComparisonOperator": operator, "AttributeValueList": list(arguments)}
        for name, (operator, *arguments) in conditions.items()
    }


def test_key_conditions_are_bound() -> None:
    conditions = key(p=("EQ", {"S": "x"}), c=("BETWEEN", {"N": "1"}, {"N": "2"}))
    bound = compile_key_conditions(conditions).bind(None, ("p",), ("c",))
    assert bound.partition == ({"S": "x"},)
    assert (bound.sort_op, bound.sort_values) == ("BETWEEN", ({"N": "1"}, {"N": "2"}))


@pytest.mark.parametrize(
    ("conditions", "sort", "problem"),
    [
        (key(z=("NULL",)), ("c",), "Query condition missed key schema element: p"),
        (
            key(p=("EQ", {"S": "x"}), z=("NULL",)),
            ("c",),
            "Query condition missed key schema element: c",
        ),
        (
            key(p=("CONTAINS", {"S": "x"})),
            ("c",),
            "Attempted conditional constraint is not an indexable operation",
        ),
        (key(p=("NE", {"S": "x"})), (), "Attempted conditional constraint is not an indexable operation"),
        (key(p=("LE", {"S": "x"})), ("c",), "Query key condition not supported"),
        (
            key(p=("EQ", {"S": "x"}), c=("EQ", {"S": "x"})),
            (),
            "Query key condition not supported",
        ),
        (
            key(a=("EQ", {"S": "x"}), p=("EQ", {"S": "x"}), c=("EQ", {"S": "x"})),
            ("c",),
            "Conditions can be of length 1 or 2 only",
        ),
    ],
)
def test_key_conditions_that_do_not_fit_the_key_are_rejected(
    conditions: dict[str, Any], sort: tuple[str, ...], problem: str
) -> None:
    assert refused(compile_key_conditions(conditions).bind, None, ("p",), sort) == problem


def test_empty_key_conditions_are_rejected() -> None:
    assert refused(compile_key_conditions, {}) == "Conditions can be of length 1 or 2 only"


@pytest.mark.parametrize(
    ("action", "value", "before", "after"),
    [
        (None, {"S": "new"}, {"S": "old"}, {"S": "new"}),
        ("PUT", {"S": "new"}, None, {"S": "new"}),
        ("DELETE", None, {"S": "old"}, None),
        ("DELETE", {"SS": ["b"]}, {"SS": ["a", "b"]}, {"SS": ["a"]}),
        ("DELETE", {"SS": ["a", "b"]}, {"SS": ["a", "b"]}, None),
        ("DELETE", {"SS": ["a"]}, None, None),
        ("ADD", {"N": "5"}, {"N": "10"}, {"N": "15"}),
        ("ADD", {"N": "5"}, None, {"N": "5"}),
        ("ADD", {"SS": ["b", "c"]}, {"SS": ["a", "b"]}, {"SS": ["a", "b", "c"]}),
        ("ADD", {"L": [{"N": "2"}]}, {"L": [{"N": "1"}]}, {"L": [{"N": "1"}, {"N": "2"}]}),
    ],
)
def test_attribute_updates(
    action: str | None,
    value: dict[str, Any] | None,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    values = {name: part for name, part in (("Action", action), ("Value", value)) if part}
    item = {"k": {"S": "k"}} | ({} if before is None else {"a": before})
    update = compile_attribute_updates({"a": values})
    assert update.apply(item, None).get("a") == after
    assert update.attributes == {"a"}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, "Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "ADD"}, "Only DELETE action is allowed when no attribute value is specified"),
        *(
            (
                {"Action": "DELETE", "Value": SAMPLES[type_code]},
                f"DELETE action with value is not supported for the type {type_code}",
            )
            for type_code in ("S", "N", "B", "NULL", "BOOL", "M", "L")
        ),
        *(
            (
                {"Action": "ADD", "Value": SAMPLES[type_code]},
                f"ADD action is not supported for the type {type_code}",
            )
            for type_code in ("S", "B", "NULL", "BOOL", "M")
        ),
    ],
)
def test_invalid_attribute_updates_are_rejected(value: dict[str, Any], problem: str) -> None:
    assert refused(compile_attribute_updates, {"a": value}) == INVALID + problem


@pytest.mark.parametrize(
    ("action", "value", "before"),
    [
        ("DELETE", {"NS": ["1"]}, {"SS": ["1"]}),
        ("DELETE", {"NS": ["1"]}, {"N": "1"}),
        ("ADD", {"NS": ["1"]}, {"SS": ["1"]}),
        ("ADD", {"N": "1"}, {"NS": ["1"]}),
    ],
)
def test_attribute_updates_of_another_type_fail_on_the_item(
    action: str, value: dict[str, Any], before: dict[str, Any]
) -> None:
    update = compile_attribute_updates({"a": {"Action": action, "Value": value}})
    assert refused(update.apply, {"a": before}, None) == "Type mismatch for attribute to update"


def test_attributes_to_get_are_plain_names() -> None:
    projection = compile_attributes_to_get(["a.b", "c"])
    assert projection.apply({"a.b": {"N": "1"}, "a": {"M": {}}}) == {"a.b": {"N": "1"}}
