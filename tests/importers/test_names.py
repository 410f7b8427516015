"""Names in Python made of names elsewhere."""

from __future__ import annotations

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan.importers.python_text import PythonNames, class_name, field_name, snake_name


@pytest.mark.parametrize(
    ("text", "field", "model", "variable"),
    [
        ("orders", "orders", "Orders", "orders"),
        ("order-items", "order_items", "OrderItems", "order_items"),
        ("OrderItems", "OrderItems", "OrderItems", "order_items"),
        ("shop.v2", "shop_v2", "ShopV2", "shop_v2"),
        ("HTTPLog", "HTTPLog", "HTTPLog", "http_log"),
        ("2026-log", "attribute_2026_log", "Table2026Log", "table_2026_log"),
        ("_id", "id", "Id", "id"),
        ("###", "attribute", "Table", "table"),
        ("model_name", "attribute_model_name", "ModelName", "model_name"),
        ("größe", "größe", "Größe", "größe"),
        ("ﬁrst", "first", "First", "first"),
        ("ΐ", "ΐ", "Ϊ́", "ΐ"),  # whose capital is three characters, and two as Python reads it
        ("a৴", "attribute_a", "TableA", "table_a"),  # a number that is no digit
        ("৴", "attribute", "Table", "table"),
        ("a_", "a", "A", "a"),
        ("x" * 70, "x" * 60, "X" + "x" * 59, "x" * 60),
        ("x" * 59 + "-y", "x" * 59 + "_", "X" + "x" * 58 + "Y", "x" * 59),
    ],
)
def test_names_are_made_legal(text: str, field: str, model: str, variable: str) -> None:
    assert (field_name(text), class_name(text), snake_name(text)) == (field, model, variable)


def test_a_name_is_given_once() -> None:
    names = PythonNames.of_module()
    assert [names.take("orders") for _ in range(3)] == ["orders", "orders_", "orders_2"]


def test_names_that_the_file_needs_are_taken() -> None:
    assert [PythonNames.of_module().take(one) for one in ("Key", "id", "class")] == ["Key_", "id_", "class_"]
    assert [PythonNames.of_class().take(one) for one in ("pk", "copy", "str", "id", "type")] == [
        "pk_", "copy_", "str_", "id", "type",
    ]  # fmt: skip


OF_MODULE = (
    "class", "match", "id", "print", "Table", "GSI", "key_of", "Annotated", "Any", "Decimal", "Literal", "accepted",
    "claims", "datetime", "item", "name",
)  # fmt: skip
OF_CLASS = (
    "class", "pk", "key_of", "model_dump", "copy", "Annotated", "Any", "Attribute", "Decimal", "F", "bool", "bytes",
    "cls", "datetime", "dict", "int", "list", "self", "set", "str",
)  # fmt: skip


def test_each_name_that_means_something_is_given_otherwise() -> None:
    assert [one for one in OF_MODULE if PythonNames.of_module().take(one) == one] == []
    assert [one for one in OF_CLASS if PythonNames.of_class().take(one) == one] == []


def test_words_of_the_language_with_capitals_may_be_fields() -> None:
    assert [PythonNames.of_class().take(one) for one in ("Table", "Key")] == ["Table", "Key"]


@given(st.text())
def test_every_text_makes_names_that_python_takes_as_they_are(text: str) -> None:
    for made in (field_name(text), class_name(text), snake_name(text)):
        assert made.isidentifier()
        assert len(made) <= 75
        taken = PythonNames.of_class().take(made)
        assert not keyword.iskeyword(taken)
        namespace: dict[str, object] = {}
        exec(f"{taken} = 1", namespace)
        assert namespace[taken] == 1
