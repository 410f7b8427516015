"""How much data is generated: items of each entity and values of each field, scaled down from the declared numbers.

What a query reads depends on how many items share a partition key, so that is what scaling keeps: a million
tasks of 10,000 users become 5,000 tasks of 50 users, and each user still has 100 tasks. Fields that no partition
key is made of keep their number of values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache
from random import Random
from typing import Any

from keyplan.design.declaring.design import Design
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.entity_keys import BoundKey
from keyplan.design.keys.holes import BoundHole, BoundPart, Text
from keyplan.design.keys.templates import BoundTemplate
from keyplan.design.parameters import Source
from keyplan.design.planning.plan import KeyValue
from keyplan.design.workload import Distinct, Items
from keyplan.verify.values import SampleError

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


Values = dict[str, Any]
_TRIES = 60


class Keys:
    """The keys of an entity's items, decided before the items are made."""

    def __init__(self, spec: EntitySpec, count: int, draw: Callable[[int], Values]) -> None:
        """`draw` makes up the key fields of the item of a number."""
        self.spec, self.names, self._count, self._draw = spec, spec.key.fields, count, draw
        self.followed = False
        """Whether other entities name them."""
        self._by_number: dict[int, Values] = {}
        self._taken: set[tuple[Any, ...]] = set()
        self.having = cache(self._having)

    def at(self, number: int) -> Values:
        """The key fields of the item of a number. Raises SampleError."""
        found = self._by_number.get(number)
        for _ in range(_TRIES if found is None else 0):
            found = self._draw(number)
            if tuple(found.values()) not in self._taken:
                break
        assert found is not None, "it was known, or drawn"
        self._taken.add(tuple(found.values()))
        self._by_number[number] = found
        return found

    def find(self, number: int) -> Values | None:
        """The same; None past the items that are loaded, and where none can be made up, as is told of those items."""
        try:
            return self.at(number) if number < self._count else None
        except SampleError:
            return None

    def _having(self, name: str | None) -> Mapping[Any, Sequence[Values]]:
        """The keys by the value of one of their fields; without a name all of them, under None."""
        found = defaultdict(list)
        number = 0
        while (one := self.find(number)) is not None:
            found[None if name is None else one[name]].append(one)
            number += 1
        return found


class References:
    """The keys that an entity's fields name."""

    def __init__(self, spec: EntitySpec, others: Sequence[Keys], fixed: frozenset[str], chance: Random) -> None:
        """`others`: the keys that they name. `fixed`: fields whose values nothing may change."""
        named = [one for one in others if not fixed.intersection(one.names)]
        self._targets: list[Keys] = []
        for one in sorted(named, key=lambda one: -len(one.names)):
            if not any(set(one.names) <= set(larger.names) for larger in self._targets):
                self._targets.append(one)
                one.followed = True
        self._spec, self._chance = spec, chance
        self.names = tuple(dict.fromkeys(name for one in self._targets for name in one.names))

    def taken(self, values: Values, number: int, *, settled: Collection[str] = ()) -> Values:
        """The values, drawn for the item of a number, with those that name others taken from their keys.

        `settled`: fields that are to stay as they are.
        """
        settled = set(settled)
        own = set(self._spec.key.fields)
        for target in self._targets:
            if own < set(target.names):
                settled |= own  # that key belongs to the item; many items would else have one key
            if all(values[name] is not None for name in target.names):
                candidates = self._candidates(target, values, settled, number)
                if candidates:
                    values = {**values, **self._chance.choice(candidates)}
                    settled.update(target.names)
        return values

    def _candidates(self, target: Keys, values: Values, settled: Collection[str], number: int) -> Sequence[Values]:
        """Keys that the item may name: as its fields have them that say most, or any where none is like that."""
        once = (self._spec.key.fields, *(rule.fields for rule in self._spec.uniques))
        if any(set(target.names) == set(names) for names in once):  # one for each: so many there are, and no more
            one = target.find(number)
            return [] if one is None else [one]
        before = [name for name in target.names if name in settled]
        kept = before[0] if before else self._kept(target)
        alike = target.having(kept).get(None if kept is None else values[kept], [])
        if before:
            return [one for one in alike if all(one[name] == values[name] for name in before)]
        return alike or target.having(None).get(None, [])

    def _kept(self, target: Keys) -> str | None:
        """The field whose declared shares are to stay; where none has any the last, which tells most keys apart, if the
        number of its values is declared: else any key will do, so that each is named.
        """
        told = {} if self._spec.items is None else self._spec.items.distinct
        shared = [name for name in target.names if _has_shares(told.get(name))]
        return shared[0] if shared else target.names[-1] if target.names[-1] in told else None


