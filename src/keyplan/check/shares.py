"""How many of the items that are read a filter lets through, as far as the declared numbers tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keyplan.design.conditions import (
    All,
    Any_,
    Compare,
    Condition,
    Function,
    In,
    Not,
    Path,
)
from keyplan.design.entities import EntitySpec
from keyplan.design.symbols import Param


def kept_share(condition: Condition, entity: EntitySpec) -> float | None:
    """The share of an entity's items of which a condition is true; None where nothing tells.

    Parts are taken as independent. Of a conjunction the parts that tell nothing are left out, so that the
    share is the most that can be left.
    """
    if entity.items is None:
        return None
    found = _BY_KIND.get(type(condition))
    return None if found is None else found(condition, entity)


def _compare(condition: Compare, entity: EntitySpec) -> float | None:
    if not isinstance(condition.left, Path) or condition.op not in {"=", "<>"}:
        return None
    share = _value_share(condition.left, condition.right, entity)
    return share if share is None or condition.op == "=" else 1 - share


def _value_share(path: Path, value: object, entity: EntitySpec) -> float | None:
    items = entity.items
    if items is None or len(path.parts) > 1:
        return None
    present = items.present.get(path.field, 1.0)
    if isinstance(value, Param):
        told = items.values_of(path.field)
        return None if told is None else present / max(1, told.count)
    share = items.share_of(path.field, value)
    return None if share is None else present * share


def _in(condition: In, entity: EntitySpec) -> float | None:
    if not isinstance(condition.operand, Path):
        return None
    told = [_value_share(condition.operand, choice, entity) for choice in condition.choices]
    return _capped(told)


def _all(condition: All, entity: EntitySpec) -> float | None:
    told = [share for part in condition.parts if (share := kept_share(part, entity)) is not None]
    share = 1.0
    for one in told:
        share *= one
    return share if told else None


def _any(condition: Any_, entity: EntitySpec) -> float | None:
    return _capped([kept_share(part, entity) for part in condition.parts])


def _capped(told: list[float | None]) -> float | None:
    known = [share for share in told if share is not None]
    return min(1.0, sum(known)) if len(known) == len(told) else None


def _not(condition: Not, entity: EntitySpec) -> float | None:
    share = None if isinstance(condition.part, All) else kept_share(condition.part, entity)
    return None if share is None else 1 - share


def _function(condition: Function, entity: EntitySpec) -> float | None:
    items = entity.items
    if items is None or len(condition.path.parts) > 1 or condition.path.field not in items.present:
        return None
    present = items.present[condition.path.field]
    return {"attribute_exists": present, "attribute_not_exists": 1 - present}.get(condition.name)


_BY_KIND: dict[type, Callable[[Any, EntitySpec], float | None]] = {
    Compare: _compare,
    In: _in,
    All: _all,
    Any_: _any,
    Not: _not,
    Function: _function,
}
