"""Python text: literals that are the text again, lines that are laid out, comments that stay comments."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from keyplan.importers.python_text import Group, call, comment, docstring, laid_out, literal, named, plain


@given(st.text())
def test_a_literal_is_the_text_again(text: str) -> None:
    written = literal(text)
    assert ast.literal_eval(written) == text
    assert all(one.isprintable() for one in written)


def test_a_literal_has_the_quotes_that_need_fewer_escapes() -> None:
    assert [literal(one) for one in ("a", "it's", 'a "b"', "'\"", "\n\x07\u202e")] == [
        '"a"', '"it\'s"', "'a \"b\"'", '"\'\\""', '"\\n\\x07\\u202e"',
    ]  # fmt: skip


def test_what_fits_stands_on_one_line() -> None:
    part = call("GSI", '"by_day"', 'pk="day"', None, named("billing=", call("Provisioned", "read=5", "write=5")))
    assert laid_out(part, after=",") == 'GSI("by_day", pk="day", billing=Provisioned(read=5, write=5)),'


def test_what_does_not_has_a_line_for_each_part() -> None:
    part = call("f", *(f"argument_{number}=value" for number in range(6)))
    lines = [f"    argument_{number}=value," for number in range(6)]
    assert laid_out(part, before="x = ").split("\n") == ["x = f(", *lines, ")"]


def test_wide_characters_take_two_columns() -> None:
    assert "\n" not in laid_out(call("f", "x" * 85))
    assert "\n" not in laid_out(call("f", "名" * 42 + "x"))
    assert "\n" in laid_out(call("f", "名" * 43))
    assert "\n" in laid_out(call("f", "\uff21" * 43))


def test_marks_on_others_take_none() -> None:
    assert "\n" not in laid_out(call("f", "e\u0301" * 85))
    assert "\n" in laid_out(call("f", "e\u0301" * 86))


def test_a_call_without_parts_stays_on_its_line() -> None:
    assert laid_out(call("f" * 90)) == "f" * 90 + "()"


def test_one_open_part_is_enough() -> None:
    part = call("f", Group("[", ["1"], "]", always_open=True), "2")
    assert laid_out(part) == "f(\n    [\n        1,\n    ],\n    2,\n)"


def test_what_cannot_be_seen_is_escaped_by_its_short_form() -> None:
    assert plain("\\ \n\r\t\x07é") == "\\\\ \\n\\r\\t\\x07é"


def test_comments_are_wrapped_between_words() -> None:
    word = "long-" * 20
    assert comment(f"a {word} b", indent="    ", hanging="  ") == ["    # a", f"    #   {word}", "    #   b"]


def test_a_docstring_has_a_line_for_its_end_where_it_has_several() -> None:
    assert docstring("One.") == ['"""One."""']
    assert docstring('"One".\n\n  \n\nTwo. ', "  ") == ['  """\'One\'.', "", "  Two.", '  """']
    word = "x-" * 50
    assert docstring(f"a {word} b") == ['"""a', word, "b", '"""']
    assert len(docstring("x" * 82)) == 1
    assert len(docstring("x" * 40 + " " + "y" * 42)) == 3


def test_an_open_part_opens_what_it_stands_in() -> None:
    assert laid_out(call("f", Group("[", ["1"], "]", always_open=True))) == "f(\n    [\n        1,\n    ],\n)"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_comments_and_docstrings_hold_any_text(text: str) -> None:
    assert all(line.startswith("# ") and line.isprintable() for line in comment(f"about {text}"))
    body = ast.parse("\n".join(docstring(f"About {text}."))).body
    assert [type(one).__name__ for one in body] == ["Expr"]