def _has_shares(told: object) -> bool:
    return isinstance(told, Mapping) or (isinstance(told, Distinct) and told.hottest is not None)


def named_by(counts: Mapping[EntitySpec, int]) -> dict[EntitySpec, list[EntitySpec]]:
    """For each entity those whose keys of several fields it names; of two that name each other the rarer does."""
    found: dict[EntitySpec, list[EntitySpec]] = {spec: [] for spec in counts}

    def leads(one: EntitySpec, to: EntitySpec) -> bool:
        return one is to or any(leads(other, to) for other in found[one])

    for spec in sorted(counts, key=lambda spec: (len(spec.key.fields), counts[spec])):
        for other in counts:
            if len(other.key.fields) > 1 and _names(spec, other) and not leads(other, spec):
                found[spec].append(other)
    return found


def _names(spec: EntitySpec, other: EntitySpec) -> bool:
    """Whether an entity has a field of the same name and type for each field of another's key."""
    return spec is not other and all(
        name in spec.fields and same_type(other, spec.fields[name]) for name in other.key.fields
    )


@dataclass(frozen=True, eq=False)
class AlignedPart:
    """A field of the entity, and what the written text has in its place."""

    field: str
    source: Source = None
    """A parameter; None where the text has letters there."""
    literal: str | None = None
    encoded: BoundHole | None = None
    """The hole that makes the field's text in the entity's key."""
    asked: BoundHole | None = None
    """Of a parameter: the hole that makes the written text."""
    closed: bool = True
    """Whether the written text goes on after it, or the entity's key ends there: then the value is meant as a whole."""

    @property
    def is_part(self) -> bool:
        """Whether the parameter is of another type than the moment that it stands for: a day, or the text of one."""
        if self.asked is None or self.encoded is None:
            return False
        return self.encoded.field.type in {date, datetime} and self.asked.field.type is not self.encoded.field.type


def align(template: BoundTemplate, written: KeyValue) -> list[AlignedPart] | None:
    """The pairs of a written key text; None where it cannot be the beginning of any key of the entity."""
    assert written.template is not None, "written texts are templates"
    return _Alignment(template.parts, written.template.parts, written).pairs()


def same_texts(one: BoundTemplate, other: BoundTemplate) -> bool:
    """Return True for templates that differ at most in the names of their fields."""
    return [_shape(part) for part in one.parts] == [_shape(part) for part in other.parts]


def _shape(part: BoundPart) -> tuple[Any, ...]:
    return (part.field.type, part.spec) if isinstance(part, BoundHole) else (part.text,)


class _Alignment:
    """Walks both texts from the left."""

    def __init__(self, own: Sequence[BoundPart], asked: Sequence[BoundPart], written: KeyValue) -> None:
        self._own, self._asked, self._sources = list(own), list(asked), written.sources

    def pairs(self) -> list[AlignedPart] | None:
        """All pairs, or None."""
        found: list[AlignedPart] = []
        while self._asked:
            if not self._own:
                return None
            first, asked = self._own[0], self._asked[0]
            if isinstance(first, Text):
                if not isinstance(asked, Text) or not self._letters(first.text, asked.text):
                    return None
            elif isinstance(asked, Text):
                pair = self._literal(first, asked.text)
                if pair is None:
                    return None
                found.append(pair)
            else:
                self._own.pop(0)
                self._asked.pop(0)
                found.append(
                    AlignedPart(
                        first.name, self._sources[asked.name], encoded=first, asked=asked, closed=self._is_closed()
                    )
                )
        return found

    def _is_closed(self) -> bool:
        return bool(self._asked) or not self._own

    def _letters(self, own: str, asked: str) -> bool:
        """Take what both have alike."""
        length = min(len(own), len(asked))
        if own[:length] != asked[:length]:
            return False
        self._shorten(self._own, own, length)
        self._shorten(self._asked, asked, length)
        return True

    def _literal(self, hole: BoundHole, asked: str) -> AlignedPart | None:
        """Letters where the entity has a field: they are its text, up to what follows it."""
        self._own.pop(0)
        end = asked.find(hole.delimiter) if hole.delimiter else -1
        value = asked if end < 0 else asked[:end]
        if not value:
            return None
        self._shorten(self._asked, asked, len(value))
        return AlignedPart(hole.name, literal=value, encoded=hole, closed=end >= 0 or not self._own)

    @staticmethod
    def _shorten(parts: list[BoundPart], text: str, length: int) -> None:
        if length == len(text):
            parts.pop(0)
        else:
            parts[0] = Text(text[length:])
