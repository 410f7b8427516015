"""Conditions evaluated on plain values: True, False, or None where it cannot be told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from keyplan.design.conditions import (
    UNKNOWN,
    All,
    Any_,
    Between,
    Compare,
    Condition,
    Function,
    In,
    Not,
    Operand,
    Path,
    Size,
    Unknown,
)
from keyplan.design.symbols import Param, Source


class Missing:
    """A field that an item does not have."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()


def with_values(condition: Condition, value: Callable[[Source], Any]) -> Condition:
    """The same condition with a call's values in place of what it compares with."""
    if isinstance(condition, (All, Any_)):
        return type(condition)(tuple(with_values(part, value) for part in condition.parts))
    if isinstance(condition, Not):
        return Not(with_values(condition.part, value))
    if isinstance(condition, Compare):
        right = condition.right if isinstance(condition.right, Operand) else value(condition.right)
        return Compare(condition.op, condition.left, right)
    if isinstance(condition, Between):
        return Between(condition.operand, value(condition.low), value(condition.high))
    if isinstance(condition, In):
        return In(condition.operand, tuple(value(choice) for choice in condition.choices))
    assert isinstance(condition, Function), "these are all kinds of conditions"
    return Function(condition.name, condition.path, value(condition.argument))


def holds(condition: Condition | None, values: Mapping[str, Any]) -> bool | None:
    """Whether a condition is true of fields with these values.

    A field may be MISSING, UNKNOWN, or a Param, of which nothing is known either; a field that is not
    among the values is UNKNOWN. None as a value means MISSING: that is how it is stored.
    """
    if condition is None:
        return True
    return _EVALUATE[type(condition)](condition, values)


def _value(operand: object, values: Mapping[str, Any]) -> Any:
    if isinstance(operand, Path):
        found = values.get(operand.field, UNKNOWN)
        for part in operand.parts[1:]:
            found = _within(found, part)
        return MISSING if found is None else UNKNOWN if isinstance(found, Param) else _plain(found)
    if isinstance(operand, Size):
        found = _value(operand.path, values)
        return len(found) if isinstance(found, _SIZED) else MISSING if found is MISSING else UNKNOWN
    return UNKNOWN if isinstance(operand, Param) else _plain(operand)


_SIZED = (str, bytes, list, tuple, set, frozenset, dict)


def _plain(value: Any) -> Any:
    """An Enum's member is stored as its value, and compared so."""
    return value.value if isinstance(value, Enum) else value


def _within(found: Any, part: object) -> Any:
    """What lies in a value: a member of a map or model, an element of a list."""
    if found is None or found is MISSING:
        return MISSING
    if isinstance(found, (Param, Unknown)) or isinstance(part, Param):
        return UNKNOWN
    if isinstance(found, Mapping):
        return found.get(part, MISSING)
    if isinstance(found, (list, tuple)):
        return found[part] if isinstance(part, int) and part < len(found) else MISSING
    return getattr(found, str(part), MISSING)


def _all(condition: All, values: Mapping[str, Any]) -> bool | None:
    told = [holds(part, values) for part in condition.parts]
    return False if False in told else None if None in told else True


def _any(condition: Any_, values: Mapping[str, Any]) -> bool | None:
    told = [holds(part, values) for part in condition.parts]
    return True if True in told else None if None in told else False


def _not(condition: Not, values: Mapping[str, Any]) -> bool | None:
    told = holds(condition.part, values)
    return None if told is None else not told


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda left, right: bool(left == right),
    "<>": lambda left, right: bool(left != right),
    "<": lambda left, right: bool(left < right),
    "<=": lambda left, right: bool(left <= right),
    ">": lambda left, right: bool(left > right),
    ">=": lambda left, right: bool(left >= right),
}


def _compare(condition: Compare, values: Mapping[str, Any]) -> bool | None:
    left, right = _value(condition.left, values), _value(condition.right, values)
    if left is UNKNOWN or right is UNKNOWN:
        return None
    if left is MISSING or right is MISSING:
        return condition.op == "<>"
    return _COMPARE[condition.op](left, right)


def _between(condition: Between, values: Mapping[str, Any]) -> bool | None:
    told = [_value(operand, values) for operand in condition.operands()]
    if any(one is UNKNOWN for one in told):
        return None
    if any(one is MISSING for one in told):
        return False
    return bool(told[1] <= told[0] <= told[2])


def _in(condition: In, values: Mapping[str, Any]) -> bool | None:
    told = [_value(operand, values) for operand in condition.operands()]
    if told[0] is UNKNOWN:
        return None
    if told[0] is MISSING:
        return False
    known = [one for one in told[1:] if one is not UNKNOWN]
    return True if told[0] in known else None if len(known) < len(told) - 1 else False


def _function(condition: Function, values: Mapping[str, Any]) -> bool | None:
    found = _value(condition.path, values)
    if condition.name in {"attribute_exists", "attribute_not_exists"}:
        # A field that is given by a parameter may still be None, and so absent.
        return None if found is UNKNOWN else (found is MISSING) == (condition.name == "attribute_not_exists")
    argument = _value(condition.argument, values)
    if found is UNKNOWN or argument is UNKNOWN:
        return None
    if found is MISSING or argument is MISSING:
        return False
    return bool(found.startswith(argument)) if condition.name == "begins_with" else argument in found


_EVALUATE: dict[type, Callable[[Any, Mapping[str, Any]], bool | None]] = {
    All: _all,
    Any_: _any,
    Not: _not,
    Compare: _compare,
    Between: _between,
    In: _in,
    Function: _function,
}
