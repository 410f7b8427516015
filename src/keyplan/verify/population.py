"""Chooses how many items to generate, and generates the keys that items use to refer to each other.

The cost of a query depends on how many items have the same partition key, so this number stays the same if fewer items
are generated than declared. A million tasks of 10,000 users become 5,000 tasks of 50 users, and each user still has 100
tasks. Fields that are not part of a partition key have the declared number of values.

The values of each field are generated independently. However, if an entity has all key fields of another entity, their
values are taken from one key of that entity. For example, the organization and project of a task belong to one project.

If a pattern specifies a key as text, the text is compared with the entity's template to find out which field each
parameter in the text belongs to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache
from random import Random
from typing import Any

from keyplan.cost.selectivity import same_texts
from keyplan.design.declaring.design import Design
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.entity_keys import BoundKey
from keyplan.design.keys.placeholders import BoundPart, BoundPlaceholder, Text
from keyplan.design.keys.templates import BoundTemplate
from keyplan.design.parameters import Source
from keyplan.design.planning.plan import KeyValue
from keyplan.design.workload import Distinct, Volume
from keyplan.verify.values import SampleError

DEFAULT_ITEMS = 100
"""The number of items to generate for an entity if the design does not declare how many it has."""
MIN_ITEMS = 50
"""The minimum number of items to generate for an entity, unless the design declares fewer."""

Owners = Mapping[str, tuple[EntitySpec, int]]
"""The entity that each field refers to, and the number of items of that entity, by field name.

The key of a referenced entity consists of only one field.
"""


Values = dict[str, Any]
_TRIES = 60


@dataclass(frozen=True)
class Amount:
    """The number of items to generate for one entity, and the declared number."""

    count: int
    declared: int | None
    """The number of the entity's items that the design declares, or None."""
    values: Mapping[str, int] = field(default_factory=dict)
    """The number of distinct values to generate, by field."""

    @property
    def scaled(self) -> bool:
        """Return True if fewer items are generated than declared."""
        return self.declared is not None and self.count < self.declared


def amounts(design: Design, total: int) -> dict[EntitySpec, Amount]:
    """Return how many items of each entity to generate, about `total` items overall."""
    declared = {spec: _declared(spec, design) for spec in design.entities}
    declared_total = sum(declared.values())
    share = min(1.0, total / declared_total) if declared_total else 1.0
    counts_of = {}
    for spec, count in declared.items():
        items = max(min(count, MIN_ITEMS), round(count * share))
        values = {} if spec.volume is None else _values(spec, spec.volume, items)
        counts_of[spec] = Amount(items, None if spec.volume is None else spec.volume.count, values)
    return _with_referenced_counts(counts_of)


def _declared(spec: EntitySpec, design: Design) -> int:
    if spec.volume is not None:
        return max(0, spec.volume.count)
    implied = _implied_count(spec, design)
    return _possible(spec) if implied is None else implied


def _possible(spec: EntitySpec) -> int:
    """Return the default number of items to generate, or the number of possible keys if it is smaller."""
    keys = 1
    for name in spec.key.fields:
        choices = spec.fields[name].declared.choices
        keys *= DEFAULT_ITEMS if choices is None else max(1, len(choices))
    return min(keys, DEFAULT_ITEMS)


def _implied_count(spec: EntitySpec, design: Design) -> int | None:
    """Return the number of an entity's items, derived from the declarations of other entities, or None if these imply
    no number.

    For example, 10,000 distinct values of user_id in another entity imply 10,000 users.
    """
    if len(spec.key.fields) != 1:
        return None
    name = spec.key.fields[0]
    counts = [
        count
        for other in design.entities
        if other.volume is not None and name in other.fields and (count := _number(other.volume, name)) is not None
    ]
    return max(counts, default=None)


def _with_referenced_counts(amounts_by_entity: dict[EntitySpec, Amount]) -> dict[EntitySpec, Amount]:
    """Derive undeclared item counts from the references between entities, and return all counts.

    For example, if 500 distinct values of user_id are generated for other entities, 500 users are generated. This
    applies only to entities whose key consists of a single field.
    """
    for spec, amount in amounts_by_entity.items():
        if amount.declared is None and len(spec.key.fields) == 1:
            name = spec.key.fields[0]
            counts = [other.values[name] for other in amounts_by_entity.values() if name in other.values]
            if counts:
                amounts_by_entity[spec] = Amount(max(counts), None)
    return amounts_by_entity


