"""The lexer: kinds, positions, and the syntax error that names the place."""

from __future__ import annotations

import pytest

from keyplan.dynamodb.expressions.tokens import BAD, END, INDEX, NAME, VALUE, WORD, Cursor, tokenize
from keyplan.errors import ValidationError


def kinds(text: str) -> list[str]:
    return [token.kind for token in tokenize(text)]


def test_every_kind_of_token_is_told_apart() -> None:
    text = "SET #a.b[0] = if_not_exists(:v, c) + :w <> <= >= ,"
    expected = ["SET", NAME, ".", WORD, "[", INDEX, "]", "=", WORD, "(", VALUE, ",", WORD, ")"]
    assert kinds(text) == [*expected, "+", VALUE, "<>", "<=", ">=", ",", END]


def test_keywords_are_found_in_any_case_but_only_as_whole_words() -> None:
    assert kinds("aNd between Not in oR") == ["AND", "BETWEEN", "NOT", "IN", "OR", END]
    assert kinds("android _ink") == [WORD, BAD, WORD, END]


def test_tokens_know_where_they_stand() -> None:
    token = tokenize("  ab\t= :c ")[2]
    assert (token.text, token.start, token.end) == (":c", 7, 9)


def test_a_placeholder_may_begin_with_a_digit_and_a_lone_sign_is_no_token() -> None:
    assert kinds("#1 :2 # :") == [NAME, VALUE, BAD, BAD, END]


def test_an_index_has_no_leading_zero() -> None:
    assert [token.text for token in tokenize("012")][:2] == ["0", "12"]


@pytest.mark.parametrize("text", ["a\u00a0b", "\u2003", "a\x0bb", "é"])
def test_only_plain_white_space_separates(text: str) -> None:
    assert BAD in kinds(text)


def test_the_error_shows_the_text_from_the_token_before_to_the_one_after() -> None:
    cursor = Cursor("one  two\tthree four", "FilterExpression")
    cursor.advance()
    expected = 'Invalid FilterExpression: Syntax error; token: "two", near: "one  two\tthree"'
    assert cursor.syntax_error().message == expected


def test_the_size_limit_counts_bytes() -> None:
    Cursor("é" * 2048, "FilterExpression")
    with pytest.raises(ValidationError, match="expression size: 4098"):
        Cursor("é" * 2049, "FilterExpression")
