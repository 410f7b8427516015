"""Items made to suit a condition: which fields to change so that it is true."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from itertools import islice, product
from typing import Any

from keyplan.design.conditions import All, Any_, Between, Compare, Condition, Function, In, Not, Path, Size
from keyplan.design.entities import EntitySpec
from keyplan.verify.deciding import decided

Choose = Callable[[str], Any]
"""Makes up a value of a field."""
_WAYS = 16
_OPPOSITE: dict[str, Any] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_STEP = {"<": -1, ">": 1, "<>": 1}


def ways(condition: Condition, spec: EntitySpec, values: Mapping[str, Any], choose: Choose) -> Iterator[dict[str, Any]]:
    """Changes of fields, each of which may make a condition true: of several branches those of the first come first."""
    if decided(condition, values) is True:
        yield {}
    elif isinstance(condition, All):
        parts = [list(islice(ways(part, spec, values, choose), _WAYS)) for part in condition.parts]
        for chosen in islice(product(*parts), _WAYS):
            yield {name: value for changes in chosen for name, value in changes.items()}
    elif isinstance(condition, Any_):
        for part in condition.parts:
            yield from ways(part, spec, values, choose)
    elif isinstance(condition, Not):
        yield from _ways_not(condition.part, spec, values, choose)
    else:
        yield from _ways_of_one(condition, spec, values, choose)


def _ways_not(part: Condition, spec: EntitySpec, values: Mapping[str, Any], choose: Choose) -> Iterator[dict[str, Any]]:
    """Ways to make a condition false."""
    if isinstance(part, Not):
        yield from ways(part.part, spec, values, choose)
    elif isinstance(part, All):
        yield from ways(Any_(tuple(Not(one) for one in part.parts)), spec, values, choose)
    elif isinstance(part, Any_):
        yield from ways(All(tuple(Not(one) for one in part.parts)), spec, values, choose)
    elif isinstance(part, Compare):
        yield from ways(Compare(_OPPOSITE[part.op], part.left, part.right), spec, values, choose)
    elif isinstance(part, Function) and part.name == "attribute_exists":
        yield from ways(part.path.missing(), spec, values, choose)
    elif isinstance(part, Function) and part.name == "attribute_not_exists":
        yield from ways(part.path.exists(), spec, values, choose)
    else:
        operand = part.operands()[0]
        if isinstance(operand, Path) and len(operand.parts) == 1:
            yield {operand.field: choose(operand.field)}


def _ways_of_one(
    condition: Condition, spec: EntitySpec, values: Mapping[str, Any], choose: Choose
) -> Iterator[dict[str, Any]]:
    """Ways to make a comparison or a function true, of a field that is not within another."""
    first, *others = condition.operands()
    path = first.path if isinstance(first, Size) else first
    if not isinstance(path, Path) or len(path.parts) > 1 or path.field not in spec.fields:
        return
    told = [values.get(one.field) if isinstance(one, Path) else one for one in others]
    if isinstance(first, Size):
        if not isinstance(told[0], (int, float, Decimal)):
            return
        changed = _resized(values.get(path.field), _size(condition, told[0]), lambda: choose(path.field))
        if changed is not None:
            yield {path.field: changed}
    else:
        yield {path.field: _value(condition, spec, path.field, told, choose)}


def _value(condition: Condition, spec: EntitySpec, field: str, told: list[Any], choose: Choose) -> Any:
    stored = spec.fields[field]
    if isinstance(condition, Compare):
        return choose(field) if condition.op == "<>" else beyond(told[0], _STEP.get(condition.op, 0))
    if isinstance(condition, (Between, In)):
        return told[0]
    assert isinstance(condition, Function), "every kind of condition is named here"
    if condition.name == "attribute_not_exists":
        return frozenset() if stored.is_set and not stored.optional else None
    if condition.name == "attribute_exists":
        return choose(field)
    return {told[0]} if stored.is_set else [told[0]] if stored.type_code == "L" else told[0]


def _size(condition: Condition, told: Any) -> int:
    return int(told) + (_STEP.get(condition.op, 0) if isinstance(condition, Compare) else 0)


def _resized(value: Any, size: int, more: Callable[[], Any]) -> Any:
    """A text or collection with as many characters or members; None where that cannot be made."""
    value = more() if value is None else value
    if isinstance(value, str):
        return (value + "x" * size)[:size]
    if not isinstance(value, (list, tuple, set, frozenset)):
        return None
    members = list(value) if isinstance(value, (list, tuple)) else sorted(value, key=repr)
    for _ in range(size):
        if len(members) >= size:
            break
        members += [one for one in more() if isinstance(value, (list, tuple)) or one not in members]
    return type(value)(members[:size]) if 0 <= size <= len(members) else None


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
