"""Syntax trees of expressions, and functions that convert them back to text.

Nodes contain placeholders such as "#n" and ":v" unchanged, because each request has its own names and values.
Parentheses are not nodes. The render functions add them where they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Path:
    """A document path, which starts with a name. The other elements are names or list indexes.

    A name can be a "#placeholder".
    """

    parts: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A placeholder from ExpressionAttributeValues, such as ":v"."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function call with its operands."""

    function: str
    operands: tuple[Operand, ...]


Operand: TypeAlias = Path | Value | Call


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison of two operands with an operator: =, <>, <, <=, > or >=."""

    operator: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Between:
    """The condition `operand BETWEEN lower AND upper`, which includes both bounds."""

    operand: Operand
    lower: Operand
    upper: Operand


@dataclass(frozen=True, slots=True)
class In:
    """The condition `operand IN (choice, ...)`."""

    operand: Operand
    choices: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class And:
    """Two or more conditions joined by AND, without parentheses between them."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Two or more conditions joined by OR, without parentheses between them."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The condition `NOT condition`."""

    condition: Condition


Condition: TypeAlias = Compare | Between | In | Call | And | Or | Not


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The sum or difference of two operands, used as the value of a SET action."""

    operator: str
    left: Operand
    right: Operand


SetValue: TypeAlias = Operand | Arithmetic


@dataclass(frozen=True, slots=True)
class SetAction:
    """The action `SET path = value`."""

    path: Path
    value: SetValue


@dataclass(frozen=True, slots=True)
class RemoveAction:
    """The action `REMOVE path`."""

    path: Path


@dataclass(frozen=True, slots=True)
class AddAction:
    """The action `ADD path :value`."""

    path: Path
    value: Value


@dataclass(frozen=True, slots=True)
class DeleteAction:
    """The action `DELETE path :value`."""

    path: Path
    value: Value


Action: TypeAlias = SetAction | RemoveAction | AddAction | DeleteAction


@dataclass(frozen=True, slots=True)
class Clause:
    """A section of an update expression (SET, REMOVE, ADD or DELETE) and its actions."""

    keyword: str
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """The sections of an update expression, in order. The module `check` rejects repeated sections."""

    clauses: tuple[Clause, ...]


def render_condition(condition: Condition) -> str:
    """Return the text of a condition. Parsing the text returns an equal condition."""
    match condition:
        case And():
            return " AND ".join(map(_render_and_part, condition.conditions))
        case Or():
            return " OR ".join(map(_render_or_part, condition.conditions))
        case Not():
            return _render_not(condition)
        case Compare():
            left, right = render_operand(condition.left), render_operand(condition.right)
            return f"{left} {condition.operator} {right}"
        case Between():
            lower, upper = render_operand(condition.lower), render_operand(condition.upper)
            return f"{render_operand(condition.operand)} BETWEEN {lower} AND {upper}"
        case In():
            return f"{render_operand(condition.operand)} IN ({_render_list(condition.choices)})"
        case Call():
            return render_operand(condition)


def _render_not(condition: Condition) -> str:
    signs = ""
    while isinstance(condition, Not):
        signs += "NOT "
        condition = condition.condition
    return signs + _render_and_part(condition)


def _render_and_part(condition: Condition) -> str:
    text = render_condition(condition)
    return f"({text})" if isinstance(condition, And | Or) else text


def _render_or_part(condition: Condition) -> str:
    text = render_condition(condition)
    return f"({text})" if isinstance(condition, Or) else text


def render_operand(operand: Operand) -> str:
    """Return the text of a path, a value or a call."""
    match operand:
        case Path():
            return render_path(operand)
        case Value():
            return operand.name
        case Call():
            return f"{operand.function}({_render_list(operand.operands)})"


def _render_list(operands: tuple[Operand, ...]) -> str:
    return ", ".join(map(render_operand, operands))


def render_path(path: Path) -> str:
    """Return the text of a document path."""
    first, *rest = path.parts
    steps = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest)
    return str(first) + "".join(steps)


def render_projection(paths: tuple[Path, ...]) -> str:
    """Return the text of a projection expression that selects these paths."""
    return ", ".join(map(render_path, paths))


def render_update(update: Update) -> str:
    """Return the text of an update. Parsing the text returns an equal update."""
    return " ".join(f"{clause.keyword} {', '.join(map(_render_action, clause.actions))}" for clause in update.clauses)


def _render_action(action: Action) -> str:
    path = render_path(action.path)
    match action:
        case SetAction():
            return f"{path} = {_render_set_value(action.value)}"
        case RemoveAction():
            return path
        case AddAction() | DeleteAction():
            return f"{path} {action.value.name}"


def _render_set_value(value: SetValue) -> str:
    if isinstance(value, Arithmetic):
        return f"{render_operand(value.left)} {value.operator} {render_operand(value.right)}"
    return render_operand(value)


def nested_operands(operand: Operand) -> Iterator[Operand]:
    """Yield an operand and all operands nested in it, from left to right."""
    pending = [operand]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Call):
            pending.extend(reversed(node.operands))
