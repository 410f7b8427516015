"""The parser for terms: conditions, values and paths.

The precedence from lowest to highest is OR, AND, NOT, comparisons, + - ||, * / %. The nesting depth is limited, so that
no statement exhausts the stack.
"""

from __future__ import annotations

from keyplan import limits
from keyplan.dynamodb.messages import partiql as messages
from keyplan.dynamodb.partiql.nodes import (
    COMPARISONS,
    BetweenTerm,
    CallTerm,
    Constant,
    Infix,
    InTerm,
    IsTerm,
    JoinedTerm,
    NotTerm,
    Parameter,
    PathTerm,
    SequenceTerm,
    Struct,
    Term,
)
from keyplan.dynamodb.partiql.tokens import (
    END,
    INT_LIMIT,
    ION,
    KEYWORD,
    NAME,
    NUMBER,
    QUOTED,
    STRING,
    StatementCursor,
    StatementToken,
)
from keyplan.errors import ValidationError

_TYPE_NAMES = """
    any bag bigint blob bool boolean char character clob date dec decimal double float int int2 int4 int8 integer
    integer2 integer4 integer8 list missing null numeric real sexp smallint string struct symbol time timestamp
    tuple varchar
"""
_TYPES = frozenset(_TYPE_NAMES.split())
_SECOND_WORDS = {"double": "precision", "character": "varying"}
_FUNCTION_KEYWORDS = frozenset(("size", "exists", "count", "avg", "sum", "min", "max", "upper", "lower"))
_OPERATOR_KEYWORDS = frozenset(("is", "like", "in", "between", "and", "or"))
MOST_LEVELS = limits.EXPRESSION_OPERATORS // 4
"""The maximum nesting depth of terms. It is greater than the depth that DynamoDB accepts in values and conditions."""
_INDEX_DIGITS = 10
"""The maximum number of digits in a list index. Longer indexes are out of range."""


def read_term(cursor: StatementCursor, level: int = 0) -> Term:
    """Parse a term at the nesting depth `level`. Raises ValidationError for invalid syntax."""
    if level > MOST_LEVELS:
        raise ValidationError(messages.malformed(messages.UNEXPECTED_TERM))
    terms = [_read_and(cursor, level)]
    while cursor.take_keyword("or"):
        _expect_operand(cursor)
        terms.append(_read_and(cursor, level))
    return terms[0] if len(terms) == 1 else JoinedTerm("or", tuple(terms))


def _read_and(cursor: StatementCursor, level: int) -> Term:
    terms = [_read_not(cursor, level)]
    while cursor.take_keyword("and"):
        _expect_operand(cursor)
        terms.append(_read_not(cursor, level))
    return terms[0] if len(terms) == 1 else JoinedTerm("and", tuple(terms))


def _read_not(cursor: StatementCursor, level: int) -> Term:
    negations = 0
    while cursor.take_keyword("not"):
        negations += 1
    term = _read_comparison(cursor, level)
    for _ in range(min(negations, 2 - negations % 2)):  # NOT NOT NOT x is NOT x
        term = NotTerm(term)
    return term


def _read_comparison(cursor: StatementCursor, level: int) -> Term:
    left = _read_sum(cursor, level)
    while True:
        sign = cursor.take_sign(*COMPARISONS)
        if sign is not None:
            _expect_operand(cursor)
            left = Infix(sign.text, left, _read_sum(cursor, level))
        elif cursor.current.is_keyword("is"):
            left = _read_is(cursor, left)
        elif cursor.current.is_keyword("in", "between", "like") or (
            cursor.current.is_keyword("not") and cursor.peek().is_keyword("in", "between", "like")
        ):
            left = _read_word_comparison(cursor, left, level)
        else:
            return left


def _read_word_comparison(cursor: StatementCursor, left: Term, level: int) -> Term:
    negated = cursor.take_keyword("not") is not None
    operator = cursor.advance().text
    _expect_operand(cursor)
    comparison: Term
    if operator == "like":
        raise ValidationError(messages.unsupported_operation("Like"))
    if operator == "in":
        comparison = InTerm(left, _read_choices(cursor, level))
    else:
        lower = _read_sum(cursor, level)
        cursor.expect_keyword("and")
        comparison = BetweenTerm(left, lower, _read_sum(cursor, level))
    return NotTerm(comparison) if negated else comparison


