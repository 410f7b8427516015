"""Generates entity objects that have the declared value shares, distinct values, optional fields and sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, Literal, get_origin

from pydantic import BaseModel

from keyplan.cost.selectivity import is_own_id
from keyplan.design.conditions.conditions import paths_of
from keyplan.design.declaring.design import Design
from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.encodings import PERIODS_S, MissingField
from keyplan.design.requests.items import item_builder
from keyplan.design.workload import Distinct
from keyplan.verify.population import Amount, Keys, Owners, References, amounts, owners_of, referenced_specs, same_type
from keyplan.verify.sizes import SizeAdjuster
from keyplan.verify.values import SampleError, ValueGenerator, examples_of, has_examples

Column = Callable[[int], Any]
_TRIES = 60
_SCARCE = 5
_SHARED_KEY = 20
"""The number of items to generate per partition if the design does not declare it."""
_DAY_S = 86_400


class EntityGenerator:
    """Generator of objects of one entity, each with a different key."""

    def __init__(
        self, spec: EntitySpec, amount: Amount, design: Design, value_generator: ValueGenerator, owners: Owners
    ) -> None:
        self.spec, self.amount, self.value_generator, self._owners = spec, amount, value_generator, owners
        self._draws: dict[str, dict[int, float]] = {}
        self._distinguishing_field = _distinguishing_field(spec, owners, amount.count)
        decided = {name: self._restricted_column(stored) for name, stored in spec.fields.items()}
        self._value_makers = {name: column or self._free_column(name) for name, column in decided.items()}
        self._free_fields = frozenset(name for name, column in decided.items() if column is None)
        self._columns = {name: self._column(stored) for name, stored in spec.fields.items()}
        self._sizer = SizeAdjuster(spec, amount, design, value_generator, owners)
        self.keys = Keys(spec, amount.count, self._key)
        self._references = References(spec, (), frozenset(), value_generator.random)
        self._next_number = 0
        self._keys: set[str] = set()

    def use_references_to(self, referenced_keys: Sequence[Keys]) -> None:
        """Generate only existing keys for fields that refer to other entities. `referenced_keys` are the keys of these
        entities.
        """
        fixed = (
            self._free_fields if has_examples(self.spec.model) else frozenset[str]()
        )  # examples keep values together
        self._references = References(self.spec, referenced_keys, fixed, self.value_generator.random)
        self._sizer.exclude(self._references.names)

    @property
    def _examples(self) -> Sequence[BaseModel]:
        return examples_of(self.spec.model)

    def make(self) -> Entity:
        """Return a new entity object. Raises SampleError if no valid object with a new key is found."""
        number = self._next_number
        self._next_number += 1
        reason: Exception | None = None
        for attempt in range(_TRIES):
            try:
                entity = self._sizer.resize_item(self._build(number, attempt), number)
                key = repr(item_builder(self.spec).key(entity.__dict__))
            except (ValueError, TypeError, MissingField) as error:
                reason = error
                continue
            if key not in self._keys:
                self._keys.add(key)
                return entity
            reason = None
        reason_text = (
            "its fields have too few declared values for so many unique keys" if reason is None else str(reason)
        )
        raise SampleError(f"{self.spec.name} number {number + 1} cannot be generated: {reason_text}")

    def value(self, name: str) -> Any:
        """Return a generated value for a field of a new object. For an optional field, some of the values are None."""
        number = self._next_number
        self._next_number += 1
        return self._columns[name](number)

    def required_value(self, name: str) -> Any:
        """Return a generated value for a field of a new object. The value is never None, even if the field
        is optional.
        """
        number = self._next_number
        self._next_number += 1
        return self._value_makers[name](number)

    def make_all(self) -> Iterator[Entity]:
        """Generate and yield all objects of the entity. Their number is `amount.count`."""
        return (self.make() for _ in range(self.amount.count))

    def _build(self, number: int, attempt: int) -> Entity:
        """Generate the entity object with this number.

        The first attempt uses the key that other entities refer to. Later attempts use values beyond the declared
        number of values, because all keys with declared values may already exist.
        """
        if self._examples:
            values = self._values_from_example(number)
        else:
            values = {name: column(number) for name, column in self._columns.items()}
        planned_key = self.keys.at(number) if attempt == 0 and self.keys.is_referenced else {}
        counted_fields = [name for name in self.spec.key.fields if name in self.amount.values]
        if attempt <= _TRIES // 2:
            values = self._references.resolve({**values, **planned_key}, number, fixed=planned_key)
        elif counted_fields:
            values[counted_fields[0]] = self._distinct_column(counted_fields[0])(
                self.amount.values[counted_fields[0]] + number
            )
        return self.spec.model.model_validate(values, by_name=True)

    def _key(self, number: int) -> dict[str, Any]:
        """Return the key fields of the entity object with this number."""
        names = dict.fromkeys([*self.spec.key.fields, *self._references.names])
        values = self._references.resolve({name: self._columns[name](number) for name in names}, number)
        return {name: values[name] for name in self.spec.key.fields}

    def _values_from_example(self, number: int) -> dict[str, Any]:
        """Return field values for a new object from one of the model's examples, so that their combination is
        realistic.

        Values of key fields, and values whose number or shares are declared, take precedence over the values of the
        example.
        """
        declared_values = {
            name: make(number) for name, make in self._value_makers.items() if name not in self._free_fields
        }
        choices = [name for name in declared_values if has_choices(self.spec.fields[name])]
        matching_examples = [
            example
            for example in self._examples
            if all(getattr(example, name) == declared_values[name] for name in choices)
        ]
        example = self.value_generator.random.choice(matching_examples or self._examples)
        values = {name: getattr(example, name) for name in self.spec.fields}
        unwritten = [name for name, stored in self.spec.fields.items() if stored.write_time and values[name] is None]
        values.update({name: self._columns[name](number) for name in unwritten})
        return {**values, **{name: value for name, value in declared_values.items() if values[name] is not None}}

    # One column per field.

    def _column(self, stored: StoredField) -> Column:
        make = self._value_makers[stored.name]
        name = stored.name
        if not stored.optional or name in self.spec.key.fields:
            return make
        # Without a declaration, items are assumed to be in their indexes; other optional fields exist in half of the
        # items.
        default_share = 1.0 if any(name in bound.fields for bound in self.spec.indexes) else 0.5
        share = default_share if self.spec.volume is None else self.spec.volume.present.get(name, default_share)
        # If an index requires it, the first item has a field that few items have, and the second item does not have a
        # field that nearly every item has. Otherwise, queries might not find any items.
        is_index_condition = any(name == path.field for bound in self.spec.indexes for path in paths_of(bound.only_if))
        presence = {0: True} if 0 < share * self.amount.count < _SCARCE else {}
        if is_index_condition and 0 < (1 - share) * self.amount.count < _SCARCE:
            presence[1] = False
        draw = self._draw_of(name)
        return lambda number: make(number) if presence.get(number, draw(number) < share) else None

    def _draw_of(self, name: str) -> Callable[[int], float]:
        """Return a function that maps an item's number to a random number, which decides whether an optional field is
        None.

        All optional fields of an index key use the same random number for an item. Fields that are filled equally often
        are therefore present in the same items.
        """
        chance, fields = self.value_generator.random, self.spec.fields
        for bound in self.spec.indexes:
            if name in bound.fields and sum(fields[field].optional for field in bound.fields) > 1:
                draws = self._draws.setdefault(bound.text, {})
                return lambda number: draws.setdefault(number, chance.random())
        return lambda _number: chance.random()

    def _restricted_column(self, stored: StoredField) -> Column | None:
        """Return a generator of a field's values if the design restricts them, or None if any value of the type is
        possible.
        """
        spec, name, value_generator = self.spec, stored.name, self.value_generator
        if stored.type_code == "N" and any(ttl.attribute == stored.attribute for ttl in spec.schema.ttls):
            return _expiry(stored, value_generator)
        if name == spec.version:
            return lambda _number: 1
        if any(name == self._distinctive_field(rule.fields) for rule in spec.uniques):
            return self._distinct_column(name)
        column = self._declared_column(name) or self._key_column(name)
        if column is None and any(name in bound.fields for bound in (spec.key, *spec.indexes)):
            return lambda _number: value_generator.field(spec.model, name)
        return column

    def _distinctive_field(self, names: Sequence[str]) -> str:
        """Return the field that gets a different value in each item, so that a unique constraint on the fields in
        `names` is satisfied.

        This is the last field without declared values or choices or, if all fields have them, the last field.
        """
        declared = {} if self.spec.volume is None else self.spec.volume.distinct
        free = [name for name in names if name not in declared and not has_choices(self.spec.fields[name])]
        return (free or names)[-1]

    def _free_column(self, name: str) -> Column:
        """Return a function that generates values of a field's type, or chooses one of the values in the model's
        examples.
        """

        def make(_number: int) -> Any:
            values = [value for example in self._examples if (value := getattr(example, name)) is not None]
            return (
                self.value_generator.random.choice(values)
                if values
                else self.value_generator.field(self.spec.model, name)
            )

        return make

    def _distinct_column(self, name: str) -> Column:
        row, fits = self._value_sequence(name), self._encoding_test(name)
        return lambda number: self.value_generator.nth(*row, number, fits)

    def _mostly_distinct_column(self, name: str) -> Column:
        """Return a generator of different values for a field. If the type has too few values, values are repeated, and
        other key fields distinguish the items.
        """
        row, fits = self._value_sequence(name), self._encoding_test(name)
        return lambda number: self.value_generator.up_to(*row, number, fits)

    def _value_sequence(self, name: str) -> tuple[type[BaseModel], str]:
        """Return the model and the field whose value sequence supplies the values for a field.

        Usually, these are the entity's own model and the field itself. If the field refers to a key field with a
        different name, they are the model and key field of the other entity, so that the values match.
        """
        owner = self._owners.get(name)
        if owner is None or name in owner[0].fields or not same_type(owner[0], self.spec.fields[name]):
            return self.spec.model, name
        return owner[0].model, owner[0].key.fields[0]

    def _encoding_test(self, name: str) -> Callable[[Any], bool]:
        """Return a function that returns True if all keys that contain the field can encode a value."""
        parts = [part for bound in (self.spec.key, *self.spec.indexes) for part in bound.attributes]
        placeholders = [
            placeholder
            for part in parts
            if part.template
            for placeholder in part.template.placeholders
            if placeholder.name == name
        ]

        def fits(value: Any) -> bool:
            try:
                return all(placeholder.encode(value) is not None for placeholder in placeholders)
            except ValueError:
                return False

        return fits

    def _choice_column(self, name: str, count: int, hottest: float | None = None) -> Column:
        """Return a generator that chooses one of `count` values. If `hottest` is given, it is the share of the first
        value.
        """
        chance, row, fits = self.value_generator.random, self._value_sequence(name), self._encoding_test(name)

        def pick(_number: int) -> Any:
            if hottest is not None and chance.random() < hottest:
                return self.value_generator.nth(*row, 0, fits)
            lowest = 1 if hottest is not None and count > 1 else 0
            return self.value_generator.up_to(*row, chance.randrange(lowest, max(lowest + 1, count)), fits)

        return pick

    def _declared_column(self, name: str) -> Column | None:
        declared = None if self.spec.volume is None else self.spec.volume.distinct.get(name)
        if isinstance(declared, Mapping):
            shuffled = self._shuffled(declared)
            return lambda number: shuffled[number % len(shuffled)]
        if name not in self.amount.values:
            return None
        count = self.amount.values[name]
        if self.spec.key.fields == (name,):
            return self._distinct_column(name)
        unit_s = self._unit_s(name)
        if unit_s is not None:
            return lambda _number: self.value_generator.timestamp_within(unit_s * count)
        hottest = declared.hottest if isinstance(declared, Distinct) else None
        # With few values, an even share may exceed the declared share of the hottest value.
        is_hotter = hottest is not None and hottest * count > 1
        return self._choice_column(name, count, hottest if is_hotter else None)

    def _unit_s(self, name: str) -> int | None:
        """Return the length in seconds of the period, such as an hour or a day, to which a partition key truncates the
        datetime field `name`. Return None for other fields.
        """
        if self.spec.fields[name].annotation is not datetime:
            return None
        parts = [part for bound in (self.spec.key, *self.spec.indexes) for part in bound.partition]
        placeholders = [
            placeholder for part in parts if part.template is not None for placeholder in part.template.placeholders
        ]
        return next(
            (
                PERIODS_S[placeholder.spec]
                for placeholder in placeholders
                if placeholder.name == name and placeholder.spec in PERIODS_S
            ),
            None,
        )

    def _shuffled(self, shares: Mapping[object, float]) -> list[object]:
        """Return a list in random order that contains each value as often as its share requires, but at least once."""
        total = sum(shares.values())
        count = max(1, self.amount.count)
        shuffled = [value for value, share in shares.items() for _ in range(max(1, round(share / total * count)))]
        self.value_generator.random.shuffle(shuffled)
        return shuffled

    def _key_column(self, name: str) -> Column | None:
        """Return a generator of values for a field that is part of a key or refers to another entity.

        Return None for other fields, and for fields whose type has a fixed set of values.
        """
        stored = self.spec.fields[name]
        if has_choices(stored):
            return None
        key = self.spec.key.fields
        if name == self._distinguishing_field:
            if any(has_choices(self.spec.fields[other]) for other in key if other != name):
                return self._choice_column(
                    name, max(1, self.amount.count * 3 // 4)
                )  # another key field has few choices
            return self._distinct_column(name) if key == (name,) else self._mostly_distinct_column(name)
        owner = self._owners.get(name)
        if owner is not None and owner[0] is not self.spec and same_type(owner[0], stored):
            return self._choice_column(name, max(1, owner[1]))
        in_index = any(name in part.fields for bound in self.spec.indexes for part in bound.partition)
        if in_index and name not in key and is_own_id(self.spec, name):
            return self._mostly_distinct_column(name)
        if name in key or in_index:
            return self._choice_column(name, max(1, self.amount.count // _SHARED_KEY))
        return None


def has_choices(stored: StoredField) -> bool:
    """Return True if the type of a field has a fixed set of values: bool, Literal or Enum."""
    field_type = stored.annotation
    return (
        get_origin(field_type) is Literal
        or field_type is bool
        or (isinstance(field_type, type) and issubclass(field_type, Enum))
    )


def _expiry(stored: StoredField, value_generator: ValueGenerator) -> Column:
    if stored.annotation is datetime:
        return lambda _number: value_generator.expiry()
    return lambda _number: int(value_generator.expiry().timestamp())


def _distinguishing_field(spec: EntitySpec, owners: Owners, count: int) -> str | None:
    """Return the key field that gets a different value in each item, or None if no field is suitable.

    The last suitable key field is chosen. Fields with choices, fields with a declared number of values, and fields that
    refer to other entities (`owners`) are not suitable, unless the key has only one field.
    """
    if len(spec.key.fields) == 1:
        return spec.key.fields[0]
    declared = {} if spec.volume is None else spec.volume.distinct
    free = [
        name
        for name in reversed(spec.key.fields)
        if name not in declared
        and not has_choices(spec.fields[name])
        and (name not in owners or owners[name][0] is spec or not same_type(owners[name][0], spec.fields[name]))
    ]
    return next((name for name in free if _has_values(spec.fields[name], count)), free[0] if free else None)


def _has_values(stored: StoredField, count: int) -> bool:
    """Return True if the bounds of a field allow at least `count` different values."""
    declared = stored.declared
    return declared.minimum is None or declared.maximum is None or declared.maximum - declared.minimum >= count - 1


def generators(design: Design, total: int, value_generator: ValueGenerator) -> dict[EntitySpec, EntityGenerator]:
    """Return a generator for each entity of a design, for about `total` items overall."""
    by_spec = amounts(design, total)
    by_name = {
        spec: EntityGenerator(spec, amount, design, value_generator, owners_of(spec, by_spec))
        for spec, amount in by_spec.items()
    }
    for spec, referenced in referenced_specs({spec: amount.count for spec, amount in by_spec.items()}).items():
        by_name[spec].use_references_to([by_name[spec].keys for spec in referenced])
    return by_name
