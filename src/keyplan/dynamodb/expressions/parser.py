"""Parsers for paths, operands, conditions, updates and projections.

The parsers are not recursive. Open calls and parentheses are kept in a list, so deeply nested text uses memory but
never exhausts the stack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from keyplan.dynamodb.expressions.nodes import (
    Action,
    AddAction,
    And,
    Arithmetic,
    Between,
    Call,
    Clause,
    Compare,
    Condition,
    DeleteAction,
    In,
    Not,
    Operand,
    Or,
    Path,
    RemoveAction,
    SetAction,
    SetValue,
    Update,
    Value,
)
from keyplan.dynamodb.expressions.tokens import END, INDEX, NAME, VALUE, WORD, Cursor
from keyplan.dynamodb.messages import expressions as messages


def read_path(cursor: Cursor) -> Path:
    """Parse a document path, such as a.#b[3]."""
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
class _OpenCall:
    """An open parenthesis of a function call or, if `function` is None, around a single operand."""

    function: str | None
    operands: list[Operand] = field(default_factory=list)


def read_operand(cursor: Cursor) -> Operand:
    """Parse an operand, which may be in parentheses: a path, a value or a function call."""
    open_calls: list[_OpenCall] = []
    while True:
        if cursor.kind == "(":
            cursor.advance()
            open_calls.append(_OpenCall(None))
            continue
        if cursor.kind == WORD and cursor.peek_kind() == "(":
            function = cursor.advance().text
            cursor.count_function(function)
            open_calls.append(_OpenCall(function))
            cursor.advance()
            continue
        operand = _close(cursor, open_calls, _read_simple(cursor))
        if operand is not None:
            return operand


def _read_simple(cursor: Cursor) -> Operand:
    if cursor.kind == VALUE:
        return Value(cursor.advance().text)
    return read_path(cursor)


def _close(cursor: Cursor, open_calls: list[_OpenCall], operand: Operand) -> Operand | None:
    """Add an operand to the innermost open function call, and read the closing parentheses that follow.

    Return the complete operand if all parentheses are closed, or None if another operand must follow.
    """
    parenthesised = False
    while open_calls:
        innermost = open_calls[-1]
        if innermost.function is None:
            cursor.expect(")")
            if parenthesised:
                raise cursor.invalid(messages.REDUNDANT_PARENTHESES)
            parenthesised = True
            open_calls.pop()
            continue
        innermost.operands.append(operand)
        if cursor.kind == ",":
            cursor.advance()
            return None
        cursor.expect(")")
        open_calls.pop()
        operand = Call(innermost.function, tuple(innermost.operands))
        parenthesised = False
    return operand


COMPARATORS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_AFTER_OPERAND = COMPARATORS | {"BETWEEN", "IN"}


@dataclass(slots=True)
class _Frame:
    or_parts: list[Condition] = field(default_factory=list)
    and_parts: list[Condition] = field(default_factory=list)
    nots: int = 0
    parenthesised: bool = False  # the only term so far came out of parentheses

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been parsed since the frame's open parenthesis."""
        return not (self.or_parts or self.and_parts or self.nots)


def parse_condition(text: str, parameter: str) -> Condition:
    """Parse a condition. Raises ValidationError for invalid syntax.

    The precedence from lowest to highest is OR, AND, NOT, comparisons. An open parenthesis can start a condition or an
    operand, as in `(a = b)` or `(a) = b`, and only the following text shows which of them it starts. Therefore one loop
    parses both, with a list of frames, one per open parenthesis. The depth is bounded by the operator limit.

    A frame contains the conditions that have been parsed since its parenthesis. `or_parts` are the completed operands
    of OR, `and_parts` are the operands of the current AND, and `nots` is the number of NOTs before the next term. A "("
    adds a frame. A ")" removes the last frame and adds its condition or operand as a term to the frame before it.
    """
    cursor = Cursor(text, parameter)
    frames = [_Frame()]
    while True:
        condition = _read_term(cursor, frames)
        if condition is None:
            continue
        _add(frames[-1], condition)
        if cursor.kind in ("AND", "OR"):
            _join(cursor, frames[-1])
            continue
        complete_condition = _close_conditions(cursor, frames)
        if complete_condition is not None:
            cursor.finish()
            return complete_condition


def _read_term(cursor: Cursor, frames: list[_Frame]) -> Condition | None:
    """Parse the next term of a condition. If it starts with an open parenthesis, add a frame for the parenthesis and
    return None.
    """
    while cursor.kind == "NOT":
        cursor.count_operator()
        cursor.advance()
        frames[-1].nots += 1
    if cursor.kind == "(":
        cursor.advance()
        frames.append(_Frame())
        return None
    operand = read_operand(cursor)
    while cursor.kind not in _AFTER_OPERAND:
        if isinstance(operand, Call) and not _closes_operand(cursor, frames):
            return operand
        if cursor.kind != ")" or len(frames) == 1 or not frames[-1].is_empty:
            raise cursor.syntax_error()
        _close_operand(cursor, frames)
    frames[-1].parenthesised = False
    return _read_comparison(cursor, operand)


