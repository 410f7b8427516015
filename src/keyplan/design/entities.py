"""Entities: pydantic models of items, and their binding to a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast, overload

from pydantic import BaseModel

from keyplan.design.arguments import check_text, checked_call, invalid_option
from keyplan.design.errors import DesignError, Place, calling_place
from keyplan.design.fields.annotations import UnstorableTypeError, WriteEvent, check_alias
from keyplan.design.fields.stored import StoredField, stored_field
from keyplan.design.keys.entity_keys import (
    BoundIndexKey,
    BoundKey,
    BoundKeyAttribute,
    KeySpec,
    bind_key,
    bind_stored_key,
    find_index,
    unknown_field_error,
)
from keyplan.design.keys.placeholders import is_text
from keyplan.design.schema import Index, Schema, check_choice
from keyplan.design.workload import Volume


class ReadModel(BaseModel):
    """Base class of the models that reads return: entities and views."""


class Entity(ReadModel):
    """Base class of entities: pydantic models declared with `@table.entity(...)`."""

    __keyplan__: ClassVar[EntitySpec | None] = None


E = TypeVar("E", bound=Entity)


class View(ReadModel, Generic[E]):
    """Base class of views. A view contains a subset of an entity's fields, for reads that do not need all of them.

    `class TaskTitle(View[Task])` declares the key fields of `Task` and other fields with the same names and types as in
    `Task`. Reads accept a view instead of its entity and return instances of the view. Raises DesignError for a field
    that the entity does not have, and for a missing key field.
    """

    __keyplan_view__: ClassVar[EntitySpec | None] = None

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Check the fields of a view when its class is created."""
        super().__pydantic_init_subclass__(**kwargs)
        if cls.__pydantic_generic_metadata__["origin"] is None:
            cls.__keyplan_view__ = _viewed_spec(cls, calling_place())


Enforcement = Literal["sentinel", "index", "nothing"]
OWNER = "keyplan:owner"
"""The attribute of a guard item that contains the key of the item for which the guard item reserves a unique value."""


@dataclass(frozen=True)
class Unique:
    """A unique constraint on fields.

    With `by="sentinel"`, each write of the item also writes a guard item that reserves the unique value, in the same
    transaction. With "index" or "nothing", the constraint is not enforced, and `keyplan check` reports it.
    """

    fields: tuple[str, ...]
    key: KeySpec | None = None
    """The key of the guard item. The default is UNIQUE#entity#field#value."""
    by: Enforcement = "sentinel"

    def __post_init__(self) -> None:
        if not self.fields or not isinstance(self.fields, tuple):
            raise invalid_option(
                "unique", self.fields, "not a list of fields", 'name the field whose values are unique: unique("email")'
            )
        for name in self.fields:
            check_text("unique", name)
        if not (self.key is None or isinstance(self.key, KeySpec)):
            raise invalid_option("key", self.key, "not a key", f"write key({self.key!r})")
        check_choice("by", self.by, Enforcement)


@checked_call
def unique(*fields: str, key: KeySpec | None = None, by: Enforcement = "sentinel") -> Unique:
    """Declare fields whose combined values must be unique.

    `by` selects how the constraint is enforced (see `Unique`). `key` is the key of the guard item that reserves the
    unique value.
    """
    return Unique(fields, key, by)


@dataclass(frozen=True, eq=False)
class BoundUnique:
    """A unique constraint of an entity, with the key of the guard item that enforces it."""

    fields: tuple[str, ...]
    key: BoundKey
    by: Enforcement


