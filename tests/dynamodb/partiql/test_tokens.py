"""Statement text to tokens: their meaning and their positions."""

from __future__ import annotations

import pytest

from keyplan.dynamodb.partiql.tokens import END, ION, KEYWORD, NAME, NUMBER, QUOTED, SIGN, STRING, tokenize
from keyplan.errors import ValidationError


def kinds(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokenize(text)[:-1]]


def test_single_quotes_are_strings_and_double_quotes_names() -> None:
    assert kinds("'it''s' " + '"a ""b""" plain') == [(STRING, "it's"), (QUOTED, 'a "b"'), (NAME, "plain")]


def test_keywords_match_in_any_case_unless_quoted() -> None:
    assert kinds('SeLeCt "select"') == [(KEYWORD, "select"), (QUOTED, "select")]


def test_not_every_word_of_sql_is_a_keyword() -> None:
    assert kinds("Only") == [(NAME, "Only")]


@pytest.mark.parametrize("number", ["1", "1.", "1.5", ".5", "1e5", "1.5E-3", ".5e+3"])
def test_a_number_is_one_token(number: str) -> None:
    assert kinds(number) == [(NUMBER, number)]


def test_a_number_ends_before_a_blank() -> None:
    assert kinds("1 e5") == [(NUMBER, "1"), (NAME, "e5")]


def test_the_longest_sign_matches() -> None:
    assert kinds("<<1>>a<=b!=c") == [
        (SIGN, "<<"),
        (NUMBER, "1"),
        (SIGN, ">>"),
        (NAME, "a"),
        (SIGN, "<="),
        (NAME, "b"),
        (SIGN, "<>"),
        (NAME, "c"),
    ]


def test_comments_and_blanks_are_skipped() -> None:
    assert kinds("a -- b\n /* c\n d */ e") == [(NAME, "a"), (NAME, "e")]


def test_backquotes_enclose_ion_literals() -> None:
    assert kinds("`{a: 1}`") == [(ION, "{a: 1}")]


def test_positions_are_line_column_and_length() -> None:
    tokens = tokenize("ab\n  'cd' /*\n*/ef")
    assert [token.place for token in tokens] == ["1:1:2", "2:3:4", "3:3:2", "3:5:0"]
    assert tokens[-1].kind == END


@pytest.mark.parametrize(
    "text", ["#", "'open", '"open', "/* open", "a \\ b", "1e2147483648", "1.5e-2147483647", f"1e{'9' * 5000}"]
)
def test_text_that_starts_no_token_is_rejected_without_a_detail(text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        tokenize(text)
    assert caught.value.message == "Statement wasn't well formed, can't be processed: "


def test_zeros_before_an_exponent_are_ignored() -> None:
    number = f"1e-{'0' * 5000}2"
    assert kinds(number) == [(NUMBER, number)]
