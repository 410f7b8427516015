"""Python names and laid-out source text."""

from __future__ import annotations

import ast
import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan.importers.python_text import (
    Group,
    PythonNames,
    call,
    class_name,
    comment,
    docstring,
    field_name,
    format_code,
    literal,
    plain,
    snake_name,
    with_prefix,
)


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
        ("a৴", "attribute_a", "TableA", "table_a"),  # a number that is not a digit
        ("৴", "attribute", "Table", "table"),
        ("a_", "a", "A", "a"),
        ("x" * 70, "x" * 60, "X" + "x" * 59, "x" * 60),
        ("x" * 59 + "-y", "x" * 59 + "_", "X" + "x" * 58 + "Y", "x" * 59),
    ],
)
def test_names_are_converted_to_identifiers(text: str, field: str, model: str, variable: str) -> None:
    assert (field_name(text), class_name(text), snake_name(text)) == (field, model, variable)


def test_a_name_is_used_once() -> None:
    names = PythonNames.for_module()
    assert [names.reserve("orders") for _ in range(3)] == ["orders", "orders_", "orders_2"]


def test_names_that_the_file_uses_are_reserved() -> None:
    assert [PythonNames.for_module().reserve(name) for name in ("Table", "id", "class")] == ["Table_", "id_", "class_"]
    assert [PythonNames.for_class().reserve(name) for name in ("pk", "copy", "str", "id", "type")] == [
        "pk_", "copy_", "str_", "id", "type",
    ]  # fmt: skip


OF_MODULE = (
    "class", "match", "id", "print", "Table", "GSI", "item", "Annotated", "Any", "Decimal", "Literal", "suppressed",
    "claims", "datetime", "name",
)  # fmt: skip
OF_CLASS = (
    "class", "pk", "item", "model_dump", "copy", "Annotated", "Any", "Attribute", "Decimal", "F", "bool", "bytes",
    "cls", "datetime", "dict", "int", "list", "self", "set", "str",
)  # fmt: skip


def test_every_reserved_name_is_changed() -> None:
    assert [name for name in OF_MODULE if PythonNames.for_module().reserve(name) == name] == []
    assert [name for name in OF_CLASS if PythonNames.for_class().reserve(name) == name] == []


def test_capitalized_api_names_may_be_fields() -> None:
    assert [PythonNames.for_class().reserve(name) for name in ("Table", "Key")] == ["Table", "Key"]


@given(st.text())
def test_every_text_is_converted_to_valid_identifiers(text: str) -> None:
    for created in (field_name(text), class_name(text), snake_name(text)):
        assert created.isidentifier()
        assert len(created) <= 75
        identifiers = PythonNames.for_class().reserve(created)
        assert not keyword.iskeyword(identifiers)
        namespace: dict[str, object] = {}
        exec(f"{identifiers} = 1", namespace)
        assert namespace[identifiers] == 1


@given(st.text())
def test_a_literal_evaluates_to_its_text(text: str) -> None:
    written = literal(text)
    assert ast.literal_eval(written) == text
    assert all(literal_text.isprintable() for literal_text in written)


def test_a_literal_uses_the_quotes_with_fewer_escapes() -> None:
    assert [literal(text) for text in ("a", "it's", 'a "b"', "'\"", "\n\x07\u202e")] == [
        '"a"', '"it\'s"', "'a \"b\"'", '"\'\\""', '"\\n\\x07\\u202e"',
    ]  # fmt: skip


def test_a_short_call_is_on_one_line() -> None:
    part = call("GSI", '"by_day"', 'pk="day"', None, with_prefix("billing=", call("Provisioned", "read=5", "write=5")))
    assert format_code(part, after=",") == 'GSI("by_day", pk="day", billing=Provisioned(read=5, write=5)),'


def test_a_long_call_has_one_line_per_argument() -> None:
    part = call("f", *(f"argument_{number}=value" for number in range(6)))
    lines = [f"    argument_{number}=value," for number in range(6)]
    assert format_code(part, before="x = ").split("\n") == ["x = f(", *lines, ")"]


def test_wide_characters_count_as_two_columns() -> None:
    assert "\n" not in format_code(call("f", "x" * 85))
    assert "\n" not in format_code(call("f", "名" * 42 + "x"))
    assert "\n" in format_code(call("f", "名" * 43))
    assert "\n" in format_code(call("f", "\uff21" * 43))


def test_combining_marks_count_as_no_columns() -> None:
    assert "\n" not in format_code(call("f", "e\u0301" * 85))
    assert "\n" in format_code(call("f", "e\u0301" * 86))


def test_a_call_without_arguments_stays_on_its_line() -> None:
    assert format_code(call("f" * 90)) == "f" * 90 + "()"


def test_one_always_open_argument_opens_the_call() -> None:
    part = call("f", Group("[", ["1"], "]", always_open=True), "2")
    assert format_code(part) == "f(\n    [\n        1,\n    ],\n    2,\n)"


def test_invisible_characters_are_escaped_in_short_form() -> None:
    assert plain("\\ \n\r\t\x07é") == "\\\\ \\n\\r\\t\\x07é"


def test_comments_are_wrapped_between_words() -> None:
    word = "long-" * 20
    assert comment(f"a {word} b", indent="    ", hanging="  ") == ["    # a", f"    #   {word}", "    #   b"]


def test_a_docstring_of_several_lines_ends_on_its_own_line() -> None:
    assert docstring("One.") == ['"""One."""']
    assert docstring('"One".\n\n  \n\nTwo. ', "  ") == ['  """\'One\'.', "", "  Two.", '  """']
    word = "x-" * 50
    assert docstring(f"a {word} b") == ['"""a', word, "b", '"""']
    assert len(docstring("x" * 82)) == 1
    assert len(docstring("x" * 40 + " " + "y" * 42)) == 3


def test_an_always_open_group_opens_its_parents() -> None:
    assert format_code(call("f", Group("[", ["1"], "]", always_open=True))) == "f(\n    [\n        1,\n    ],\n)"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_comments_and_docstrings_may_contain_any_text(text: str) -> None:
    assert all(line.startswith("# ") and line.isprintable() for line in comment(f"about {text}"))
    body = ast.parse("\n".join(docstring(f"About {text}."))).body
    assert [type(statement).__name__ for statement in body] == ["Expr"]
