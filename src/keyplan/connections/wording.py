"""How items and conditions are named in errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from keyplan.design.conditions import All, Any_, Between, Compare, Condition, Function, In, Not, Path, Size
from keyplan.design.conditions_evaluation import with_values
from keyplan.design.entities import EntitySpec
from keyplan.design.field_decoding import decode_value
from keyplan.design.symbols import Param, value_of

Arguments = Mapping[str, Any]


def key_of(spec: EntitySpec, item: Mapping[str, Any]) -> dict[str, Any]:
    """The primary key of an item, as plain values."""
    return {name: decode_value(item[name]) for name in spec.schema.key if name in item}


def item_named(spec: EntitySpec, key: Mapping[str, Any]) -> str:
    """An item in a sentence: Task PK='USER#1' SK='TASK#2'."""
    return " ".join([spec.name, *(f"{name}={value!r}" for name, value in key.items())])


def condition_text(condition: Condition, arguments: Arguments) -> str:
    """A condition as it is written in Python, with a call's values."""
    return _TEXTS[type(condition)](condition, arguments)


def _operand(operand: object, arguments: Arguments) -> str:
    if isinstance(operand, Path):
        return f"F.{operand.field}" + "".join(f"[{_operand(part, arguments)}]" for part in operand.parts[1:])
    if isinstance(operand, Size):
        return f"{_operand(operand.path, arguments)}.size()"
    return repr(value_of(operand, arguments) if isinstance(operand, Param) else operand)


def _compare(condition: Compare, arguments: Arguments) -> str:
    op = {"=": "==", "<>": "!="}.get(condition.op, condition.op)
    return f"{_operand(condition.left, arguments)} {op} {_operand(condition.right, arguments)}"


def _between(condition: Between, arguments: Arguments) -> str:
    low, high = _operand(condition.low, arguments), _operand(condition.high, arguments)
    return f"{_operand(condition.operand, arguments)}.between({low}, {high})"


def _in(condition: In, arguments: Arguments) -> str:
    told = with_values(condition, lambda source: value_of(source, arguments))
    first, *choices = (_operand(operand, arguments) for operand in told.operands())
    return f"{first}.is_in({', '.join(choices)})"


def _function(condition: Function, arguments: Arguments) -> str:
    name = {"attribute_exists": "exists", "attribute_not_exists": "missing"}.get(condition.name, condition.name)
    given = ", ".join(_operand(operand, arguments) for operand in condition.operands()[1:])
    return f"{_operand(condition.path, arguments)}.{name}({given})"


def _all(condition: All, arguments: Arguments) -> str:
    return " & ".join(f"({condition_text(part, arguments)})" for part in condition.parts)


def _any(condition: Any_, arguments: Arguments) -> str:
    return " | ".join(f"({condition_text(part, arguments)})" for part in condition.parts)


def _not(condition: Not, arguments: Arguments) -> str:
    return f"~({condition_text(condition.part, arguments)})"


_TEXTS: dict[type, Callable[[Any, Arguments], str]] = {
    Compare: _compare,
    Between: _between,
    In: _in,
    Function: _function,
    All: _all,
    Any_: _any,
    Not: _not,
}
