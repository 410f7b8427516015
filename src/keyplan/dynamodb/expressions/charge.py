"""What an update expression is charged against the limit of an item's size, in bytes.

UpdateItem refuses an expression that writes too much, whatever the item will be: it adds up what the
expression names and writes, and something for each action, function and path in it. The figures are
those of the service, measured to the byte by a public conformance suite (eu-west-2, October 2026); AWS
documents none of them, and some regions do without. Transactions and AttributeUpdates do without too.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from keyplan.dynamodb.expressions.nodes import (
    Action,
    AddAction,
    Arithmetic,
    Call,
    Operand,
    Path,
    SetAction,
    SetValue,
    Value,
)
from keyplan.dynamodb.expressions.resolve import Names, ResolvedPath
from keyplan.dynamodb.values import sizes
from keyplan.dynamodb.values.types import Values

_UPDATE = 3
_WRITE = 19  # SET and ADD, the path and what is written apart
_REMOVAL = 1  # REMOVE and DELETE, the path apart; what is removed is free
_TARGET_STEP = 4  # each further element of a path that is changed
_READ = 1
_READ_STEP = 14  # each element of a path that is read; the value found there is free
_FUNCTIONS = {"if_not_exists": 39, "list_append": 37}
_ARITHMETIC = {"+": 34, "-": 37}


@dataclass(frozen=True, slots=True)
class Charge:
    """The charge of one expression: a fixed part, and values by how often they are used."""

    fixed: int = 0
    uses: Counter[str] = field(default_factory=Counter)

    def exceeds(self, limit: int, values: Values) -> bool:
        """Whether the charge is more than `limit` bytes."""
        total = self.fixed
        for name, times in self.uses.items():
            total += times * sizes.value_bytes(values[name])
            if total > limit:
                return True
        return total > limit


def charge_of(actions: list[Action], names: Names) -> Charge:
    """The charge of the actions of an update; names are resolved by now."""
    uses: Counter[str] = Counter()
    fixed = _UPDATE + sum(_action(action, names, uses) for action in actions)
    return Charge(fixed, uses)


def _action(action: Action, names: Names, uses: Counter[str]) -> int:
    target = _target(names.resolve(action.path))
    if isinstance(action, SetAction):
        return _WRITE + target + _set_value(action.value, names, uses)
    if isinstance(action, AddAction):
        uses[action.value.name] += 1
        return _WRITE + target
    return _REMOVAL + target


def _target(path: ResolvedPath) -> int:
    return sizes.text_bytes(str(path[0])) + sum(_TARGET_STEP + sizes.text_bytes(str(step)) for step in path[1:])


def _set_value(value: SetValue, names: Names, uses: Counter[str]) -> int:
    if isinstance(value, Arithmetic):
        operands = _operand(value.left, names, uses) + _operand(value.right, names, uses)
        return _ARITHMETIC[value.operator] + operands
    return _operand(value, names, uses)


def _operand(operand: Operand, names: Names, uses: Counter[str]) -> int:
    """An operand and what is inside it; functions nest, up to the limit of operators."""
    total = 0
    pending = [operand]
    while pending:
        match pending.pop():
            case Value(name=name):
                uses[name] += 1
            case Path() as path:
                total += _READ + sum(_READ_STEP + sizes.text_bytes(str(step)) for step in names.resolve(path))
            case Call(function=function, operands=operands):
                total += _FUNCTIONS[function]
                pending.extend(operands)
    return total
