"""The Python type of an attribute, and what has the form of an item."""

from __future__ import annotations

from typing import Any

import pytest

from keyplan.importers.entities import is_item, python_type


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("S", "str"),
        ("N", "Decimal"),
        ("B", "bytes"),
        ("BOOL", "bool"),
        ("NULL", "Any"),
        ("M", "dict[str, Any]"),
        ("L", "list[Any]"),
        ("SS", "set[str]"),
        ("NS", "set[Decimal]"),
        ("BS", "set[bytes]"),
        (None, "Any"),
    ],
)
def test_a_type_without_values_is_what_reads_them_all(code: str | None, expected: str) -> None:
    assert python_type(code, []) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([{"S": "x"}], "str"),
        ([{"N": "1"}, {"N": "-2"}], "int"),
        ([{"N": 3}, {"N": "1e2"}, {"N": "4.0"}], "int"),
        ([{"N": "1"}, {"N": "1.5"}], "Decimal"),
        ([{"N": "NaN"}], "Decimal"),
        ([{"N": "Infinity"}], "Decimal"),
        ([{"N": "many"}], "Decimal"),
        ([{"NS": ["1", "2"]}, {"NS": ["3"]}], "set[int]"),
        ([{"NS": ["1"]}, {"NS": ["2.5"]}], "set[Decimal]"),
        ([{"NS": []}], "set[Decimal]"),
        ([{"S": "x"}, {"NULL": True}], "str"),
        ([{"S": "x"}, {"N": "1"}], "Any"),
        ([{"NULL": True}], "bool"),
        ([{"ODD": 1}], "Any"),
    ],
)
def test_values_go_before_the_type_that_is_said(values: list[dict[str, Any]], expected: str) -> None:
    assert python_type("BOOL", values) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, True),
        ({"a": {"S": "x"}, "b": {"L": []}}, True),
        ({"a": {"SS": ["x"]}, "b": {"NS": []}, "c": {"BS": ["eA=="]}}, True),
        ({"a": {"SS": "x"}}, False),
        ({"a": {"NS": {"x": 1}}}, False),
        ({"a": {"BS": "x"}}, False),
        ({"a": {"S": "x"}, "b": "x"}, False),
        ({"a": {}}, False),
        ({"a": {"S": "x", "N": "1"}}, False),
        ([], False),
        ("x", False),
    ],
)
def test_an_item_gives_each_attribute_a_type_with_its_content(value: Any, expected: bool) -> None:
    assert is_item(value) is expected