def _number(items: Volume, name: str) -> int | None:
    """Return the declared number of distinct values of a field, or None if it is not declared."""
    declared = items.distinct.get(name)
    if isinstance(declared, Distinct):
        return declared.count
    return declared if isinstance(declared, int) else None


def _values(spec: EntitySpec, items: Volume, count: int) -> dict[str, int]:
    declared = {name: max(1, number) for name in items.distinct if (number := _number(items, name)) is not None}
    scaled = dict(declared)
    share = count / items.count if items.count else 1.0
    scaled_fields: set[str] = set()
    for bound in (spec.key, *spec.indexes):
        partition = [name for name in _partition(bound) if name in declared]
        if not partition or scaled_fields.intersection(partition):
            continue
        largest = max(partition, key=declared.__getitem__)
        # At least two: with one value, a query could not read the wrong partition.
        scaled[largest] = max(min(2, declared[largest]), round(declared[largest] * share))
        scaled_fields.add(largest)
    return {name: min(number, max(1, count)) for name, number in scaled.items()}


def _partition(bound: BoundKey) -> Iterator[str]:
    return (name for part in bound.partition for name in part.fields)


def same_type(owner: EntitySpec, stored: StoredField) -> bool:
    """Return True if a field has the same type as the field of `owner` that it refers to.

    A field refers to the owner's field with the same name or, if no such field exists, to the owner's first key field.
    """
    owner_field = owner.fields.get(stored.name, owner.fields[owner.key.fields[0]])
    return bool(owner_field.annotation == stored.annotation)


def owners_of(spec: EntitySpec, by_owner: Mapping[EntitySpec, Amount]) -> Owners:
    """Return the entity that each field of an entity refers to (its owner), by field name.

    Only entities with a single key field can be owners. A field refers to this key field in two cases: the names are
    equal, or both fields are in the same place of otherwise equal partition key templates. For example, with `TXN#{id}`
    and `TXN#{transaction_id}`, transaction_id refers to id, even if the entity has another field named `id`.
    """
    single = {owner: amount.count for owner, amount in by_owner.items() if len(owner.key.fields) == 1}
    owners = {owner.key.fields[0]: (owner, count) for owner, count in single.items()}
    for owner, count in single.items():
        for name in _renamed_references(spec, owner):
            if owners.get(owner.key.fields[0], (owner, 0))[0] is not spec:
                owners.pop(owner.key.fields[0], None)
            owners[name] = (owner, count)
    return owners


def _renamed_references(spec: EntitySpec, owner: EntitySpec) -> Iterator[str]:
    """Yield each field of an entity that refers to the key field of `owner` but has a different name.

    The two fields are at the same position of partition key templates that are otherwise the same.
    """
    if spec is owner or spec.schema is not owner.schema:
        return
    for bound in (spec.key, *spec.indexes):
        owner_key = owner.key_in(bound.index)
        for key_attribute, owner_attribute in zip(
            bound.partition, () if owner_key is None else owner_key.partition, strict=False
        ):
            if (
                owner_attribute.fields != owner.key.fields
                or len(key_attribute.fields) != 1
                or key_attribute.fields == owner_attribute.fields
            ):
                continue
            if (
                key_attribute.template is not None
                and owner_attribute.template is not None
                and same_texts(key_attribute.template, owner_attribute.template)
            ):
                yield key_attribute.fields[0]


class Keys:
    """The keys of an entity's items, which are generated before the items."""

    def __init__(self, spec: EntitySpec, count: int, draw: Callable[[int], Values]) -> None:
        """Create the keys of `count` items. `draw` generates the key fields of the item with a given number."""
        self.spec, self.names, self._count, self._draw = spec, spec.key.fields, count, draw
        self.is_referenced = False
        """True if other entities refer to these keys."""
        self._by_number: dict[int, Values] = {}
        self._drawn_keys: set[tuple[Any, ...]] = set()
        self.grouped_by = cache(self._group_by)

    def at(self, number: int) -> Values:
        """Return the key fields of the item with this number.

        Raises SampleError if a value cannot be generated.
        """
        entity = self._by_number.get(number)
        for _ in range(_TRIES if entity is None else 0):
            entity = self._draw(number)
            if tuple(entity.values()) not in self._drawn_keys:
                break
        assert entity is not None, "the entity exists or has just been drawn"
        self._drawn_keys.add(tuple(entity.values()))
        self._by_number[number] = entity
        return entity

    def find(self, number: int) -> Values | None:
        """Return the key fields of the item with this number, or None if the number is too high or no key can be
        generated.
        """
        try:
            return self.at(number) if number < self._count else None
        except SampleError:
            return None

    def _group_by(self, name: str | None) -> Mapping[Any, Sequence[Values]]:
        """Return all keys, grouped by the value of the field `name`. If `name` is None, all keys are in one group."""
        by_value = defaultdict(list)
        number = 0
        while (key := self.find(number)) is not None:
            by_value[None if name is None else key[name]].append(key)
            number += 1
        return by_value