@dataclass(frozen=True, eq=False)
class EntitySpec:
    """The specification of an entity, bound to its table."""

    name: str
    model: type[Entity]
    schema: Schema
    fields: Mapping[str, StoredField]
    key: BoundKey
    indexes: tuple[BoundIndexKey, ...]
    """The entity's keys in the indexes that can contain its items."""
    version: str | None
    """The name of the field that counts the changes to an item."""
    uniques: tuple[BoundUnique, ...]
    found_by: tuple[tuple[str, ...], ...]
    """The fields, or combinations of fields, by which the design must be able to find items."""
    volume: Volume | None
    store_key_fields: bool | tuple[str, ...]
    """Which fields of the primary key templates are also stored as separate attributes: all (True), none (False), or
    the named fields.
    """
    place: Place
    siblings: Sequence[EntitySpec] = ()
    """All entities of the table, including those declared later."""

    def __repr__(self) -> str:
        return f"<Entity {self.name} of {self.schema.name}>"

    @property
    def expiry_attribute(self) -> str | None:
        """The attribute that contains the expiry time of the entity's items, or None if they do not expire."""
        ttl = self.schema.ttl
        return ttl if any(field.attribute == ttl for field in self.fields.values()) else None

    @property
    def checked_expiry(self) -> str | None:
        """The expiry attribute that reads and write conditions check, or None if they do not check expiry.

        Always None for a table declared with `literal`.
        """
        return None if self.schema.literal else self.expiry_attribute

    def write_times(self, event: WriteEvent) -> tuple[str, ...]:
        """Return the names of the fields that store the time of an event: the creation or the last write of an item."""
        return tuple(name for name, field in self.fields.items() if field.write_time == event)

    @cached_property
    def sentinels(self) -> tuple[BoundUnique, ...]:
        """The unique constraints that are enforced by guard items. Each guard item reserves one unique value."""
        return tuple(rule for rule in self.uniques if rule.by == "sentinel")

    @overload
    def key_in(self, index: None) -> BoundKey: ...
    @overload
    def key_in(self, index: Index | str) -> BoundIndexKey | None: ...
    @overload
    def key_in(self, index: Index | str | None) -> BoundKey | None: ...
    def key_in(self, index: Index | str | None) -> BoundKey | None:
        """Return the entity's key in an index, or in the table if `index` is None.

        Return None if the index never contains items of the entity.
        """
        if index is None:
            return self.key
        name = index.name if isinstance(index, Index) else index
        return next((bound_key for bound_key in self.indexes if bound_key.index.name == name), None)

    def index_only_attributes(self, bound_key: BoundKey) -> list[BoundKeyAttribute]:
        """Return the attributes of an index key that neither store a field nor belong to the primary key.

        Such attributes exist only for the index.
        """
        field_attributes = {field.attribute for field in self.fields.values()}
        return [part for part in bound_key.attributes if part.attribute not in field_attributes.union(self.schema.key)]

    @property
    def key_only_fields(self) -> frozenset[str]:
        """The fields that are stored only as part of a primary key string, without a separate attribute."""
        if self.store_key_fields is True:
            return frozenset()
        templates = [part.template for part in self.key.attributes if part.template is not None]
        restored = {name for template in templates if template.reversible for name in template.fields}
        parts = [
            part for bound_key in self.indexes for part in bound_key.attributes if part.attribute not in self.schema.key
        ]
        return frozenset(
            restored - {part.field.name for part in parts if part.field is not None} - self.stored_key_fields
        )

    @property
    def stored_key_fields(self) -> frozenset[str]:
        """The fields of primary key templates that are also stored as separate attributes."""
        return frozenset(self.store_key_fields if isinstance(self.store_key_fields, tuple) else ())


def spec_of(model: type[Entity]) -> EntitySpec:
    """Return the specification of a declared entity. Raises TypeError for an undeclared class."""
    spec = model.__dict__.get("__keyplan__")
    if not isinstance(spec, EntitySpec):
        raise TypeError(f"{model.__name__} is not declared as an entity of a table: use @table.entity(...)")
    return spec


