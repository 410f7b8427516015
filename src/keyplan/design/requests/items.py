"""Builders of items and keys in requests, including index keys and the discriminator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Literal

from keyplan.design.conditions.evaluation import holds
from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.fields.annotations import AttributeValue
from keyplan.design.fields.compiled import item_encoder
from keyplan.design.fields.stored import StoredField, decode_value, round_down
from keyplan.design.keys.encodings import KeyPartError, MissingField
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.design.keys.placeholders import BoundPlaceholder, Text
from keyplan.design.keys.templates import BoundTemplate, compile_key
from keyplan.design.parameters import WRITE_TIME, Each, EveryShard
from keyplan.design.planning.plan import KeySelection, KeyValue
from keyplan.design.requests.writer import WALK_VALUE, Arguments, Reader, ValueMaker, all_values, is_argument, reader

Item = dict[str, AttributeValue]
Values = Mapping[str, Any]


class ItemBuilder:
    """Builder that converts the objects of an entity to items."""

    def __init__(self, spec: EntitySpec) -> None:
        self.spec = spec
        key_only_fields, parts = spec.key_only_fields, spec.key.attributes
        texts = [(part.attribute, part.template.render) for part in parts if part.template is not None]
        texts = texts if len(texts) == len(parts) else []
        self._encode = item_encoder(
            [field for field in spec.fields.values() if field.name not in key_only_fields], texts
        )
        self._key = [(part.attribute, key_attribute_maker(part)) for part in parts]
        self._other_key = [] if texts else self._key
        self._indexes = [EntityIndexKey(bound_key, spec) for bound_key in spec.indexes]
        self._indexes = [index_maker for index_maker in self._indexes if index_maker.attribute_makers]
        attribute = spec.schema.discriminator
        is_used = any(field.attribute == attribute for field in spec.fields.values())
        self._discriminator = None if attribute is None or is_used else attribute
        self._is_encoded = not (self._other_key or self._indexes or self._discriminator)

    def item(self, entity: Entity, overrides: Values | None = None) -> Item:
        """Return the item for an object. The field values in `overrides` replace those of the object."""
        values: Values = {**entity.__dict__, **overrides} if overrides else entity.__dict__
        if self._is_encoded:
            return self._encode(values)
        item: Item = self._encode(values)
        for attribute, make in self._other_key:
            attributes = make(values)
            if attributes is not None:
                item[attribute] = attributes
        for index in self._indexes:
            index.add_to(item, values)
        if self._discriminator is not None:
            item[self._discriminator] = {"S": self.spec.name}
        return item

    def key(self, values: Values) -> Item:
        """Return the primary key for these field values."""
        return {attribute: make(values) or {} for attribute, make in self._key}


class ComputedFields:
    """The fields whose values are computed when a whole item is written: the version, and the fields declared with
    Created() and Updated().
    """

    def __init__(self, spec: EntitySpec, *, exists: Literal["must", "must_not", "may"], counts: bool = True) -> None:
        """Determine which fields of an entity are computed.

        `exists` states whether the item must exist, as in `Plan.exists`. If `counts` is True, the version is
        incremented, except for an item that must not exist.
        """
        self._version = spec.version
        self._counts = counts and exists != "must_not"
        self._times = [(name, spec.fields[name].stored) for name in spec.write_times("updated")]
        created_fields = [(name, spec.fields[name].stored) for name in spec.write_times("created")]
        self._times_if_none = [] if exists == "must_not" else created_fields
        self._times += [] if self._times_if_none else created_fields
        self.has_fields = bool(self._version is not None or self._times or self._times_if_none)
        """Whether any field is computed."""
        self._time = reader(WRITE_TIME)

    def values(self, entity: Entity, arguments: Arguments) -> dict[str, Any]:
        """Return the values to store in the computed fields when an object is written."""
        computed: dict[str, Any] = {}
        if self._version is not None:
            version = int(getattr(entity, self._version))
            # A new item without a version gets version 1.
            computed[self._version] = version + 1 if self._counts else version or 1
        if self._times or self._times_if_none:
            time = self._time(arguments)
            for name, unit in self._times:
                computed[name] = round_down(unit, time)
            for name, unit in self._times_if_none:
                if getattr(entity, name) is None:
                    computed[name] = round_down(unit, time)
        return computed


def check_model(pattern: str, spec: EntitySpec, entity: object) -> None:
    """Raise TypeError unless an object is an instance of the entity that the pattern writes."""
    if type(entity) is not spec.model and not isinstance(entity, spec.model):
        raise TypeError(f"{pattern} expects {spec.name}, got {entity!r}")


_SETS = frozenset({set, frozenset})


def key_attribute_maker(part: BoundKeyAttribute) -> Callable[[Values], AttributeValue | None]:
    """Return a function that builds a key attribute from field values. The function returns None if a stored field has
    no value.
    """
    if part.template is not None:
        render = part.template.render
        return lambda values: {"S": render(values)}
    field = part.field
    assert field is not None, "a key attribute is made by a template or a field"
    return stored_value_maker(field)


def stored_value_maker(field: StoredField) -> Callable[[Values], AttributeValue | None]:
    """Return a function that encodes a field's value. The function returns None if the field has no value."""
    name, encode = field.name, field.encode

    def make(values: Values) -> AttributeValue | None:
        value = values.get(name)
        return None if value is None else encode(value)

    return make


