"""The parser of update expressions."""

from __future__ import annotations

from collections.abc import Callable

from keyplan.dynamodb.expressions.nodes import (
    Action,
    AddAction,
    Arithmetic,
    Clause,
    DeleteAction,
    Operand,
    RemoveAction,
    SetAction,
    SetValue,
    Update,
    Value,
)
from keyplan.dynamodb.expressions.operands import read_operand, read_path
from keyplan.dynamodb.expressions.tokens import END, VALUE, Cursor


def parse(text: str, parameter: str) -> Update:
    """The update in the text. Raises ValidationError with the service's text."""
    cursor = Cursor(text, parameter)
    clauses = [_read_clause(cursor)]
    while cursor.kind != END:
        clauses.append(_read_clause(cursor))
    return Update(tuple(clauses))


def _read_clause(cursor: Cursor) -> Clause:
    keyword = cursor.kind
    read = _READERS.get(keyword)
    if read is None:
        raise cursor.syntax_error()
    cursor.advance()
    actions = [read(cursor)]
    while cursor.kind == ",":
        cursor.advance()
        actions.append(read(cursor))
    return Clause(keyword, tuple(actions))


def _read_set(cursor: Cursor) -> SetAction:
    path = read_path(cursor)
    cursor.expect("=")
    return SetAction(path, _read_set_value(cursor))


def _read_set_value(cursor: Cursor) -> SetValue:
    """An operand, or two with + or - between; parentheses may stand around either."""
    if cursor.kind != "(":
        return _read_arithmetic(cursor)
    if not _parenthesised_arithmetic(cursor):
        return _read_arithmetic(cursor)
    cursor.advance()
    value = _read_arithmetic(cursor)
    cursor.expect(")")
    return value


def _parenthesised_arithmetic(cursor: Cursor) -> bool:
    """Whether the parenthesis here closes behind + or -: (a + b), and not (a) + b."""
    depth = 0
    for token in cursor.tokens[cursor.at :]:
        if token.kind == "(":
            depth += 1
        elif token.kind == ")":
            depth -= 1
            if depth == 0:
                return False
        elif depth == 1 and token.kind in ("+", "-"):
            return True
    return False


def _read_arithmetic(cursor: Cursor) -> SetValue:
    left: Operand = read_operand(cursor)
    if cursor.kind not in ("+", "-"):
        return left
    cursor.count_operator()
    operator = cursor.advance().kind
    return Arithmetic(operator, left, read_operand(cursor))


def _read_remove(cursor: Cursor) -> RemoveAction:
    return RemoveAction(read_path(cursor))


def _read_add(cursor: Cursor) -> AddAction:
    return AddAction(read_path(cursor), Value(cursor.expect(VALUE).text))


def _read_delete(cursor: Cursor) -> DeleteAction:
    return DeleteAction(read_path(cursor), Value(cursor.expect(VALUE).text))


_READERS: dict[str, Callable[[Cursor], Action]] = {
    "SET": _read_set,
    "REMOVE": _read_remove,
    "ADD": _read_add,
    "DELETE": _read_delete,
}
