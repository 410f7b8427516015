"""Key conditions and filters as documents write them: PK = USER#{user_id}, SK begins_with TASK#."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from keyplan.design.conditions import All, Any_, Between, Compare, Condition, Function, In, Not, Path, Size
from keyplan.design.plan import KeyValue, Plan, SortCondition
from keyplan.design.symbols import Each, EveryShard, Param


def key_condition(plan: Plan) -> str:
    """The key condition of a plan; empty where it has none."""
    if plan.key is None:
        return ""
    parts = [f"{value.attribute} = {_text(value)}" for value in plan.key.partition]
    parts += [_sort(condition) for condition in plan.key.sort]
    return ", ".join(parts)


def _sort(condition: SortCondition) -> str:
    low = _text(condition.low)
    if condition.op == "BETWEEN" and condition.high is not None:
        return f"{condition.attribute} between {low} and {_text(condition.high)}"
    return f"{condition.attribute} {condition.op} {low}"


def _text(value: KeyValue) -> str:
    if value.template is None:
        source = next(iter(value.sources.values()), None)
        return _source(source)
    words = "".join(_pieces(value))
    if value.part == "upper":
        return f"the end of {words}"
    return words


def _pieces(value: KeyValue) -> Iterator[str]:
    """The template as far as its fields are given, each with where its value comes from."""
    assert value.template is not None, "the caller looked"
    for part in value.template.template.parts:
        field = getattr(part, "field", None)
        if field is None:
            yield part.text  # type: ignore[union-attr]
        elif field not in value.sources:
            return
        else:
            yield _hole(field, value.sources[field])


def _hole(field: str, source: Any) -> str:
    if isinstance(source, (Param, Each, EveryShard)):
        return "{" + (field if isinstance(source, Param) and repr(source) == field else repr(source)) + "}"
    return str(source)


def _source(source: Any) -> str:
    if isinstance(source, (Param, Each, EveryShard)):
        return "{" + repr(source) + "}"
    return repr(source.value if isinstance(source, Enum) else source)


def condition(told: Condition | None) -> str:
    """A condition as it reads in words; empty for none."""
    if told is None:
        return ""
    if isinstance(told, All):
        return " and ".join(_within(part) for part in told.parts)
    if isinstance(told, Any_):
        return " or ".join(_within(part) for part in told.parts)
    if isinstance(told, Not):
        return f"not {_within(told.part)}"
    return _simple(told)


def _within(part: Condition) -> str:
    text = condition(part)
    return f"({text})" if isinstance(part, (All, Any_)) else text


def _simple(told: Condition) -> str:
    operands = [_operand(one) for one in told.operands()]
    if isinstance(told, Compare):
        return f"{operands[0]} {told.op} {operands[1]}"
    if isinstance(told, Between):
        return f"{operands[0]} between {operands[1]} and {operands[2]}"
    if isinstance(told, In):
        return f"{operands[0]} in ({', '.join(operands[1:])})"
    assert isinstance(told, Function), "every kind of condition is named here"
    verbs = {"attribute_exists": "is there", "attribute_not_exists": "is missing"}
    if told.name in verbs:
        return f"{operands[0]} {verbs[told.name]}"
    return f"{operands[0]} {told.name} {operands[1]}"


def _part(part: Any) -> str:
    return _source(part) if isinstance(part, Param) else str(part)


def _operand(operand: Any) -> str:
    if isinstance(operand, Path):
        return operand.field + "".join(f"[{_part(part)}]" for part in operand.parts[1:])
    if isinstance(operand, Size):
        return f"size of {_operand(operand.path)}"
    return _source(operand)
