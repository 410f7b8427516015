"""Key conditions of plans, rendered and evaluated as the service does, in plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from keyplan.design.conditions.conditions import BetweenCondition, CompareCondition
from keyplan.design.conditions.evaluation import holds, with_values
from keyplan.design.parameters import value_of
from keyplan.design.planning.plan import KeySelection, Plan, SortCondition
from keyplan.design.requests.items import key_value_maker

Rendered = tuple[str, ...]


def rendered(condition: SortCondition, arguments: Mapping[str, Any]) -> Rendered:
    """Return the operator of a condition, and its texts or numbers."""
    values = [condition.low] if condition.high is None else [condition.low, condition.high]
    created = [key_value_maker(value)(arguments) for value in values]
    return (condition.op, *(next(iter(value.values())) for value in created))


def sort_of(plan: Plan, **arguments: Any) -> list[Rendered]:
    """Return the conditions on the sort key, rendered."""
    assert plan.key is not None
    return [rendered(attribute, arguments) for attribute in plan.key.sort]


def partition_of(plan: Plan, **arguments: Any) -> list[str]:
    """Return the partition key's texts or numbers."""
    assert plan.key is not None
    return [next(iter(key_value_maker(value)(arguments).values())) for value in plan.key.partition]


def residue_of(plan: Plan) -> tuple[str, ...] | None:
    """Return the operator and field of the comparison that the key condition could not express."""
    residue = plan.residue
    if residue is None:
        return None
    if isinstance(residue, BetweenCondition):
        return ("between", repr(residue.operand))
    assert isinstance(residue, CompareCondition)
    return (residue.op, repr(residue.left))


def _ordered(value: Mapping[str, Any]) -> Any:
    ((code, content),) = value.items()
    return Decimal(content) if code == "N" else content.encode() if code == "S" else content


def _in_range(condition: SortCondition, item: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
    ordered = _ordered(item[condition.low.attribute])
    low = _ordered(key_value_maker(condition.low)(arguments))
    if condition.high is not None:
        return bool(low <= ordered <= _ordered(key_value_maker(condition.high)(arguments)))
    compared = {
        "=": lambda: ordered == low,
        "<": lambda: ordered < low,
        "<=": lambda: ordered <= low,
        ">": lambda: ordered > low,
        ">=": lambda: ordered >= low,
        "begins_with": lambda: ordered.startswith(low),
    }
    return bool(compared[condition.op]())


def selects(plan: Plan, item: Mapping[str, Any], values: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
    """Whether a query gives an item with these field values: its key condition, and what is left over."""
    key = plan.key
    assert isinstance(key, KeySelection)
    if any(item.get(part.attribute) != key_value_maker(part)(arguments) for part in key.partition):
        return False
    if not all(_in_range(attribute, item, arguments) for attribute in key.sort):
        return False
    if plan.residue is None:
        return True
    return holds(with_values(plan.residue, lambda source: value_of(source, arguments)), values) is True
