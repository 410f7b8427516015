"""Entities as items: fields, key attributes, index keys where the entity is in the index, the discriminator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from keyplan.design.conditions_evaluation import holds
from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.field_types import AttributeValue
from keyplan.design.fields import StoredField
from keyplan.design.keys import BoundKey, KeyAttribute

Item = dict[str, AttributeValue]
Values = Mapping[str, Any]


class ItemMaker:
    """Makes items of an entity's objects."""

    def __init__(self, spec: EntitySpec) -> None:
        self.spec = spec
        hidden = spec.is_in_key_only
        self._fields = [
            (stored.name, stored.attribute, stored.encode)
            for stored in spec.fields.values()
            if stored.name not in hidden
        ]
        self._key = [(part.attribute, key_attribute(part)) for part in spec.key.attributes]
        self._indexes = [IndexKey(bound, spec) for bound in spec.indexes]
        self._indexes = [one for one in self._indexes if one.made]
        attribute = spec.schema.discriminator
        taken = any(stored.attribute == attribute for stored in spec.fields.values())
        self._discriminator = None if attribute is None or taken else attribute

    def item(self, entity: Entity, version: int | None = None) -> Item:
        """The item of an entity's object, with this version where one is given."""
        values = entity.__dict__
        if version is not None and self.spec.version is not None:
            values = {**values, self.spec.version: version}
        item: Item = {}
        for name, attribute, encode in self._fields:
            value = values[name]
            if value is not None and not (value.__class__ in _SETS and not value):
                item[attribute] = encode(value)
        for attribute, make in self._key:
            made = make(values)
            if made is not None:
                item[attribute] = made
        for index in self._indexes:
            index.add_to(item, values)
        if self._discriminator is not None:
            item[self._discriminator] = {"S": self.spec.name}
        return item

    def key(self, values: Values) -> Item:
        """The primary key made of an entity's fields."""
        return {attribute: make(values) or {} for attribute, make in self._key}


def check_model(pattern: str, spec: EntitySpec, entity: object) -> None:
    """Refuse to write what is none of an entity's objects: of another one, its key would be made all the same."""
    if not isinstance(entity, spec.model):
        raise TypeError(f"{pattern} writes {spec.name}, and is given {entity!r}")


_SETS = frozenset({set, frozenset})


def key_attribute(part: KeyAttribute) -> Callable[[Values], AttributeValue | None]:
    """The function that makes a key attribute of field values; None where its field has none."""
    if part.template is not None:
        render = part.template.render
        return lambda values: {"S": render(values)}
    field = part.field
    assert field is not None, "a key attribute is made by a template or a field"
    return stored_value(field)


def stored_value(field: StoredField) -> Callable[[Values], AttributeValue | None]:
    """The function that gives a field as it is stored; None where it has no value."""
    name, encode = field.name, field.encode

    def make(values: Values) -> AttributeValue | None:
        value = values.get(name)
        return None if value is None else encode(value)

    return make


class IndexKey:
    """An entity's key of one index: who is in it, and with which attributes."""

    def __init__(self, bound: BoundKey, spec: EntitySpec) -> None:
        self.fields, self._when = bound.fields, bound.when
        self.made = [(part.attribute, key_attribute(part)) for part in spec.made_in(bound)]
        """The attributes that are not fields, nor the primary key's, and how each is made."""

    def holds(self, values: Values) -> bool:
        """Whether an entity with these values is in the index."""
        for name in self.fields:
            if values.get(name) is None:
                return False
        return holds(self._when, values) is True

    def add_to(self, item: Item, values: Values) -> None:
        """Add the key's attributes to an item that is in the index."""
        if self.holds(values):
            for attribute, make in self.made:
                made = make(values)
                if made is not None:
                    item[attribute] = made


def stored_as(value: object) -> object:
    """None for what is not stored at all."""
    return None if value.__class__ in _SETS and not value else value


@lru_cache(maxsize=4096)
def maker_of(spec: EntitySpec) -> ItemMaker:
    """The maker of an entity's items, made once."""
    return ItemMaker(spec)
