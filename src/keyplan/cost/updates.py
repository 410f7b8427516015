"""How many entries of an index a partial update is expected to write.

An entry whose key changes is deleted and put: two writes. One that comes or goes is one, and so is one that shows what
changed; one of which nothing changes is none. What changes a key of a sparse index is taken to be about items that are
in it, where the pattern does not say otherwise: few loans are out, and those are extended.

Source: developer guide, "Using Global Secondary Indexes in DynamoDB", provisioned throughput, write capacity units.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from keyplan.cost.shares import share_in_index
from keyplan.design.conditions import UNKNOWN, paths_of
from keyplan.design.conditions_evaluation import holds, stated
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundIndexKey, BoundKey
from keyplan.design.plan import Plan
from keyplan.design.symbols import Param, is_never_none


def entries_written(plan: Plan) -> Iterator[tuple[BoundIndexKey, float]]:
    """For each index of the entity: the entries that a call writes."""
    entity = plan.entity
    changed = {action.path.field for action in plan.actions} | ({entity.version} if entity.version else set())
    before = {**stated(plan.condition, entity.fields), **plan.known}
    after = {name: value for name, value in before.items() if name not in changed}
    for action in plan.actions:
        if len(action.path.parts) == 1 and action.name in {"set", "remove"}:
            after[action.path.field] = action.source if action.name == "set" else None
    for bound in entity.indexes:
        was, stays = _is_inside(entity, bound, before), _is_inside(entity, bound, after)
        yield bound, _entries(entity, bound, changed, was, stays)


def _entries(
    entity: EntitySpec, bound: BoundIndexKey, changed: set[str], was: bool | None, stays: bool | None
) -> float:
    """`was`, `stays`: whether the item is in the index before and after; None where the pattern does not say."""
    if was is False or stays is False:
        return 0.0 if was is stays else 1.0
    moves = bool(changed & set(bound.fields))
    in_place = 2.0 if moves else float(_shows(entity, bound, changed))
    share = 1.0 if was else share_in_index(entity, bound)
    if not changed & _deciding(entity, bound):
        return in_place if moves else share * in_place
    if stays and share < 1:
        return share * in_place + (1 - share)
    return max(1.0, in_place)  # it may come, go or stay, and nothing tells how often


def _deciding(entity: EntitySpec, bound: BoundKey) -> set[str]:
    """The fields whose change may bring an item into the index, or take it out."""
    return {path.field for path in paths_of(bound.when)} | {
        name for name in bound.fields if entity.fields[name].optional
    }


def _shows(entity: EntitySpec, bound: BoundIndexKey, changed: set[str]) -> bool:
    """Whether an entry has an attribute that changes."""
    return any(bound.index.projects(entity.fields[name].attribute, entity.schema.key) for name in changed)


def _is_inside(entity: EntitySpec, bound: BoundKey, values: Mapping[str, Any]) -> bool | None:
    """Whether an item of these values is in the index; None where they do not tell."""
    inside = holds(bound.when, values)
    if inside is False or any(values.get(name, UNKNOWN) is None for name in bound.fields):
        return False
    there = all(not entity.fields[name].optional or _is_value(values.get(name, UNKNOWN)) for name in bound.fields)
    return True if inside and there else None


def _is_value(source: object) -> bool:
    """Whether a source surely stands for a value, and not for None."""
    return is_never_none(source) if isinstance(source, Param) else source is not UNKNOWN
