"""Fields of an entity as they are stored: attribute name and type, encoder, decoder and validator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from keyplan.design.annotations import (
    AttributeValue,
    DeclaredField,
    StoredAs,
    TypeCode,
    UnstorableTypeError,
    annotation_with_limits,
    type_code,
    without_none,
)
from keyplan.design.fields.attributes import (
    attribute_of,
    check_attribute,
    check_decoding_types,
    check_round_trip,
    check_union_attributes,
)
from keyplan.design.fields.values import PLAIN_DECODERS, decode_value, decoder, encoder, round_up


@dataclass(frozen=True, eq=False)
class StoredField:
    """A field of an entity, as it is stored."""

    name: str
    attribute: str
    type_code: TypeCode
    optional: bool
    """Whether it may be None: its attribute is then absent."""
    annotation: Any
    info: FieldInfo
    encode: Callable[[Any], AttributeValue]
    decode: Callable[[AttributeValue], Any]
    stored: StoredAs | None = None

    def __repr__(self) -> str:
        return f"<StoredField {self.name}: {self.type_code} {self.attribute}>"

    @cached_property
    def declared(self) -> DeclaredField:
        """Its type with its choices and limits, as templates know it."""
        return DeclaredField.of(self.name, self.info.annotation, self.info)

    def encode_up(self, value: Any) -> AttributeValue:
        """A value as stored; a moment that is finer than its unit as the next whole unit."""
        return self.encode(value if self.stored is None else round_up(self.stored, value))

    @property
    def is_needed(self) -> bool:
        """Whether an item without its attribute cannot be read: it has no default, and is not stored as nothing."""
        return self.info.is_required() and not self.optional and not self.is_set

    @property
    def is_set(self) -> bool:
        """Whether it is a set, whose attribute is absent while the set is empty."""
        return self.type_code in {"SS", "NS", "BS"}


def stored_field(name: str, info: FieldInfo, *, ttl: str | None = None) -> StoredField:
    """How a field of a model is stored; `ttl` is the table's attribute for expiry."""
    mark = attribute_of(info)
    attribute = mark.name or name
    annotation, optional = without_none(info.annotation)
    check_attribute(mark, annotation)
    if optional and not info.is_required() and info.default_factory is None and info.default is not None:
        raise UnstorableTypeError(
            f"it may be None, which is stored as nothing, and nothing is read as its default {info.default!r}",
            "give it the default None, or no None in its type",
        )
    optional = optional or annotation in {Any, object}
    stored = mark.stored
    if stored is None and attribute == ttl and annotation is datetime:
        stored = "epoch_s"
    check_decoding_types(info.annotation, info.metadata)
    code = type_code(annotation, stored)
    check_union_attributes(annotation)
    check_round_trip(annotation)
    encode, decode = encoder(annotation, stored), decoder(annotation, stored)
    return StoredField(name, attribute, code, optional, annotation, info, encode, decode, stored)


def plain_decoder(stored: StoredField) -> Callable[[Any], Any] | None:
    """What makes a field's plain value of a content of its own attribute type, where nothing else is to be done.

    The short way of `stored.decode`, which also takes other types than the declared one, for pydantic to judge.
    """
    return PLAIN_DECODERS.get(stored.type_code) if stored.decode is decode_value else None


@lru_cache(maxsize=4096)
def validator(stored: StoredField) -> Callable[[Any], Any]:
    """The value that a field's model would make of a value. Raises ValueError for what it would refuse."""
    return _validator(stored.name, annotation_with_limits(stored.info))


def amount_validator(stored: StoredField) -> Callable[[Any], Any]:
    """The same of what is added to a field: it has the field's type, and not its limits, which are the sum's."""
    return validator(stored) if stored.stored is not None else _validator(stored.name, stored.annotation)


def _validator(name: str, declared: Any) -> Callable[[Any], Any]:
    validate = TypeAdapter(declared).validate_python

    def checked(value: Any) -> Any:
        try:
            return validate(value)
        except ValidationError as error:
            problems = "; ".join(one["msg"] for one in error.errors())
            raise ValueError(f"{name}={value!r} is not what the entity takes: {problems}") from None

    return checked
