"""Which part of an entity's items a condition is true of, or an index holds, as far as the declared numbers tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    paths_of,
)
from keyplan.design.conditions_evaluation import MISSING, holds
from keyplan.design.entities import EntitySpec
from keyplan.design.field_types import plain
from keyplan.design.fields import StoredField
from keyplan.design.keys import BoundKey
from keyplan.design.symbols import Each, Param


def share_in_index(entity: EntitySpec, bound: BoundKey) -> float:
    """The share of an entity's items that an index holds: those with all its fields, of which `when` is true.

    What nothing is declared of is taken to be in it, and optional fields of one key to be there together.
    """
    if entity.items is None:
        return 1.0
    asked = {path.field for path in paths_of(bound.when)}
    share = 1.0
    for name in dict.fromkeys(bound.fields):
        if entity.fields[name].optional and name not in asked:
            share = min(share, entity.items.present.get(name, 1.0))
    kept = None if bound.when is None else kept_share(bound.when, entity)
    return share if kept is None else share * kept


def choices_of(field: StoredField) -> int | None:
    """How many values a field can have, where its type says so."""
    if field.annotation is bool:
        return 2
    choices = field.declared.choices
    return None if choices is None else len(choices)


def shares_of(entity: EntitySpec, name: str, when: Condition | None) -> Mapping[object, float] | None:
    """The share of each value of a field among items of which a condition may be true; None where none are told."""
    told = None if entity.items is None else entity.items.distinct.get(name)
    if not isinstance(told, Mapping):
        return None
    inside = {plain(value): share for value, share in told.items() if holds(when, {name: value}) is not False}
    whole = sum(inside.values())
    return {value: share / whole for value, share in inside.items()} if whole else inside


def kept_share(condition: Condition, entity: EntitySpec) -> float | None:
    """The share of an entity's items of which a condition is true; None where nothing tells.

    Parts are taken as independent. Of a conjunction the parts that tell nothing are left out, so that the
    share is the most that can be left.
    """
    if entity.items is None:
        return None
    exact = _by_values(condition, entity)
    if exact is not None:
        return exact
    found = _BY_KIND.get(type(condition))
    return None if found is None else found(condition, entity)


def _by_values(condition: Condition, entity: EntitySpec) -> float | None:
    """Of a condition on one field, the share of each of whose values is told: of each value it is true or not."""
    names = {path.field for path in paths_of(condition)}
    shares = shares_of(entity, next(iter(names)), None) if len(names) == 1 else None
    if entity.items is None or shares is None:
        return None
    (name,) = names
    told = {value: holds(condition, {name: value}) for value in shares}
    without = holds(condition, {name: MISSING})
    if without is None or None in told.values():
        return None
    present = entity.items.present.get(name, 1.0)
    return present * sum(share for value, share in shares.items() if told[value]) + (1 - present) * without


def _compare(condition: Compare, entity: EntitySpec) -> float | None:
    if not isinstance(condition.left, Path) or condition.op not in {"=", "<>"}:
        return None
    share = _value_share(condition.left, condition.right, entity)
    return share if share is None or condition.op == "=" else 1 - share


def _value_share(path: Path, value: object, entity: EntitySpec) -> float | None:
    items = entity.items
    if items is None or len(path.parts) > 1 or isinstance(value, Each):
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