def _closes_operand(cursor: Cursor, frames: list[_Frame]) -> bool:
    """Return True if a ")" at the cursor closes parentheses around an operand of a comparison rather than around a
    condition.

    For example, in `(size(a)) > :n`, the result is True after `size(a)`.
    """
    at = cursor.at
    frame = len(frames) - 1
    while cursor.tokens[at].kind == ")" and frame > 0 and frames[frame].is_empty:
        at += 1
        frame -= 1
    return at > cursor.at and cursor.tokens[at].kind in _AFTER_OPERAND


def _close_operand(cursor: Cursor, frames: list[_Frame]) -> None:
    if frames[-1].parenthesised:
        cursor.advance()
        raise cursor.invalid(messages.REDUNDANT_PARENTHESES)
    cursor.advance()
    frames.pop()
    frames[-1].parenthesised = frames[-1].is_empty


def _read_comparison(cursor: Cursor, left: Operand) -> Condition:
    cursor.count_operator()
    operator = cursor.advance().kind
    if operator == "BETWEEN":
        lower = read_operand(cursor)
        cursor.expect("AND")
        return Between(left, lower, read_operand(cursor))
    if operator == "IN":
        cursor.expect("(")
        choices = [read_operand(cursor)]
        while cursor.kind == ",":
            cursor.advance()
            choices.append(read_operand(cursor))
        cursor.expect(")")
        return In(left, tuple(choices))
    return Compare(operator, left, read_operand(cursor))


def _add(frame: _Frame, condition: Condition) -> None:
    for _ in range(frame.nots):
        condition = Not(condition)
    if frame.nots:
        frame.parenthesised = False
    frame.nots = 0
    frame.and_parts.append(condition)


def _join(cursor: Cursor, frame: _Frame) -> None:
    cursor.count_operator()
    frame.parenthesised = False
    if cursor.advance().kind == "OR":
        frame.or_parts.append(_conjunction(frame))
        frame.and_parts = []


def _conjunction(frame: _Frame) -> Condition:
    return frame.and_parts[0] if len(frame.and_parts) == 1 else And(tuple(frame.and_parts))


def _disjunction(frame: _Frame) -> Condition:
    last = _conjunction(frame)
    return Or((*frame.or_parts, last)) if frame.or_parts else last


def _close_conditions(cursor: Cursor, frames: list[_Frame]) -> Condition | None:
    """Read the closing parentheses at the cursor, and an AND or OR that follows them.

    Return the complete condition if all parentheses are closed, or None if another term must follow.
    """
    while len(frames) > 1:
        cursor.expect(")")
        frame = frames.pop()
        if frame.parenthesised:
            raise cursor.invalid(messages.REDUNDANT_PARENTHESES)
        outer = frames[-1]
        is_only_term = outer.is_empty
        _add(outer, _disjunction(frame))
        outer.parenthesised = is_only_term
        if cursor.kind in ("AND", "OR"):
            _join(cursor, outer)
            return None
    return _disjunction(frames[0])


def parse_update(text: str, parameter: str) -> Update:
    """Parse an update expression. Raises ValidationError for invalid syntax."""
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
    """Parse the value of a SET action: an operand, or two operands with + or - between them. Each operand can be in
    parentheses.
    """
    if cursor.kind != "(":
        return _read_arithmetic(cursor)
    if not _parenthesised_arithmetic(cursor):
        return _read_arithmetic(cursor)
    cursor.advance()
    value = _read_arithmetic(cursor)
    cursor.expect(")")
    return value


def _parenthesised_arithmetic(cursor: Cursor) -> bool:
    """Return True if the parentheses at the cursor contain + or -, as in (a + b) but not in (a) + b."""
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


_READERS: dict[str, Callable[[Cursor], Action]] = {
    "SET": _read_set,
    "REMOVE": lambda cursor: RemoveAction(read_path(cursor)),
    "ADD": lambda cursor: AddAction(read_path(cursor), Value(cursor.expect(VALUE).text)),
    "DELETE": lambda cursor: DeleteAction(read_path(cursor), Value(cursor.expect(VALUE).text)),
}


def parse_projection(text: str, parameter: str) -> tuple[Path, ...]:
    """Parse a projection expression. Raises ValidationError for invalid syntax."""
    cursor = Cursor(text, parameter)
    paths = [read_path(cursor)]
    while cursor.kind == ",":
        cursor.advance()
        paths.append(read_path(cursor))
    cursor.finish()
    return tuple(paths)
