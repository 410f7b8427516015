"""Items made to suit a condition: which fields to change so that a write is not refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

from keyplan.design.conditions import All, Any_, Between, Compare, Condition, Function, In, Not, Path, holds
from keyplan.design.entities import EntitySpec

Choose = Callable[[str], Any]
"""Makes up a value of a field."""


def suited(condition: Condition, spec: EntitySpec, values: Mapping[str, Any], choose: Choose) -> dict[str, Any]:
    """Changes of fields after which a condition is true, as far as single fields decide it."""
    if holds(condition, values) is True:
        return {}
    if isinstance(condition, All):
        return {name: value for part in condition.parts for name, value in suited(part, spec, values, choose).items()}
    if isinstance(condition, Any_):
        return suited(condition.parts[0], spec, values, choose)
    if isinstance(condition, Not):
        path = condition.part.operands()[0]
        return {path.field: choose(path.field)} if isinstance(path, Path) and len(path.parts) == 1 else {}
    path, *others = condition.operands()
    if not isinstance(path, Path) or len(path.parts) > 1:
        return {}
    return {path.field: _value(condition, spec, path.field, others, choose)}


def _value(condition: Condition, spec: EntitySpec, field: str, others: list[Any], choose: Choose) -> Any:
    if isinstance(condition, Compare):
        if condition.op == "<>":
            return choose(field)
        return beyond(others[0], {"<": -1, ">": 1}.get(condition.op, 0))
    if isinstance(condition, (Between, In)):
        return others[0]
    assert isinstance(condition, Function), "every kind of condition is named here"
    if condition.name == "attribute_not_exists":
        return None
    if condition.name == "attribute_exists":
        return choose(field)
    stored = spec.fields[field]
    return {others[0]} if stored.is_set else [others[0]] if stored.type_code == "L" else others[0]


def beyond(value: Any, by: int) -> Any:
    """The value just above or below; the same where there is no such thing."""
    if not by or isinstance(value, (bool, Enum)):
        return value
    if isinstance(value, (int, float, Decimal)):
        return value + by
    if isinstance(value, datetime):
        return value + timedelta(seconds=by)
    if isinstance(value, date):
        return value + timedelta(days=by)
    if isinstance(value, str):
        return value + "~" if by > 0 else value[:-1] or value
    return value
