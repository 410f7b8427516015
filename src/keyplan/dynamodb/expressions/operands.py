"""Reading document paths and operands, which every kind of expression has.

Nothing here calls itself: nested calls and parentheses are kept on a list, so text of any depth
costs memory and never the stack.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from keyplan.dynamodb.expressions.nodes import Call, Operand, Path, Value
from keyplan.dynamodb.expressions.tokens import INDEX, NAME, VALUE, WORD, Cursor
from keyplan.dynamodb.messages import expressions as messages


def read_path(cursor: Cursor) -> Path:
    """A document path, such as a.#b[3]."""
    if cursor.kind not in (WORD, NAME):
        raise cursor.syntax_error()
    parts: list[str | int] = [cursor.advance().text]
    while True:
        if cursor.kind == ".":
            cursor.advance()
            if cursor.kind not in (WORD, NAME):
                raise cursor.syntax_error()
            parts.append(cursor.advance().text)
        elif cursor.kind == "[":
            cursor.advance()
            parts.append(int(cursor.expect(INDEX).text))
            cursor.expect("]")
        else:
            return Path(tuple(parts))


@dataclass(slots=True)
class _Open:
    """A parenthesis not closed yet: of a call with its name, or a plain one."""

    function: str | None
    operands: list[Operand] = field(default_factory=list)


def read_operand(cursor: Cursor) -> Operand:
    """A path, a value or a call, with or without parentheses around it."""
    opened: list[_Open] = []
    while True:
        if cursor.kind == "(":
            cursor.advance()
            opened.append(_Open(None))
            continue
        if cursor.kind == WORD and cursor.peek_kind() == "(":
            function = cursor.advance().text
            cursor.count_function(function)
            opened.append(_Open(function))
            cursor.advance()
            continue
        operand = _close(cursor, opened, _read_simple(cursor))
        if operand is not None:
            return operand


def _read_simple(cursor: Cursor) -> Operand:
    if cursor.kind == VALUE:
        return Value(cursor.advance().text)
    return read_path(cursor)


def _close(cursor: Cursor, opened: list[_Open], operand: Operand) -> Operand | None:
    """Puts an operand into what is open; None when a comma asks for one more operand."""
    parenthesised = False
    while opened:
        innermost = opened[-1]
        if innermost.function is None:
            cursor.expect(")")
            if parenthesised:
                raise cursor.invalid(messages.REDUNDANT_PARENTHESES)
            parenthesised = True
            opened.pop()
            continue
        innermost.operands.append(operand)
        if cursor.kind == ",":
            cursor.advance()
            return None
        cursor.expect(")")
        opened.pop()
        operand = Call(innermost.function, tuple(innermost.operands))
        parenthesised = False
    return operand
