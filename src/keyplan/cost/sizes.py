"""Sizes of items in tables and indexes, computed from the declarations in a design."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from keyplan.design.entities import EntitySpec
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.design.schema import Index
from keyplan.design.workload import Volume

_TYPICAL_BYTES = {"S": 20, "N": 6, "B": 100, "BOOL": 1, "SS": 60, "NS": 30, "BS": 300, "L": 100, "M": 100, "ANY": 50}


@dataclass(frozen=True)
class ItemSize:
    """The size of an item in a table or index in bytes, including names and values."""

    average: int
    p99: int
    most: int | None
    """The maximum size of an item in bytes, or None if it is unlimited or not declared."""
    declared: bool
    """True if the design declares the item size, and False if it is estimated from the types of the fields."""


@dataclass(frozen=True)
class Growth:
    """Factors for the declared item counts and sizes, for a what-if estimate."""

    items: float = 1.0
    """The factor by which the number of items of each entity is multiplied. The declared number of distinct values of
    each field does not change.
    """
    size: float = 1.0
    """The factor by which the sizes of items are multiplied."""


AS_DECLARED: Final = Growth()
_GROWTH: ContextVar[Growth] = ContextVar("growth", default=AS_DECLARED)


@contextmanager
def applied_growth(growth: Growth) -> Iterator[None]:
    """Multiply the declared item counts and sizes by the factors in `growth`, for all estimates within the block."""
    token = _GROWTH.set(growth)
    try:
        yield
    finally:
        _GROWTH.reset(token)


def count_of(volume: Volume) -> float:
    """Return the declared number of items. Within an `applied_growth` block, it is multiplied by the block's factor."""
    return volume.count * _GROWTH.get().items


def item_size(entity: EntitySpec) -> ItemSize:
    """Return the size of an entity's items in the table."""
    declared = entity.volume.bytes if entity.volume is not None else None
    if declared is None:
        guess = _grown_bytes(_all_bytes(entity))
        return ItemSize(guess, guess, None, declared=False)
    max_bytes = None if declared.most is None else _grown_bytes(declared.most)
    return ItemSize(
        _grown_bytes(declared.average), _grown_bytes(declared.p99 or declared.average), max_bytes, declared=True
    )


def _grown_bytes(declared: int) -> int:
    return round(declared * _GROWTH.get().size)


def entry_size(entity: EntitySpec, bound: BoundKey) -> ItemSize:
    """Return the size of an entity's items in an index, or in the table if the key belongs to the table."""
    size = item_size(entity)
    if bound.index is None or bound.index.project in {"all", None}:
        return size
    keys = {part.attribute: part for part in (*entity.key.attributes, *bound.attributes)}
    key_bytes = sum(_part_bytes(part) for part in keys.values())
    if isinstance(bound.index.project, tuple):
        projected = set(bound.index.project) - set(keys)
        key_bytes += sum(_field_bytes(field) for field in entity.fields.values() if field.attribute in projected)
    average = min(key_bytes, size.average)
    return ItemSize(average, min(key_bytes, size.p99), None, declared=size.declared)


def read_size(entity: EntitySpec, index: Index | None) -> ItemSize:
    """Return the size of an entity's items in a table or index. If the entity has no key in the index, return the size
    in the table.
    """
    bound = entity.key_in(index)
    return item_size(entity) if bound is None else entry_size(entity, bound)


def _all_bytes(entity: EntitySpec) -> int:
    keys = _key_bytes(entity.key) + sum(_key_bytes(bound) for bound in entity.indexes)
    return keys + sum(_field_bytes(field) for field in entity.fields.values())


def _key_bytes(bound: BoundKey) -> int:
    """Return the total size in bytes of the key attributes that have templates. Other key attributes are stored fields,
    which are counted separately.
    """
    return sum(_part_bytes(part) for part in bound.attributes if part.template)


def _part_bytes(part: BoundKeyAttribute) -> int:
    if part.field is not None:
        return _field_bytes(part.field)
    return len(part.attribute.encode()) + _template_bytes(part)


def _template_bytes(part: BoundKeyAttribute) -> int:
    assert part.template is not None, "the caller looked"
    max_bytes = part.template.max_bytes
    typical = len(part.template.text.encode()) + 16 * len(part.template.fields)
    return typical if max_bytes is None else min(max_bytes, typical)


def _field_bytes(field: StoredField) -> int:
    return len(field.attribute.encode()) + _TYPICAL_BYTES[field.type_code]
