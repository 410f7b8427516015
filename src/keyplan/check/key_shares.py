"""Which part of the load goes to the most used key: 1 where there is one key only, 1/n over n that are used alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keyplan.cost.selectivity import choices_of, same_field
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import KeyAttribute
from keyplan.design.symbols import CALLED, Source
from keyplan.design.template_holes import BoundHole


def is_constant(source: Source) -> bool:
    """Whether a key value is the same at every call."""
    return source is not None and not isinstance(source, CALLED)


def field_share(entity: EntitySpec, name: str) -> float | None:
    """The share of load that goes to a field's most used value; None where nothing says."""
    told = entity.items.values_of(name) if entity.items is not None else None
    if told is not None:
        return told.hottest_share
    number = choices_of(entity.fields[name])
    if number is not None:
        return 1 / number
    if entity.key.fields == (name,) and entity.items is not None:
        return 1 / max(1, entity.items.count)
    return None


def _hole_share(hole: BoundHole, entity: EntitySpec) -> float | None:
    share = field_share(entity, hole.name)
    if hole.shards:
        return max(1 / hole.shards, share or 0.0)
    return share


def key_share(
    parts: Sequence[KeyAttribute],
    entity: EntitySpec,
    sources: Mapping[str, Source],
    others: Sequence[EntitySpec] = (),
) -> float | None:
    """The share of load that goes to the most used key made of these attributes.

    Fields of which nothing is said, and that are together the whole key of the entity, or of one of the others, have
    as many combinations as there are of it.
    """
    shares: dict[str, float | None] = {}
    for part in parts:
        holes = part.template.holes if part.template is not None else ()
        for hole in holes:
            found = 1.0 if is_constant(sources.get(hole.name)) else _hole_share(hole, entity)
            before = shares.get(hole.name, 1.0)
            shares[hole.name] = None if found is None or before is None else min(found, before)
        if part.field is not None:
            name = part.field.name
            shares[name] = 1.0 if is_constant(sources.get(name)) else field_share(entity, name)
    total = 1.0
    for owner in sorted((entity, *others), key=lambda one: -len(one.key.fields)):
        names = owner.key.fields
        if owner.items is None or not all(name in shares and same_field(owner, entity, name) for name in names):
            continue
        if any(shares[name] is None for name in names) and not any(is_constant(sources.get(name)) for name in names):
            total /= max(1, owner.items.count)
            shares = {name: share for name, share in shares.items() if name not in names}
    for share in shares.values():
        if share is None:
            return None
        total *= share
    return total
