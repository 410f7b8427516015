"""Entities: pydantic models whose objects are items of a table, and what the table knows of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar, overload

from pydantic import BaseModel

from keyplan.design.fields import StoredField
from keyplan.design.given import check_text, refused, word
from keyplan.design.keys import BoundIndexKey, BoundKey, KeyAttribute, KeySpec
from keyplan.design.places import DesignError, Place
from keyplan.design.schema import Index, Schema, check_choice
from keyplan.design.workload import Items


class Entity(BaseModel):
    """Base of entities: a pydantic model, declared with `@table.entity(...)`."""

    __keyplan__: ClassVar[EntitySpec | None] = None
    __keyplan_view__: ClassVar[EntitySpec | None] = None
    """Of a view: the entity of whose items it holds some fields."""


E = TypeVar("E", bound=Entity)
Enforcement = Literal["sentinel", "index", "nothing"]


@dataclass(frozen=True)
class Unique:
    """Fields whose values no two items share.

    Held by a sentinel item in the same transaction. A design may say that it relies on an index, or on
    nothing; that is a finding, and nothing is enforced.
    """

    fields: tuple[str, ...]
    key: KeySpec | None = None
    """The sentinel's key; UNIQUE#entity#field#value when not said."""
    by: Enforcement = "sentinel"

    def __post_init__(self) -> None:
        if not self.fields or not isinstance(self.fields, tuple):
            raise refused("unique", self.fields, "no field", 'name the field whose values are unique: unique("email")')
        for name in self.fields:
            check_text("unique", name)
        if not (self.key is None or isinstance(self.key, KeySpec)):
            raise refused("key", self.key, "no key", f"write key({self.key!r})")
        check_choice("by", self.by, Enforcement)


@word
def unique(*fields: str, key: KeySpec | None = None, by: Enforcement = "sentinel") -> Unique:
    """Fields whose values, taken together, no two items share."""
    return Unique(fields, key, by)


@dataclass(frozen=True, eq=False)
class BoundUnique:
    """A unique rule of an entity, with the key of its sentinel."""

    fields: tuple[str, ...]
    key: BoundKey
    by: Enforcement


@dataclass(frozen=True, eq=False)
class EntitySpec:
    """An entity as its table knows it."""

    name: str
    model: type[Entity]
    schema: Schema
    fields: Mapping[str, StoredField]
    key: BoundKey
    indexes: tuple[BoundIndexKey, ...]
    """Its keys in the indexes that it can be in."""
    version: str | None
    """The field that counts changes."""
    uniques: tuple[BoundUnique, ...]
    found_by: tuple[tuple[str, ...], ...]
    """Fields by which the design must be able to find it."""
    items: Items | None
    store_key_fields: bool
    """Whether fields that templates hold are stored as attributes of their own too."""
    place: Place

    def __repr__(self) -> str:
        return f"<Entity {self.name} of {self.schema.name}>"

    @property
    def sentinels(self) -> tuple[BoundUnique, ...]:
        """The unique rules that are enforced."""
        return tuple(rule for rule in self.uniques if rule.by == "sentinel")

    @overload
    def key_in(self, index: None) -> BoundKey: ...
    @overload
    def key_in(self, index: Index | str) -> BoundIndexKey | None: ...
    @overload
    def key_in(self, index: Index | str | None) -> BoundKey | None: ...
    def key_in(self, index: Index | str | None) -> BoundKey | None:
        """Its key in an index, or of the table; None where it is never in the index."""
        if index is None:
            return self.key
        name = index.name if isinstance(index, Index) else index
        return next((bound for bound in self.indexes if bound.index.name == name), None)

    def made_in(self, bound: BoundKey) -> list[KeyAttribute]:
        """Attributes of an index's key that only the program sets and removes.

        Not those that are fields by themselves, which change with the field, nor the primary key's.
        """
        own = {stored.attribute for stored in self.fields.values()}
        return [
            part
            for part in bound.attributes
            if part.attribute not in self.schema.key and (part.template is not None or part.attribute not in own)
        ]

    @property
    def is_in_key_only(self) -> frozenset[str]:
        """Fields that are stored in the key's text only; one that is the key of an index is an attribute of its own."""
        if self.store_key_fields:
            return frozenset()
        templates = [part.template for part in self.key.attributes if part.template is not None]
        told = {name for template in templates if template.reversible for name in template.fields}
        parts = [part for bound in self.indexes for part in bound.attributes if part.attribute not in self.schema.key]
        return frozenset(told - {part.field.name for part in parts if part.field is not None})


def spec_of(model: type[Entity]) -> EntitySpec:
    """What the table knows of a declared entity."""
    spec = model.__dict__.get("__keyplan__")
    if not isinstance(spec, EntitySpec):
        raise TypeError(f"{model.__name__} is not declared as an entity of a table: use @table.entity(...)")
    return spec


def declare_view(model: type[Entity], of: EntitySpec, place: Place) -> None:
    """Make a class a view of an entity. Raises DesignError for other fields, and for a missing key field."""
    for name, info in model.model_fields.items():
        stored = of.fields.get(name)
        if stored is None or stored.info.annotation != info.annotation:
            known = "no such field" if stored is None else f"{name} as {stored.info.annotation!r}"
            raise DesignError(
                f"view {model.__name__} has a field {name}, and {of.name} has {known}",
                place=place,
                other=of.place,
                fix=f"declare fields of {of.name} with their names and types, or leave {name} out",
            )
    if missing := [name for name in of.key.fields if name not in model.model_fields]:
        raise DesignError(
            f"view {model.__name__} has no {', '.join(missing)}, by which the key of {of.name} is made",
            place=place,
            other=of.place,
            fix=f"add {', '.join(missing)}",
        )
    model.__keyplan_view__ = of


def whole_of(model: type[Entity]) -> type[Entity]:
    """Return the class of the entity that a class is a view of, or the class itself if it is not a view."""
    of = vars(model).get("__keyplan_view__") if isinstance(model, type) else None
    return of.model if isinstance(of, EntitySpec) else model


def spec_on(schema: Schema, model: type[Entity], place: Place) -> EntitySpec:
    """What a table knows of one of its entities. Raises DesignError where it is none of them."""
    spec = vars(model).get("__keyplan__") if isinstance(model, type) else None
    if not isinstance(spec, EntitySpec) or spec.schema is not schema:
        raise DesignError(
            f"{getattr(model, '__name__', repr(model))} is not an entity of table {schema.name}",
            place=place,
            other=spec.place if isinstance(spec, EntitySpec) else schema.place,
            fix=f"declare it with @{schema.name}.entity(...), or use the table that it belongs to",
        )
    return spec
