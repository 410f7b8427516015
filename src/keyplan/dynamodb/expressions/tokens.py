"""The lexer for expressions. It defines the known functions, tokens with their positions, and syntax errors.

One lexer is used for every kind of expression, because DynamoDB uses the same token rules for all of them. For example,
`set` is also a keyword in a filter. A character that cannot start a token becomes a token of kind `BAD`, which every
parser rejects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from keyplan import limits
from keyplan.dynamodb.messages import expressions as messages
from keyplan.errors import ValidationError

CONDITION_FUNCTIONS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
}
OPERAND_FUNCTIONS = {"size": 1}
UPDATE_FUNCTIONS = {"if_not_exists": 2, "list_append": 2}
OPERAND_COUNTS = CONDITION_FUNCTIONS | OPERAND_FUNCTIONS | UPDATE_FUNCTIONS
"""Maps each function name to its number of operands."""

KEYWORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE"})

WORD = "word"  # an attribute or function name
NAME = "#name"
VALUE = ":value"
INDEX = "index"
END = "end"
BAD = "bad"

# An integer is a lone 0 or starts with another digit: "01" is two tokens.
_TOKEN = re.compile(
    r"[ \t\r\n]*(?:"
    r"(?P<word>[A-Za-z][A-Za-z0-9_]*)|(?P<name>\#[A-Za-z0-9_]+)|(?P<value>:[A-Za-z0-9_]+)"
    r"|(?P<index>0|[1-9][0-9]*)|(?P<punctuation><>|<=|>=|[=<>()\[\],.+-])|(?P<bad>[^ \t\r\n])|\Z)"
)
_KINDS = {"word": WORD, "name": NAME, "value": VALUE, "index": INDEX, "bad": BAD}


@dataclass(frozen=True, slots=True)
class Token:
    """A token. `kind` is an uppercase keyword, an operator, punctuation, or one of the constants in this module."""

    kind: str
    text: str
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """Return all tokens of an expression. The last token has the kind END."""
    tokens: list[Token] = []
    position = 0
    while (match := _TOKEN.match(text, position)) and match.lastgroup:
        word = match[match.lastgroup]
        if match.lastgroup == "punctuation":
            kind = word
        elif match.lastgroup == "word" and word.upper() in KEYWORDS:
            kind = word.upper()
        else:
            kind = _KINDS[match.lastgroup]
        position = match.end()
        tokens.append(Token(kind, word, position - len(word), position))
    tokens.append(Token(END, "<EOF>", len(text), len(text)))
    return tokens


class Cursor:
    """A position in the tokens of one expression, with the methods that all parsers use.

    `parameter` is the name of the request parameter that contains the expression. Error messages contain this name.
    Expressions translated from a PartiQL statement have no length limit, because the statement itself has one.
    """

    __slots__ = ("_operators", "_unknown_function", "at", "kind", "parameter", "text", "tokens")

    def __init__(self, text: str, parameter: str) -> None:
        self.text = text
        self.parameter = parameter
        self._operators = 0
        self._unknown_function: str | None = None
        if not text.strip(" \t\r\n"):
            raise self.invalid(messages.EMPTY)
        size_bytes = len(text.encode("utf-8", "surrogatepass"))
        if size_bytes > limits.EXPRESSION_BYTES and parameter != messages.STATEMENT:
            raise self.invalid(messages.too_long(parameter, size_bytes))
        self.tokens = tokenize(text)
        self.at = 0
        self.kind = self.tokens[0].kind

    def invalid(self, problem: str) -> ValidationError:
        """Return the error for a problem in the expression."""
        return ValidationError(messages.invalid(self.parameter, problem))

    def advance(self) -> Token:
        """Return the current token, and move to the next token."""
        token = self.tokens[self.at]
        self.at += 1
        self.kind = self.tokens[self.at].kind
        return token

    def peek_kind(self) -> str:
        """Return the kind of the token after the current one."""
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)].kind

    def expect(self, kind: str) -> Token:
        """Return the current token and move to the next token. Raises ValidationError if the current token is of a
        different kind.
        """
        if self.kind != kind:
            raise self.syntax_error()
        return self.advance()

    def finish(self) -> None:
        """Raise ValidationError unless all tokens have been read."""
        if self.kind != END:
            raise self.syntax_error()

    def syntax_error(self) -> ValidationError:
        """Return a syntax error at the current token."""
        token = self.tokens[self.at]
        start = self.tokens[self.at - 1].start if self.at else 0
        after = self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        return self.invalid(messages.syntax(token.text, self.text[start : after.end]))

    def count_operator(self) -> None:
        """Count an operator or function. Raises ValidationError if the expression contains more than 300 of them.

        The limit also bounds the depth of syntax trees. Source: developer guide, "Constraints".
        """
        self._operators += 1
        if self._operators <= limits.EXPRESSION_OPERATORS:
            return
        if self._unknown_function is not None:
            raise self.invalid(messages.function_unknown(self._unknown_function))
        raise self.invalid(messages.too_many_operators(self._operators))

    def count_function(self, name: str) -> None:
        """Count a function as an operator.

        Raises ValidationError for an unknown function, before the limit is checked.
        """
        if self._unknown_function is None and name not in OPERAND_COUNTS:
            self._unknown_function = name
        self.count_operator()
