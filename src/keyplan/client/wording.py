"""How items and conditions are named in errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from keyplan.design.conditions import All, Any_, Between, Compare, Condition, Function, In, Not, Size
from keyplan.design.entities import EntitySpec
from keyplan.design.field_decoding import decode_value


def key_of(spec: EntitySpec, item: Mapping[str, Any]) -> dict[str, Any]:
    """The primary key of an item, as plain values."""
    return {name: decode_value(item[name]) for name in spec.schema.key if name in item}


def item_named(spec: EntitySpec, key: Mapping[str, Any]) -> str:
    """An item in a sentence: Task PK='USER#1' SK='TASK#2'."""
    return " ".join([spec.name, *(f"{name}={value!r}" for name, value in key.items())])


def condition_text(condition: Condition) -> str:
    """A condition as it is written in Python."""
    return _TEXTS[type(condition)](condition)


def _operand(operand: object) -> str:
    return f"{operand.path!r}.size()" if isinstance(operand, Size) else repr(operand)


def _compare(condition: Compare) -> str:
    op = {"=": "==", "<>": "!="}.get(condition.op, condition.op)
    return f"{_operand(condition.left)} {op} {_operand(condition.right)}"


def _between(condition: Between) -> str:
    low, high = _operand(condition.low), _operand(condition.high)
    return f"{_operand(condition.operand)}.between({low}, {high})"


def _in(condition: In) -> str:
    return f"{_operand(condition.operand)}.is_in({', '.join(map(_operand, condition.choices))})"


def _function(condition: Function) -> str:
    name = {"attribute_exists": "exists", "attribute_not_exists": "missing"}.get(condition.name, condition.name)
    given = ", ".join(_operand(operand) for operand in condition.operands()[1:])
    return f"{_operand(condition.path)}.{name}({given})"


def _all(condition: All) -> str:
    return " & ".join(f"({condition_text(part)})" for part in condition.parts)


def _any(condition: Any_) -> str:
    return " | ".join(f"({condition_text(part)})" for part in condition.parts)


def _not(condition: Not) -> str:
    return f"~({condition_text(condition.part)})"


_TEXTS: dict[type, Callable[[Any], str]] = {
    Compare: _compare,
    Between: _between,
    In: _in,
    Function: _function,
    All: _all,
    Any_: _any,
    Not: _not,
}
