"""The lexer for PartiQL, which returns tokens with their positions.

Source: the lexical rules of the PartiQL specification. Only the tokens that DynamoDB supports are recognized.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from keyplan.dynamodb.messages import partiql as messages
from keyplan.errors import ValidationError

KEYWORD = "keyword"
NAME = "name"  # unquoted, not a keyword
QUOTED = "quoted"
STRING = "string"
NUMBER = "number"
ION = "ion"
SIGN = "sign"
END = "end"

_WORDS = """
    absolute action add all allocate alter and any are as asc assertion at authorization avg begin between bit
    bit_length blob bool boolean by bag cascade cascaded case cast catalog char character character_length
    char_length check clob close coalesce collate collation column commit conflict connect connection constraint
    constraints continue convert corresponding count create cross current current_date current_time
    current_timestamp current_user cursor date deallocate dec decimal declare default deferrable deferred delete
    desc describe descriptor diagnostics disconnect distinct do domain double drop else end escape except
    exception exec execute exists external extract false fetch first float for foreign found from full get global
    go goto grant group having identity immediate in index indicator initially inner input insensitive insert int
    integer intersect interval into is isolation join key language last left let level like limit list local lower
    match max min missing modified module names national natural nchar new next no not nothing null nullif numeric
    octet_length of offset old on open option or order outer output overlaps pad partial pivot position
    precision prepare preserve primary prior privileges procedure public read real references relative remove
    restrict returning revoke right rollback rows schema scroll section select session session_user set sexp size
    smallint some space sql sqlcode sqlerror sqlstate string struct substring sum symbol system_user table
    temporary then time timestamp to transaction translate translation trim true tuple union unique unknown
    unpivot update upper usage user using value values varchar varying view when whenever where with work write
    zone
"""
KEYWORDS = frozenset(_WORDS.split())
"""Words that must be quoted if they are used as attribute names."""

INT_LIMIT = 2**31
INT_DIGITS = len(str(INT_LIMIT))

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+|--[^\n]*|/\*.*?\*/)
  | (?P<string>'(?:[^']|'')*')
  | (?P<quoted>"(?:[^"]|"")*")
  | (?P<ion>`[^`]*`)
  | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
  | (?P<word>[A-Za-z_$][A-Za-z0-9_$]*)
  | (?P<sign><<|>>|<=|>=|<>|!=|\|\||[-+*/%<>=()\[\]{},.:;?@])
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class StatementToken:
    """A token. `text` is a lowercase keyword, or the content of a name or string without its quotes."""

    kind: str
    text: str
    source: str
    line: int
    column: int

    @property
    def place(self) -> str:
        """The line, column and length of the token, formatted as in DynamoDB's messages."""
        return f"{self.line}:{self.column}:{len(self.source)}"

    def is_keyword(self, *words: str) -> bool:
        """Return True if the token is one of these keywords."""
        return self.kind == KEYWORD and self.text in words

    def is_sign(self, *signs: str) -> bool:
        """Return True if the token is one of these operators or punctuation characters."""
        return self.kind == SIGN and self.text in signs


def tokenize(text: str) -> list[StatementToken]:
    """Return all tokens of a statement. The last token has the kind END. Raises ValidationError for invalid text."""
    tokens: list[StatementToken] = []
    position, line, line_start = 0, 1, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or (match.lastgroup == "sign" and text.startswith("/*", position)):
            raise ValidationError(messages.malformed())
        source = match.group()
        if match.lastgroup != "blank":
            kind, content = _classify(str(match.lastgroup), source)
            tokens.append(StatementToken(kind, content, source, line, position - line_start + 1))
        position = match.end()
        line_breaks = source.count("\n")
        if line_breaks:
            line += line_breaks
            line_start = match.start() + source.rindex("\n") + 1
    tokens.append(StatementToken(END, "", "", line, len(text) - line_start + 1))
    return tokens


def _classify(group: str, source: str) -> tuple[str, str]:
    match group:
        case "string":
            return STRING, source[1:-1].replace("''", "'")
        case "quoted":
            return QUOTED, source[1:-1].replace('""', '"')
        case "ion":
            return ION, source[1:-1]
        case "number":
            if scale_of(source) is None:
                raise ValidationError(messages.malformed())
            return NUMBER, source
        case "word":
            lower = source.lower()
            return (KEYWORD, lower) if lower in KEYWORDS else (NAME, source)
        case _:
            return SIGN, "<>" if source == "!=" else source


def scale_of(number: str) -> int | None:
    """Return the scale of a number: the number of its decimal places minus its exponent.

    Return None if the scale or the exponent exceeds 32 bits.
    """
    digits, _, exponent = number.lower().partition("e")
    if len(exponent.lstrip("+-0")) > INT_DIGITS:
        return None
    power = int(exponent.lstrip("+-0") or "0")
    if exponent.startswith("-"):
        power = -power
    scale = len(digits.partition(".")[2]) - power
    return scale if -INT_LIMIT <= power < INT_LIMIT and -INT_LIMIT <= scale < INT_LIMIT else None


class StatementCursor:
    """The current position in the tokens of a statement."""

    __slots__ = ("_at", "_tokens", "parameters")

    def __init__(self, text: str) -> None:
        self._tokens = tokenize(text)
        self._at = 0
        self.parameters = 0
        """The number of parameters that have been parsed so far."""

    @property
    def current(self) -> StatementToken:
        """The current token."""
        return self._tokens[self._at]

    def peek(self, ahead: int = 1) -> StatementToken:
        """Return the token that is `ahead` positions after the current token."""
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def advance(self) -> StatementToken:
        """Return the current token, and move to the next token."""
        token = self._tokens[self._at]
        if token.kind != END:
            self._at += 1
        return token

    def take_keyword(self, *words: str) -> StatementToken | None:
        """If the current token is one of these keywords, return it and move to the next token.

        Otherwise, return None.
        """
        return self.advance() if self.current.is_keyword(*words) else None

    def take_sign(self, *signs: str) -> StatementToken | None:
        """If the current token is one of these operators or punctuation characters, return it and move to the next
        token.

        Otherwise, return None.
        """
        return self.advance() if self.current.is_sign(*signs) else None

    def expect_keyword(self, word: str) -> None:
        """Skip a keyword. Raises ValidationError if the current token is not this keyword."""
        if self.take_keyword(word) is None:
            raise ValidationError(messages.malformed(messages.expected_keyword(word)))

    def expect_sign(self, sign: str, name: str) -> None:
        """Skip the operator or punctuation character `sign`. Raises ValidationError if the current token is different.

        `name` is the name of the sign in the error message.
        """
        if self.take_sign(sign) is None:
            raise ValidationError(messages.malformed(messages.expected_sign(name)))

    def finish(self) -> None:
        """Raise ValidationError if tokens other than one semicolon follow."""
        self.take_sign(";")
        if self.current.kind != END:
            raise ValidationError(messages.malformed(messages.LEFT_OVER))