def _viewed_spec(model: type[View[Any]], place: Place) -> EntitySpec:
    """Return the specification of a view's entity. Raises DesignError if the view is invalid."""
    name = model.__name__
    classes = [base.__pydantic_generic_metadata__ for base in model.__mro__ if issubclass(base, View)]
    entity = next((base["args"][0] for base in classes if base["origin"] is View), None)
    spec = vars(entity).get("__keyplan__") if isinstance(entity, type) else None
    if not isinstance(spec, EntitySpec):
        entity_name = getattr(entity, "__name__", repr(entity))
        raise DesignError(
            f"view {name} does not name an entity"
            if entity is None
            else f"view {name} is declared for {entity_name}, which is not an entity",
            place=place.at(f"class {name}"),
            fix=f"name a class declared with @table.entity(...) above the view: class {name}(View[Task])",
        )
    if not model.__pydantic_complete__:
        raise DesignError(
            f"the annotations of view {name} cannot be read: a name in them is not defined",
            place=place.at(f"class {name}"),
            fix="define or import the names before the class, and not under TYPE_CHECKING",
        )
    for field_name, info in model.model_fields.items():
        entity_field = spec.fields.get(field_name)
        if entity_field is None or entity_field.info.annotation != info.annotation:
            field_text = (
                "no such field" if entity_field is None else f"{field_name} as {entity_field.info.annotation!r}"
            )
            raise DesignError(
                f"view {name} has a field {field_name}, but {spec.name} has {field_text}",
                place=place.at(f"{field_name}:", width=len(field_name)),
                other=spec.place,
                fix=f"declare fields of {spec.name} with their names and types, or leave {field_name} out",
            )
    if missing := [field_name for field_name in spec.key.fields if field_name not in model.model_fields]:
        raise DesignError(
            f"view {name} is missing {', '.join(missing)}, which the key of {spec.name} contains",
            place=place.at(f"class {name}"),
            other=spec.place,
            fix=f"add {', '.join(missing)}",
        )
    return spec


def view_of(model: object) -> type[View[Any]] | None:
    """Return `model` if it is a view. Otherwise, return None."""
    return model if isinstance(model, type) and issubclass(model, View) else None


def viewed_entity(model: type[ReadModel]) -> type[Entity]:
    """Return the entity class of a view, or the class itself if it is not a view."""
    view = view_of(model)
    spec = None if view is None else view.__keyplan_view__
    return cast("type[Entity]", model) if spec is None else spec.model


def spec_in_schema(schema: Schema, model: type[Entity], place: Place) -> EntitySpec:
    """Return the specification of an entity. Raises DesignError if the entity is not declared on the schema's table."""
    spec = vars(model).get("__keyplan__") if isinstance(model, type) else None
    if not isinstance(spec, EntitySpec) or spec.schema is not schema:
        raise DesignError(
            f"{getattr(model, '__name__', repr(model))} is not an entity of table {schema.name}",
            place=place,
            other=spec.place if isinstance(spec, EntitySpec) else schema.place,
            fix=f"declare it with @{schema.name}.entity(...), or use the table that it belongs to",
        )
    return spec


def bind_entity(
    model: type[Entity],
    schema: Schema,
    *,
    key: KeySpec | None,
    indexes: Mapping[str, KeySpec],
    version: str | None,
    uniques: Sequence[str | Unique],
    found_by: Sequence[str | tuple[str, ...]],
    volume: Volume | None,
    name: str | None,
    store_key_fields: bool | tuple[str, ...],
    place: Place,
    siblings: Sequence[EntitySpec],
) -> EntitySpec:
    """Bind an entity class to a table and return its specification.

    Raises DesignError if the declaration is invalid.
    """
    _check_model(model, place)
    for option, spec in (("key", key), *((f'indexes["{name}"]', names) for name, names in indexes.items())):
        if not (spec is None or isinstance(spec, KeySpec)):
            raise DesignError(f"{option}={spec!r} is not a key", place=place, fix=f"write key({spec!r})")
    if not (volume is None or isinstance(volume, Volume)):
        raise DesignError(f"volume={volume!r} is not a Volume", place=place, fix="write volume=Volume(count=...)")
    entity_name = name or model.__name__
    fields = _fields(model, schema, place)
    bound_key = _bind_primary_key(model, schema, key, fields, place, store_key_fields=store_key_fields)
    for index_name in indexes:
        find_index(schema, index_name, place)
    _check_version(version, fields, model, place)
    _check_write_times(fields, bound_key, model)
    lookups = tuple((names,) if isinstance(names, str) else names for names in found_by)
    for field_name in (part for names in lookups for part in names):
        _check_field(field_name, fields, model, place)
    return EntitySpec(
        name=entity_name,
        model=model,
        schema=schema,
        fields=fields,
        key=bound_key,
        indexes=tuple(_bind_index_keys(schema, indexes, fields, model, bound_key)),
        version=version,
        uniques=tuple(
            _bind_unique(rule, entity=entity_name, schema=schema, fields=fields, model=model, place=place)
            for rule in uniques
        ),
        found_by=lookups,
        volume=volume,
        store_key_fields=store_key_fields,
        place=place,
        siblings=siblings,
    )