class References:
    """The fields of an entity that refer to keys of other entities."""

    def __init__(self, spec: EntitySpec, target_keys: Sequence[Keys], fixed: frozenset[str], chance: Random) -> None:
        """Find the references of an entity to `target_keys`. The values of the fields in `fixed` must not change."""
        candidates = [keys for keys in target_keys if not fixed.intersection(keys.names)]
        self._targets: list[Keys] = []
        for keys in sorted(candidates, key=lambda keys: -len(keys.names)):
            if not any(set(keys.names) <= set(larger.names) for larger in self._targets):
                self._targets.append(keys)
                keys.is_referenced = True
        self._spec, self._chance = spec, chance
        self.names = tuple(dict.fromkeys(name for keys in self._targets for name in keys.names))

    def resolve(self, values: Values, number: int, *, fixed: Collection[str] = ()) -> Values:
        """Replace the values of fields that refer to other entities with existing keys, and return all field values.

        `values` are the generated values, and `number` is the number of the item. The values of the fields in `fixed`
        are not changed.
        """
        fixed = set(fixed)
        key_names = set(self._spec.key.fields)
        for target in self._targets:
            if key_names < set(target.names):
                fixed |= key_names  # that key belongs to the item; otherwise many items would have one key
            if all(values[name] is not None for name in target.names):
                candidates = self._candidates(target, values, fixed, number)
                if candidates:
                    values = {**values, **self._chance.choice(candidates)}
                    fixed.update(target.names)
        return values

    def _candidates(self, target: Keys, values: Values, fixed: Collection[str], number: int) -> Sequence[Values]:
        """Return the keys of `target` that an item can refer to.

        If each item must refer to a different key, return only the key with the item's number. Otherwise, return the
        keys that contain the field values that the item must keep. If the item need not keep any values, return all
        keys.
        """
        unique_keys = (self._spec.key.fields, *(rule.fields for rule in self._spec.uniques))
        if any(
            set(target.names) == set(names) for names in unique_keys
        ):  # one for each item, so their numbers are equal
            key = target.find(number)
            return [] if key is None else [key]
        fixed_names = [name for name in target.names if name in fixed]
        group_field = fixed_names[0] if fixed_names else self._fixed_field(target)
        matching_keys = target.grouped_by(group_field).get(None if group_field is None else values[group_field], [])
        if fixed_names:
            return [key for key in matching_keys if all(key[name] == values[name] for name in fixed_names)]
        return matching_keys or target.grouped_by(None).get(None, [])

    def _fixed_field(self, target: Keys) -> str | None:
        """Return the field that must keep its value when an item is assigned a key of `target`, or None if any key can
        be chosen.

        This is the first key field with declared shares of values. If none exists, it is the last key field, provided
        that its number of values is declared.
        """
        declared = {} if self._spec.volume is None else self._spec.volume.distinct
        shared = [name for name in target.names if _has_shares(declared.get(name))]
        return shared[0] if shared else target.names[-1] if target.names[-1] in declared else None


def _has_shares(declared: object) -> bool:
    return isinstance(declared, Mapping) or (isinstance(declared, Distinct) and declared.hottest is not None)


def referenced_specs(counts: Mapping[EntitySpec, int]) -> dict[EntitySpec, list[EntitySpec]]:
    """Return, for each entity, the entities with composite keys that its items refer to.

    If two entities could refer to each other, only the references to the entity with fewer items are used.
    """
    referenced: dict[EntitySpec, list[EntitySpec]] = {spec: [] for spec in counts}

    def refers(spec: EntitySpec, target: EntitySpec) -> bool:
        return spec is target or any(refers(other, target) for other in referenced[spec])

    for spec in sorted(counts, key=lambda spec: (len(spec.key.fields), counts[spec])):
        for other in counts:
            if len(other.key.fields) > 1 and _has_key_fields(spec, other) and not refers(other, spec):
                referenced[spec].append(other)
    return referenced


