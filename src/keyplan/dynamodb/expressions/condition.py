"""The parser of condition, filter and key condition expressions.

Precedence from loosest to tightest: OR, AND, NOT, then comparisons. An open parenthesis may begin a
condition or an operand, `(a = b)` or `(a) = b`, and which one shows only after it closes; so both
are read by the same loop over a list of frames, one per open parenthesis. The loop never calls
itself: depth is bounded by the operator limit, not by the stack.

    frame       or_parts OR and_parts AND nots NOT <here>
    "("         pushes a frame
    ")"         closes it: its condition, or its bare operand, becomes a term of the frame below
"""

from __future__ import annotations

from dataclasses import dataclass, field

from keyplan.dynamodb.expressions.nodes import And, Between, Call, Compare, Condition, In, Not, Operand, Or
from keyplan.dynamodb.expressions.operands import read_operand
from keyplan.dynamodb.expressions.tokens import Cursor
from keyplan.dynamodb.messages import expressions as messages

COMPARATORS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_AFTER_OPERAND = COMPARATORS | {"BETWEEN", "IN"}


@dataclass(slots=True)
class _Frame:
    or_parts: list[Condition] = field(default_factory=list)
    and_parts: list[Condition] = field(default_factory=list)
    nots: int = 0
    parenthesised: bool = False  # the only term so far came out of parentheses

    @property
    def fresh(self) -> bool:
        """Whether nothing was read in it yet."""
        return not (self.or_parts or self.and_parts or self.nots)


def parse(text: str, parameter: str) -> Condition:
    """The condition in the text. Raises ValidationError with the service's text."""
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
        done = _close_conditions(cursor, frames)
        if done is not None:
            cursor.finish()
            return done


def _read_term(cursor: Cursor, frames: list[_Frame]) -> Condition | None:
    """The next condition; None after an open parenthesis."""
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
        if cursor.kind != ")" or len(frames) == 1 or not frames[-1].fresh:
            raise cursor.syntax_error()
        _close_operand(cursor, frames)
    frames[-1].parenthesised = False
    return _read_comparison(cursor, operand)


def _closes_operand(cursor: Cursor, frames: list[_Frame]) -> bool:
    """Whether the parentheses around a call end in a comparison, as in (size(a)) > :n."""
    at = cursor.at
    frame = len(frames) - 1
    while cursor.tokens[at].kind == ")" and frame > 0 and frames[frame].fresh:
        at += 1
        frame -= 1
    return at > cursor.at and cursor.tokens[at].kind in _AFTER_OPERAND


def _close_operand(cursor: Cursor, frames: list[_Frame]) -> None:
    if frames[-1].parenthesised:
        cursor.advance()
        raise cursor.invalid(messages.REDUNDANT_PARENTHESES)
    cursor.advance()
    frames.pop()
    frames[-1].parenthesised = frames[-1].fresh


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
    """Closes parentheses; the whole condition when all are closed, None when a term must follow."""
    while len(frames) > 1:
        cursor.expect(")")
        frame = frames.pop()
        if frame.parenthesised:
            raise cursor.invalid(messages.REDUNDANT_PARENTHESES)
        below = frames[-1]
        alone = below.fresh
        _add(below, _disjunction(frame))
        below.parenthesised = alone
        if cursor.kind in ("AND", "OR"):
            _join(cursor, below)
            return None
    return _disjunction(frames[0])
