"""The lexer: kinds, positions, and the syntax error with its position."""

from __future__ import annotations

import pytest

from keyplan.dynamodb.expressions.tokens import BAD, END, INDEX, NAME, VALUE, WORD, Cursor, tokenize
from keyplan.errors import ValidationError


def kinds(text: str) -> list[str]:
    return [token.kind for token in tokenize(text)]


def test_every_kind_of_token_is_recognised() -> None:
    text = "SET #a.b[0] = if_not_exists(:v, c) + :w <> <= >= ,"
    expected = ["SET", NAME, ".", WORD, "[", INDEX, "]", "=", WORD, "(", VALUE, ",", WORD, ")"]
    assert kinds(text) == [*expected, "+", VALUE, "<>", "<=", ">=", ",", END]


def test_keywords_match_in_any_case_as_whole_words() -> None:
    assert kinds("aNd between Not in oR") == ["AND", "BETWEEN", "NOT", "IN", "OR", END]
    assert kinds("android _ink") == [WORD, BAD, WORD, END]


def test_tokens_have_positions() -> None:
    token = tokenize("  ab\t= :c ")[2]
    assert (token.text, token.start, token.end) == (":c", 7, 9)


def test_placeholders_may_start_with_a_digit_but_need_a_name() -> None:
    assert kinds("#1 :2 # :") == [NAME, VALUE, BAD, BAD, END]


def test_indexes_have_no_leading_zeros() -> None:
    assert [token.text for token in tokenize("012")][:2] == ["0", "12"]


@pytest.mark.parametrize("text", ["a\u00a0b", "\u2003", "a\x0bb", "é"])
def test_only_ascii_whitespace_separates_tokens(text: str) -> None:
    assert BAD in kinds(text)


def test_syntax_errors_show_the_text_around_the_token() -> None:
    cursor = Cursor("one  two\tthree four", "FilterExpression")
    cursor.advance()
    expected = 'Invalid FilterExpression: Syntax error; token: "two", near: "one  two\tthree"'
    assert cursor.syntax_error().message == expected


def test_the_size_limit_counts_bytes() -> None:
    Cursor("é" * 2048, "FilterExpression")
    with pytest.raises(ValidationError, match="expression size: 4098"):
        Cursor("é" * 2049, "FilterExpression")