def _has_key_fields(spec: EntitySpec, other: EntitySpec) -> bool:
    """Return True if an entity has all key fields of the entity `other`, with the same names and types."""
    return spec is not other and all(
        name in spec.fields and same_type(other, spec.fields[name]) for name in other.key.fields
    )


@dataclass(frozen=True, eq=False)
class AlignedPart:
    """A field of an entity, with the corresponding part of a key that a pattern specifies as text."""

    field: str
    source: Source = None
    """The parameter at this position of the key's text, or None if the text has literal characters there."""
    literal: str | None = None
    encoded: BoundPlaceholder | None = None
    """The placeholder of the field in the entity's key template."""
    text_placeholder: BoundPlaceholder | None = None
    """The placeholder of the parameter in the key's text, or None if the text has literal characters there."""
    is_complete: bool = True
    """True if the whole value is compared, because the text continues after the value or the entity's key
    ends there.
    """

    @property
    def is_part(self) -> bool:
        """Return True if a date or datetime is compared with a parameter of a different type, such as a string."""
        if self.text_placeholder is None or self.encoded is None:
            return False
        return (
            self.encoded.field.type in {date, datetime}
            and self.text_placeholder.field.type is not self.encoded.field.type
        )


def align(template: BoundTemplate, key_value: KeyValue) -> list[AlignedPart] | None:
    """Compare a key that a pattern specifies as text with an entity's template.

    Return each field with the corresponding part of the text, or None if no key of the entity can start with the text.
    """
    assert key_value.template is not None, "a key given as text has a template"
    return _Alignment(template.parts, key_value.template.parts, key_value).pairs()


class _Alignment:
    """A comparison of an entity's key template with a key that a pattern specifies as text. Both are read from left to
    right.
    """

    def __init__(
        self, template_parts: Sequence[BoundPart], text_parts: Sequence[BoundPart], key_value: KeyValue
    ) -> None:
        self._template_parts, self._text_parts, self._sources = (
            list(template_parts),
            list(text_parts),
            key_value.sources,
        )

    def pairs(self) -> list[AlignedPart] | None:
        """Return each field with the corresponding part of the text, or None if the template and the text
        do not match.
        """
        aligned: list[AlignedPart] = []
        while self._text_parts:
            if not self._template_parts:
                return None
            template_part, text_part = self._template_parts[0], self._text_parts[0]
            if isinstance(template_part, Text):
                if not isinstance(text_part, Text) or not self._skip_common_text(template_part.text, text_part.text):
                    return None
            elif isinstance(text_part, Text):
                pair = self._literal(template_part, text_part.text)
                if pair is None:
                    return None
                aligned.append(pair)
            else:
                self._template_parts.pop(0)
                self._text_parts.pop(0)
                aligned.append(
                    AlignedPart(
                        template_part.name,
                        self._sources[text_part.name],
                        encoded=template_part,
                        text_placeholder=text_part,
                        is_complete=self._ends_value(),
                    )
                )
        return aligned

    def _ends_value(self) -> bool:
        return bool(self._text_parts) or not self._template_parts

    def _skip_common_text(self, template_text: str, key_text: str) -> bool:
        """Compare a literal text in the template with one in the key. If one starts with the other, skip the common
        characters in both and return True. Otherwise, return False.
        """
        length = min(len(template_text), len(key_text))
        if template_text[:length] != key_text[:length]:
            return False
        self._shorten(self._template_parts, template_text, length)
        self._shorten(self._text_parts, key_text, length)
        return True

    def _literal(self, placeholder: BoundPlaceholder, text: str) -> AlignedPart | None:
        """Return a placeholder's field with the literal characters at the same position of the key. Return None if the
        key has no characters there.

        The characters end at the delimiter that follows the placeholder in the template.
        """
        self._template_parts.pop(0)
        end = text.find(placeholder.delimiter) if placeholder.delimiter else -1
        value = text if end < 0 else text[:end]
        if not value:
            return None
        self._shorten(self._text_parts, text, len(value))
        return AlignedPart(
            placeholder.name, literal=value, encoded=placeholder, is_complete=end >= 0 or not self._template_parts
        )

    @staticmethod
    def _shorten(parts: list[BoundPart], text: str, length: int) -> None:
        if length == len(text):
            parts.pop(0)
        else:
            parts[0] = Text(text[length:])
