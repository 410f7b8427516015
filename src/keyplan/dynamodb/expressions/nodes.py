"""The trees that expressions are read into.

Nodes hold what was written: a placeholder stays "#n" in a path and ":v" in a value, since what they
stand for comes with each request. Parentheses are no nodes; `render` puts them where they matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Path:
    """A document path: names (or "#placeholders") and list indexes; the first is a name."""

    parts: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A ":placeholder" of ExpressionAttributeValues."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function and its operands."""

    function: str
    operands: tuple[Operand, ...]


Operand: TypeAlias = Path | Value | Call


@dataclass(frozen=True, slots=True)
class Compare:
    """left operator right, where the operator is one of = <> < <= > >=."""

    operator: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Between:
    """operand BETWEEN lower AND upper, both bounds included."""

    operand: Operand
    lower: Operand
    upper: Operand


@dataclass(frozen=True, slots=True)
class In:
    """operand IN (choice, ...)."""

    operand: Operand
    choices: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class And:
    """Two or more conditions joined by AND without parentheses between them."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Two or more conditions joined by OR without parentheses between them."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """NOT condition."""

    condition: Condition


Condition: TypeAlias = Compare | Between | In | Call | And | Or | Not


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """left + right or left - right, allowed once per SET action."""

    operator: str
    left: Operand
    right: Operand


SetValue: TypeAlias = Operand | Arithmetic


@dataclass(frozen=True, slots=True)
class SetAction:
    """SET path = value."""

    path: Path
    value: SetValue


@dataclass(frozen=True, slots=True)
class RemoveAction:
    """REMOVE path."""

    path: Path


@dataclass(frozen=True, slots=True)
class AddAction:
    """ADD path :value."""

    path: Path
    value: Value


@dataclass(frozen=True, slots=True)
class DeleteAction:
    """DELETE path :value."""

    path: Path
    value: Value


Action: TypeAlias = SetAction | RemoveAction | AddAction | DeleteAction


@dataclass(frozen=True, slots=True)
class Clause:
    """One section of an update: SET, REMOVE, ADD or DELETE and its actions."""

    keyword: str
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """The sections of an update expression as written; until checked, some may stand twice."""

    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Projection:
    """The paths of a projection expression."""

    paths: tuple[Path, ...]