def _read_choices(cursor: StatementCursor, level: int) -> Term:
    """Parse the value list of IN. A single term in parentheses is a list of one value."""
    if cursor.take_sign("("):
        choices = _read_terms(cursor, level)
        cursor.expect_sign(")", "RIGHT_PAREN")
        return SequenceTerm("list", tuple(choices))
    return _read_sum(cursor, level)


def _read_is(cursor: StatementCursor, operand: Term) -> Term:
    cursor.advance()
    negated = cursor.take_keyword("not") is not None
    token = cursor.current
    name = token.text.lower()
    if token.kind not in (KEYWORD, NAME) or name not in _TYPES:
        raise ValidationError(messages.malformed(messages.EXPECTED_TYPE))
    cursor.advance()
    second = _SECOND_WORDS.get(name)
    if second is not None and cursor.take_keyword(second):
        name = f"{name} {second}"
    comparison = IsTerm(operand, name)
    return NotTerm(comparison) if negated else comparison


def _read_sum(cursor: StatementCursor, level: int) -> Term:
    left = _read_product(cursor, level)
    while sign := cursor.take_sign("+", "-", "||"):
        _expect_operand(cursor)
        left = Infix(sign.text, left, _read_product(cursor, level))
    return left


def _read_product(cursor: StatementCursor, level: int) -> Term:
    left = _read_operand(cursor, level)
    while sign := cursor.take_sign("*", "/", "%"):
        _expect_operand(cursor)
        left = Infix(sign.text, left, _read_operand(cursor, level))
    return left


def _expect_operand(cursor: StatementCursor) -> None:
    if cursor.current.kind == END or cursor.current.is_sign(";"):
        raise ValidationError(messages.malformed(messages.MISSING_OPERAND))


def _read_operand(cursor: StatementCursor, level: int) -> Term:
    token = cursor.current
    if token.kind == STRING:
        return Constant("S", cursor.advance().text)
    if token.kind == NUMBER:
        return Constant("N", cursor.advance().text)
    if token.kind == ION:
        return Constant("ion", cursor.advance().text)
    if token.is_sign("?"):
        cursor.advance()
        cursor.parameters += 1
        return Parameter(cursor.parameters - 1, token.place)
    if token.is_sign("-", "+") and _is_signed(cursor):
        return Constant("N", _sign(cursor) + cursor.advance().text)
    if token.is_sign("(", "[", "<<", "{"):
        return _read_enclosed(cursor, level)
    return _read_word(cursor, token, level)


def _is_signed(cursor: StatementCursor) -> bool:
    """Return True if the plus and minus signs at this position belong to a number."""
    ahead = 1
    while cursor.peek(ahead).is_sign("-", "+"):
        ahead += 1
    return cursor.peek(ahead).kind == NUMBER


def _sign(cursor: StatementCursor) -> str:
    """Parse the plus and minus signs before a number. Return "-" if the number is negated, and "" otherwise."""
    negative = False
    while sign := cursor.take_sign("-", "+"):
        negative ^= sign.text == "-"
    return "-" if negative else ""


def _read_word(cursor: StatementCursor, token: StatementToken, level: int) -> Term:
    if token.is_keyword("true", "false"):
        return Constant("BOOL", cursor.advance().text)
    if token.is_keyword("null"):
        cursor.advance()
        return Constant("NULL", "null")
    if token.is_keyword("missing"):
        cursor.advance()
        return Constant("MISSING", "missing")
    callable_word = token.kind == NAME or (token.kind == KEYWORD and token.text in _FUNCTION_KEYWORDS)
    if callable_word and cursor.peek().is_sign("("):
        return _read_call(cursor, level)
    if token.kind in (NAME, QUOTED):
        return read_path(cursor)
    if token.kind == KEYWORD and token.text not in _OPERATOR_KEYWORDS:
        raise ValidationError(messages.malformed(messages.UNEXPECTED_KEYWORD))
    is_operator = token.kind == KEYWORD or token.is_sign(*COMPARISONS, "+", "-", "/", "%", "||")
    raise ValidationError(messages.malformed(messages.UNEXPECTED_OPERATOR if is_operator else messages.UNEXPECTED_TERM))