def _check_model(model: type[Entity], place: Place) -> None:
    if not (isinstance(model, type) and issubclass(model, Entity)):
        name = getattr(model, "__name__", repr(model))
        raise DesignError(f"{name} is not an Entity", place=place, fix=f"derive it from Entity: class {name}(Entity)")
    if not model.__pydantic_complete__:
        raise DesignError(
            f"the annotations of {model.__name__} cannot be read: a name in them is not defined",
            place=place.at(f"class {model.__name__}"),
            fix="define or import the names before the class, and not under TYPE_CHECKING",
        )
    spec = model.__dict__.get("__keyplan__")
    if isinstance(spec, EntitySpec):
        raise DesignError(
            f"{model.__name__} is already an entity of table {spec.schema.name}",
            place=place,
            other=spec.place,
            fix="make a subclass for the other table",
        )
    if model.model_config.get("extra") == "allow":
        raise DesignError(
            f"{model.__name__} allows extra fields, which would not be stored",
            place=place.at(f"class {model.__name__}"),
            fix='declare the fields, or one dict for them, and leave extra="allow" out',
        )


def _check_version(name: str | None, fields: Mapping[str, StoredField], model: type[Entity], place: Place) -> None:
    if name is None:
        return
    _check_field(name, fields, model, place)
    if fields[name].annotation is not int or fields[name].optional:
        raise DesignError(
            f"{model.__name__}.{name} is the version, but is not an int",
            place=place.at(f"{name}:", width=len(name)),
            fix=f"declare it as {name}: int = 0",
        )


def _check_write_times(fields: Mapping[str, StoredField], key: BoundKey, model: type[Entity]) -> None:
    """Raise DesignError if the primary key contains the time of the last write.

    With such a key, each write would change the key and therefore create another item.
    """
    for name in key.fields:
        if fields[name].write_time == "updated":
            raise DesignError(
                f"the primary key of {model.__name__} contains {name}, which every write sets to the current time",
                place=key.place.at(name),
                fix="use Created() for it, or another field in the key",
            )


def _fields(model: type[Entity], schema: Schema, place: Place) -> dict[str, StoredField]:
    fields: dict[str, StoredField] = {}
    types: dict[str, str] = {}
    for name, info in model.model_fields.items():
        try:
            check_alias(model, name)
            field = stored_field(name, info, ttl=schema.ttl)
        except UnstorableTypeError as error:
            raise DesignError(
                f"{model.__name__}.{name} cannot be stored: {error}",
                place=place.at(f"{name}:", width=len(name)),
                fix=error.fix,
            ) from None
        if field.attribute in types:
            raise DesignError(
                f"{model.__name__}.{name} and {types[field.attribute]} are both stored as {field.attribute}",
                place=place.at(f"{name}:", width=len(name)),
                fix="give one of them another Attribute(name)",
            )
        types[field.attribute] = name
        fields[name] = field
    return fields


def _bind_primary_key(
    model: type[Entity],
    schema: Schema,
    key: KeySpec | None,
    fields: Mapping[str, StoredField],
    place: Place,
    *,
    store_key_fields: bool | tuple[str, ...],
) -> BoundKey:
    if key is not None:
        if key.only_if is not None:
            raise DesignError(
                "a primary key has a condition, but every item has a primary key",
                place=key.place.at("only_if="),
                fix="move `only_if` to the key of an index",
            )
        bound_key = bind_key(key, None, schema, fields, model.__name__)
        for name in store_key_fields if isinstance(store_key_fields, tuple) else ():
            if name not in bound_key.fields:
                raise DesignError(
                    f"store_key_fields names {name!r}, which is not a field in the primary key of {model.__name__}",
                    place=place.at("store_key_fields="),
                    fix=f"name fields of the key, {', '.join(bound_key.fields)}: all other fields are stored anyway",
                )
        _check_key_attributes(bound_key, fields, model, store_key_fields=store_key_fields)
        return bound_key
    stored_key = bind_stored_key(None, schema, fields, place)
    if stored_key is None:
        field_attributes = {field.attribute for field in fields.values()}
        missing = [name for name in schema.key if name not in field_attributes]
        raise DesignError(
            f"{model.__name__} does not define the key attributes {', '.join(missing)} of table {schema.name}",
            place=place.at(f"class {model.__name__}"),
            other=schema.place,
            fix=f"add key=key(...) to its declaration, or a field stored as {missing[0]}",
        )
    return stored_key