class EntityIndexKey:
    """The key of an entity in one index: its attributes, and the condition under which an item is in the index."""

    def __init__(self, bound_key: BoundKey, spec: EntitySpec) -> None:
        self.fields, self._only_if = bound_key.fields, bound_key.only_if
        self.attribute_makers = [
            (part.attribute, key_attribute_maker(part)) for part in spec.index_only_attributes(bound_key)
        ]
        """The attributes that exist only for the index key, each with the function that computes its value."""

    def holds(self, values: Values) -> bool:
        """Return True if an item with these field values is in the index."""
        for name in self.fields:
            if values.get(name) is None:
                return False
        return holds(self._only_if, values) is True

    def add_to(self, item: Item, values: Values) -> None:
        """Add the index key attributes to an item if the field values satisfy the index condition."""
        if self.holds(values):
            for attribute, make in self.attribute_makers:
                value = make(values)
                if value is not None:
                    item[attribute] = value


def absent_as_none(value: object) -> object:
    """Return None for an empty set, which is stored as an absent attribute. Return other values unchanged."""
    return None if value.__class__ in _SETS and not value else value


@lru_cache(maxsize=4096)
def item_builder(spec: EntitySpec) -> ItemBuilder:
    """Return the cached item builder for an entity."""
    return ItemBuilder(spec)


Encode = Callable[[Any], AttributeValue]


def key_value_maker(value: KeyValue) -> ValueMaker:
    """Return a function that computes the value of a key attribute from the arguments of a call."""
    if any(isinstance(source, EveryShard) for source in value.sources.values()):
        return lambda arguments: {"S": arguments[WALK_VALUE]}
    if value.field is not None:
        encode = value.field.encode_rounded_up if value.part == "rounded_up" else value.field.encode
        return _stored_key_value(value.field, encode, reader(value.sources[value.field.name]))
    template = value.template
    assert template is not None, "a key attribute is made by a template or a field"
    text = _TEXTS[value.part](template)
    text_of_argument = _argument_text(value)
    if text_of_argument is not None:
        return lambda arguments: {"S": text_of_argument(arguments)}
    reads = [(name, reader(source)) for name, source in value.sources.items()]

    def make(arguments: Arguments) -> AttributeValue:
        values = {name: read(arguments) for name, read in reads}
        if None in values.values():  # a prefix or bound would silently end before the field
            raise MissingField(next(name for name, value in values.items() if value is None), template.text)
        return {"S": text(values)}

    return make


def _stored_key_value(field: StoredField, encode: Encode, read: Reader) -> ValueMaker:
    code, name = field.type_code, field.name

    def make(arguments: Arguments) -> AttributeValue:
        value = read(arguments)
        if value is None:
            raise MissingField(name)
        encoded = encode(value)
        if code not in encoded:
            raise KeyPartError(name, value, f"it is stored as {next(iter(encoded))}, but the key is of type {code}")
        if encoded[code] in {"", b""}:
            raise KeyPartError(name, value, "it is empty, and DynamoDB rejects empty keys")
        return encoded

    return make


