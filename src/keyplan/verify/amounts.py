"""How much data is generated: items of each entity and values of each field, scaled down from the declared numbers.

What a query reads depends on how many items share a partition key, so that is what scaling keeps: a million
tasks of 10,000 users become 5,000 tasks of 50 users, and each user still has 100 tasks. Fields that no partition
key is made of keep their number of values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from keyplan.design.design import Design
from keyplan.design.entities import EntitySpec
from keyplan.design.fields import StoredField
from keyplan.design.keys import BoundKey
from keyplan.design.workload import Distinct, Items
from keyplan.verify.aligning import same_texts

UNSTATED = 100
"""Items of an entity of which the design states no number."""
AT_LEAST = 50
"""No entity is scaled below this, unless it has fewer items."""

Owners = Mapping[str, tuple[EntitySpec, int]]
"""By field: the entity whose key is this field alone, and how many there are."""


@dataclass(frozen=True)
class Amount:
    """What is generated of one entity."""

    count: int
    declared: int | None
    """What the design says; None where it says nothing."""
    values: Mapping[str, int] = field(default_factory=dict)
    """By field: how many values it has."""

    @property
    def scaled(self) -> bool:
        """Whether fewer items are generated than the design declares."""
        return self.declared is not None and self.count < self.declared


def amounts(design: Design, total: int) -> dict[EntitySpec, Amount]:
    """What to generate, in all about `total` items."""
    declared = {spec: _declared(spec, design) for spec in design.entities}
    everything = sum(declared.values())
    share = min(1.0, total / everything) if everything else 1.0
    found = {}
    for spec, count in declared.items():
        items = max(min(count, AT_LEAST), round(count * share))
        values = {} if spec.items is None else _values(spec, spec.items, items)
        found[spec] = Amount(items, None if spec.items is None else spec.items.count, values)
    return _followed(found)


def _declared(spec: EntitySpec, design: Design) -> int:
    if spec.items is not None:
        return max(0, spec.items.count)
    told = _told_by_others(spec, design)
    return _possible(spec) if told is None else told


def _possible(spec: EntitySpec) -> int:
    """As many as usual, but no more than there are keys: one item where the key is made of no field."""
    keys = 1
    for name in spec.key.fields:
        choices = spec.fields[name].declared.choices
        keys *= UNSTATED if choices is None else max(1, len(choices))
    return min(keys, UNSTATED)


def _told_by_others(spec: EntitySpec, design: Design) -> int | None:
    """How many there are by what other entities say: 10,000 values of user_id are 10,000 users."""
    if len(spec.key.fields) != 1:
        return None
    name = spec.key.fields[0]
    told = [
        count
        for other in design.entities
        if other.items is not None and name in other.fields and (count := _number(other.items, name)) is not None
    ]
    return max(told, default=None)


def _followed(found: dict[EntitySpec, Amount]) -> dict[EntitySpec, Amount]:
    """Entities whose number others tell follow what those were scaled to, so that references find them."""
    for spec, amount in found.items():
        if amount.declared is None and len(spec.key.fields) == 1:
            name = spec.key.fields[0]
            told = [other.values[name] for other in found.values() if name in other.values]
            if told:
                found[spec] = Amount(max(told), None)
    return found


def _number(items: Items, name: str) -> int | None:
    """How many values a field has, where that is a number and not a list of shares."""
    told = items.distinct.get(name)
    if isinstance(told, Distinct):
        return told.count
    return told if isinstance(told, int) else None


def _values(spec: EntitySpec, items: Items, count: int) -> dict[str, int]:
    declared = {name: max(1, number) for name in items.distinct if (number := _number(items, name)) is not None}
    scaled = dict(declared)
    share = count / items.count if items.count else 1.0
    done: set[str] = set()
    for bound in (spec.key, *spec.indexes):
        partition = [name for name in _partition(bound) if name in declared]
        if not partition or done.intersection(partition):
            continue
        largest = max(partition, key=declared.__getitem__)
        # Two at least: with one, no query could find the wrong partition.
        scaled[largest] = max(min(2, declared[largest]), round(declared[largest] * share))
        done.add(largest)
    return {name: min(number, max(1, count)) for name, number in scaled.items()}


def _partition(bound: BoundKey) -> Iterator[str]:
    return (name for part in bound.partition for name in part.fields)


def same_type(owner: EntitySpec, stored: StoredField) -> bool:
    """Return True if a field may refer to an owner: it has the type of its field of that name, or else of its key."""
    own = owner.fields.get(stored.name, owner.fields[owner.key.fields[0]])
    return bool(own.annotation == stored.annotation)


def owners_of(spec: EntitySpec, wanted: Mapping[EntitySpec, Amount]) -> Owners:
    """Return the owners of an entity's fields, also of those that their owner calls differently.

    The place in a partition key decides: of `TXN#{id}` and `TXN#{transaction_id}` the second names the first, whatever
    other field of the entity is called `id`.
    """
    single = {one: amount.count for one, amount in wanted.items() if len(one.key.fields) == 1}
    found = {one.key.fields[0]: (one, count) for one, count in single.items()}
    for owner, count in single.items():
        for name in _named_otherwise(spec, owner):
            if found.get(owner.key.fields[0], (owner, 0))[0] is not spec:
                found.pop(owner.key.fields[0], None)
            found[name] = (owner, count)
    return found


def _named_otherwise(spec: EntitySpec, owner: EntitySpec) -> Iterator[str]:
    """Yield the field of an entity that stands where the owner's key field stands, under another name."""
    if spec is owner or spec.schema is not owner.schema:
        return
    for bound in (spec.key, *spec.indexes):
        theirs = owner.key_in(bound.index)
        for mine, other in zip(bound.partition, () if theirs is None else theirs.partition, strict=False):
            if other.fields != owner.key.fields or len(mine.fields) != 1 or mine.fields == other.fields:
                continue
            if mine.template is not None and other.template is not None and same_texts(mine.template, other.template):
                yield mine.fields[0]