def _read_call(cursor: StatementCursor, level: int) -> CallTerm:
    name = cursor.advance()
    cursor.advance()
    if cursor.current.is_sign("*") and cursor.peek().is_sign(")"):  # COUNT(*)
        cursor.advance()
        cursor.advance()
        return CallTerm(name.text.lower(), (), name.place)
    arguments = [] if cursor.current.is_sign(")") else _read_terms(cursor, level)
    cursor.expect_sign(")", "RIGHT_PAREN")
    return CallTerm(name.text.lower(), tuple(arguments), name.place)


def _read_enclosed(cursor: StatementCursor, level: int) -> Term:
    opening = cursor.advance().text
    if opening == "(":
        members = _read_terms(cursor, level)
        cursor.expect_sign(")", "RIGHT_PAREN")
        return members[0] if len(members) == 1 else SequenceTerm("list", tuple(members))
    if opening == "{":
        return _read_struct(cursor, level)
    closing, name = ("]", "RIGHT_BRACKET") if opening == "[" else (">>", "RIGHT_DOUBLE_ANGLE_BRACKET")
    members = [] if cursor.current.is_sign(closing) else _read_terms(cursor, level)
    cursor.expect_sign(closing, name)
    return SequenceTerm("list" if opening == "[" else "bag", tuple(members))


def _read_terms(cursor: StatementCursor, level: int) -> list[Term]:
    """Parse terms separated by commas, one nesting level below `level`."""
    terms = [read_term(cursor, level + 1)]
    while cursor.take_sign(","):
        terms.append(read_term(cursor, level + 1))
    return terms


def _read_struct(cursor: StatementCursor, level: int) -> Struct:
    members: list[tuple[str, Term]] = []
    while not cursor.current.is_sign("}"):
        if members:
            cursor.expect_sign(",", "COMMA")
        if cursor.current.kind not in (STRING, QUOTED, NAME):
            raise ValidationError(messages.malformed(messages.UNEXPECTED_TERM))
        name = cursor.advance().text
        cursor.expect_sign(":", "COLON")
        members.append((name, read_term(cursor, level + 1)))
    cursor.advance()
    return Struct(tuple(members))


def read_path(cursor: StatementCursor) -> PathTerm:
    """Parse a document path. Raises ValidationError for invalid syntax."""
    first = cursor.current
    if first.kind not in (NAME, QUOTED):
        raise ValidationError(messages.malformed(messages.UNEXPECTED_TERM))
    cursor.advance()
    parts: list[str | int] = [first.text]
    while True:
        if cursor.take_sign("."):
            token = cursor.advance()
            if token.kind not in (NAME, QUOTED):
                raise ValidationError(messages.malformed(messages.PATH_DOT))
            parts.append(token.text)
        elif cursor.take_sign("["):
            parts.append(_read_step(cursor))
        else:
            return PathTerm(tuple(parts), first.place)


def _read_step(cursor: StatementCursor) -> str | int:
    """Parse the content of brackets in a path: a list index, or a name as a string."""
    sign = _sign(cursor) if cursor.current.is_sign("-", "+") and _is_signed(cursor) else ""
    token = cursor.advance()
    if token.kind == NUMBER and token.text.isdigit():
        step: str | int = _index(token, sign)
    elif token.kind == STRING:
        step = token.text
    else:
        raise ValidationError(messages.malformed(messages.UNEXPECTED_TERM))
    cursor.expect_sign("]", "RIGHT_BRACKET")
    return step


def _index(token: StatementToken, sign: str) -> int:
    """Return the list index in a token, given the sign before it. Raises ValidationError if the index is
    out of range.
    """
    plain = token.text.lstrip("0") or "0"
    if len(plain) > _INDEX_DIGITS or not 0 <= int(sign + plain) < INT_LIMIT:
        raise ValidationError(messages.index_range(sign + plain, token.place))
    return int(plain)