def _begins_with_text(template: BoundTemplate) -> Callable[[Mapping[str, Any]], str]:
    """Return a function that renders a key prefix from field values.

    The last value can be the start of a field's string.
    """

    def text(values: Mapping[str, Any]) -> str:
        pieces: list[str] = []
        last = max(number for number, part in enumerate(template.parts) if getattr(part, "name", None) in values)
        for number, part in enumerate(template.parts[: last + 1]):
            if isinstance(part, Text):
                pieces.append(part.text)
            elif number == last:
                pieces.append(prefix_text(part, values[part.name]))
            else:
                pieces.append(part.encode(values[part.name]))
        return "".join(pieces)

    return text


def prefix_text(part: BoundPlaceholder, value: Any) -> str:
    """Return the string that the last value of a key prefix contributes to the prefix.

    A str for a field of another type is used unchanged. A date for a datetime field matches all timestamps of that day.
    """
    if isinstance(value, str) and (part.field.type is not str or (part.field.choices is not None and not part.spec)):
        return value
    if type(value) is date and part.field.type is datetime and part.spec in _ISO_SPECS:
        return value.isoformat()
    return part.encode(value)


_ISO_SPECS = frozenset({"", "utc_s", "utc_ms", "utc_us"})
"""The placeholder specs that encode a timestamp as a string that starts with its date."""


_TEXTS: dict[str, Callable[[BoundTemplate], Callable[[Mapping[str, Any]], str]]] = {
    "whole": lambda template: template.render,
    "prefix": lambda template: lambda values: template.prefix(values)[0],
    "begins": _begins_with_text,
    "lower": lambda template: template.lower,
    "upper": lambda template: template.upper,
    "after": lambda template: template.after,
    "before": lambda template: template.before,
}


def item_key_maker(key: KeySelection) -> Callable[[Arguments], dict[str, AttributeValue]]:
    """Return a function that builds the primary key of one item from the arguments of a call."""
    makers = [(value.attribute, key_value_maker(value)) for value in key.values]
    texts = [
        (value.attribute, value.template)
        for value in key.values
        if value.template is not None and _argument_text(value) is not None
    ]

    def make(arguments: Arguments) -> dict[str, AttributeValue]:
        return {attribute: make_value(arguments) for attribute, make_value in makers}

    return compile_key(texts, make) if len(texts) == len(makers) else make


def _argument_text(value: KeyValue) -> Callable[[Arguments], str] | None:
    """Return a function that renders a key directly from the arguments of a call, or None if arguments cannot be used
    directly.

    They can be used directly only for a whole key whose fields have the same names as the arguments. In a prefix, an
    argument could be mistaken for a field that is not part of the prefix.
    """
    if value.template is None or value.part != "whole":
        return None
    are_arguments = all(is_argument(source, name) for name, source in value.sources.items())
    return value.template.render if are_arguments else None


def key_identity(key: Mapping[str, AttributeValue]) -> tuple[Any, ...]:
    """Return a key as a tuple of Python values, so that keys with equal Numbers, such as 1.50 and 1.5,
    compare equal.
    """
    return tuple(decode_value(value) for value in key.values())


def walk_values(key: KeySelection | None, source: object) -> Callable[[Arguments], Sequence[Any]]:
    """Return a function that accepts the arguments of a call and returns the values for which the call needs separate
    keys or requests.

    These are the values of each(...) or, for every_shard(), the partition keys of all shards.
    """
    if isinstance(source, Each):
        return all_values(source)
    assert key is not None, "only a key is walked over"
    (value,) = [
        attribute
        for attribute in key.partition
        if any(isinstance(part, EveryShard) for part in attribute.sources.values())
    ]
    template = value.template
    assert template is not None, "shards are made by a template"
    reads = [(name, reader(part)) for name, part in value.sources.items() if not isinstance(part, EveryShard)]
    return lambda arguments: template.variants({name: read(arguments) for name, read in reads})