def _check_key_attributes(
    bound_key: BoundKey,
    fields: Mapping[str, StoredField],
    model: type[Entity],
    *,
    store_key_fields: bool | tuple[str, ...],
) -> None:
    """Raise DesignError if an attribute would store both a templated key and a field of the entity."""
    names_by_attribute = {field.attribute: field.name for field in fields.values()}
    for part in bound_key.attributes:
        name = names_by_attribute.get(part.attribute)
        if name is None or (part.fields == (name,) and part.text == f"{{{name}}}"):
            continue
        is_stored = store_key_fields if isinstance(store_key_fields, bool) else name in store_key_fields
        if not is_stored and part.template is not None and part.template.reversible and name in part.fields:
            continue  # the field is stored only in the key string
        raise DesignError(
            f"{part.attribute} stores the key {part.text}, but {model.__name__}.{name} is stored there too",
            place=bound_key.place.at(part.text),
            fix=f'give the field another attribute: Annotated[..., Attribute("{name}_")], or rename the key attribute',
        )


def _check_sparse_key(
    bound_key: BoundKey, index: Index, fields: Mapping[str, StoredField], model: type[Entity]
) -> None:
    """Raise DesignError if an index key has a condition, but each of its attributes is a stored field.

    Such attributes are never removed, so an item could never leave the index.
    """
    field_attributes = {field.attribute for field in fields.values()}
    if bound_key.only_if is not None and all(part.attribute in field_attributes for part in bound_key.attributes):
        raise DesignError(
            f"only_if has no effect in index {index.name}: its key of {model.__name__} consists of fields that every"
            " item keeps",
            place=bound_key.place.at("only_if="),
            fix="give the index a separate key attribute with a template, or drop the condition",
        )


def _bind_index_keys(
    schema: Schema,
    key_specs: Mapping[str, KeySpec],
    fields: Mapping[str, StoredField],
    model: type[Entity],
    primary: BoundKey,
) -> list[BoundIndexKey]:
    bound_keys: list[BoundKey | None] = []
    for index in schema.indexes:
        spec = key_specs.get(index.name)
        if spec is not None:
            bound_key = bind_key(spec, index, schema, fields, model.__name__)
            _check_key_attributes(bound_key, fields, model, store_key_fields=True)
            _check_sparse_key(bound_key, index, fields, model)
            bound_keys.append(bound_key)
        else:
            bound_keys.append(bind_stored_key(index, schema, fields, primary.place, primary))
    return [index_key for index_key in bound_keys if isinstance(index_key, BoundIndexKey)]


def _bind_unique(
    rule: str | Unique,
    *,
    entity: str,
    schema: Schema,
    fields: Mapping[str, StoredField],
    model: type[Entity],
    place: Place,
) -> BoundUnique:
    rule = Unique((rule,)) if isinstance(rule, str) else rule
    for name in rule.fields:
        _check_field(name, fields, model, place)
    spec = rule.key
    if spec is None:
        # The last placeholder extends to the end, so separators are escaped only in the strings before it.
        texts = {name for name in rule.fields[:-1] if is_text(fields[name].declared)}
        placeholders = [f"{{{name}:quote}}" if name in texts else f"{{{name}}}" for name in rule.fields]
        text = "#".join(["UNIQUE", entity, *rule.fields, *placeholders])
        spec = KeySpec((text,), ("UNIQUE",) * (schema.sort is not None), None, place)
    return BoundUnique(rule.fields, bind_key(spec, None, schema, fields, model.__name__), rule.by)


def _check_field(name: str | None, fields: Mapping[str, Any], model: type[Entity], place: Place) -> None:
    check_text("field", name, may_be_none=True)
    if name is not None and name not in fields:
        raise unknown_field_error(name, fields, model.__name__, place.at(f'"{name}"', 1, len(name)))
