"""Keys of several fields, named by other entities: the organisation and project of a task are those of one project.

Fields are drawn one by one. Where an entity has all the fields that another's key is made of, they are taken
together from one key of the other, so that what belongs to it is found under it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

from keyplan.design.entities import EntitySpec
from keyplan.design.workload import Distinct
from keyplan.verify.amounts import same_type
from keyplan.verify.errors import SampleError

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
