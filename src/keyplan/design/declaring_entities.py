"""Entities declared: a model bound to its table, with its keys, its unique values and its version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keyplan.design.encodings import is_text
from keyplan.design.entities import BoundUnique, Entity, EntitySpec, Unique
from keyplan.design.field_marks import check_alias
from keyplan.design.field_types import UnstorableTypeError
from keyplan.design.fields import StoredField, stored_field
from keyplan.design.given import check_text
from keyplan.design.keys import BoundIndexKey, BoundKey, KeySpec, bind, bind_plain, index_of, no_such_field
from keyplan.design.places import DesignError, Place
from keyplan.design.schema import Index, Schema
from keyplan.design.workload import Items


def declare(
    model: type[Entity],
    schema: Schema,
    *,
    key: KeySpec | None,
    indexes: Mapping[str, KeySpec],
    version: str | None,
    uniques: Sequence[str | Unique],
    found_by: Sequence[str | tuple[str, ...]],
    items: Items | None,
    name: str | None,
    store_key_fields: bool,
    place: Place,
) -> EntitySpec:
    """Bind an entity's declaration to its table. Raises DesignError for what has no meaning."""
    _check_model(model, place)
    for option, spec in (("key", key), *((f'indexes["{name}"]', one) for name, one in indexes.items())):
        if not (spec is None or isinstance(spec, KeySpec)):
            raise DesignError(f"{option}={spec!r} is no key", place=place, fix=f"write key({spec!r})")
    if not (items is None or isinstance(items, Items)):
        raise DesignError(f"items={items!r} says nothing of items", place=place, fix="write items=Items(count=...)")
    called = name or model.__name__
    fields = _fields(model, schema, place)
    bound_key = _primary(model, schema, key, fields, place, store_key_fields=store_key_fields)
    for index_name in indexes:
        index_of(schema, index_name, place)
    _check_version(version, fields, model, place)
    found = tuple((one,) if isinstance(one, str) else one for one in found_by)
    for field_name in (part for one in found for part in one):
        _known(field_name, fields, model, place)
    return EntitySpec(
        name=called,
        model=model,
        schema=schema,
        fields=fields,
        key=bound_key,
        indexes=tuple(_index_keys(schema, indexes, fields, model, bound_key)),
        version=version,
        uniques=tuple(
            _unique(rule, entity=called, schema=schema, fields=fields, model=model, place=place) for rule in uniques
        ),
        found_by=found,
        items=items,
        store_key_fields=store_key_fields,
        place=place,
    )


def _check_model(model: type[Entity], place: Place) -> None:
    if not (isinstance(model, type) and issubclass(model, Entity)):
        name = getattr(model, "__name__", repr(model))
        raise DesignError(f"{name} is no Entity", place=place, fix=f"derive it from Entity: class {name}(Entity)")
    if not model.__pydantic_complete__:
        raise DesignError(
            f"the annotations of {model.__name__} cannot be read: a name in them is not defined",
            place=place.at(f"class {model.__name__}"),
            fix="define or import the names before the class, and not under TYPE_CHECKING",
        )
    declared = model.__dict__.get("__keyplan__")
    if isinstance(declared, EntitySpec):
        raise DesignError(
            f"{model.__name__} is an entity of table {declared.schema.name} already",
            place=place,
            other=declared.place,
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
    _known(name, fields, model, place)
    if fields[name].annotation is not int or fields[name].optional:
        raise DesignError(
            f"{model.__name__}.{name} is to count changes, and is no int",
            place=place.at(f"{name}:", width=len(name)),
            fix=f"declare it as {name}: int = 0",
        )


def _fields(model: type[Entity], schema: Schema, place: Place) -> dict[str, StoredField]:
    fields: dict[str, StoredField] = {}
    taken: dict[str, str] = {}
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
        if field.attribute in taken:
            raise DesignError(
                f"{model.__name__}.{name} and {taken[field.attribute]} are both stored as {field.attribute}",
                place=place.at(f"{name}:", width=len(name)),
                fix="give one of them another Attribute(name)",
            )
        taken[field.attribute] = name
        fields[name] = field
    return fields


def _primary(
    model: type[Entity],
    schema: Schema,
    key: KeySpec | None,
    fields: Mapping[str, StoredField],
    place: Place,
    *,
    store_key_fields: bool,
) -> BoundKey:
    if key is not None:
        if key.when is not None:
            raise DesignError(
                "a primary key has no condition: every item has one",
                place=key.place.at("when="),
                fix="move `when` to the key of an index",
            )
        bound = bind(key, None, schema, fields, model.__name__)
        _check_own_fields(bound, fields, model, store_key_fields=store_key_fields)
        return bound
    plain = bind_plain(None, schema, fields, place)
    if plain is None:
        stored = {field.attribute for field in fields.values()}
        missing = [name for name in schema.key if name not in stored]
        raise DesignError(
            f"{model.__name__} says nothing of the key attributes {', '.join(missing)} of table {schema.name}",
            place=place.at(f"class {model.__name__}"),
            other=schema.place,
            fix=f"add key=key(...) to its declaration, or a field stored as {missing[0]}",
        )
    return plain


def _check_own_fields(
    bound: BoundKey, fields: Mapping[str, StoredField], model: type[Entity], *, store_key_fields: bool
) -> None:
    """Refuse a key attribute that is to hold both a made key and a field."""
    own = {stored.attribute: stored.name for stored in fields.values()}
    for part in bound.attributes:
        name = own.get(part.attribute)
        if name is None or (part.fields == (name,) and part.text == f"{{{name}}}"):
            continue
        if not store_key_fields and part.template is not None and part.template.reversible and name in part.fields:
            continue  # the field is in the key's text only
        raise DesignError(
            f"{part.attribute} is to hold the key {part.text}, and {model.__name__}.{name} is stored there",
            place=bound.place.at(part.text),
            fix=f'give the field another attribute: Annotated[..., Attribute("{name}_")], or rename the key attribute',
        )


def _check_leaving(bound: BoundKey, index: Index, fields: Mapping[str, StoredField], model: type[Entity]) -> None:
    """Refuse a condition that nothing can be taken away for."""
    own = {stored.attribute for stored in fields.values()}
    if bound.when is not None and all(part.attribute in own for part in bound.attributes):
        raise DesignError(
            f"{model.__name__} cannot leave index {index.name}: its key there is made of fields that every item keeps",
            place=bound.place.at("when="),
            fix="give the index a key attribute of its own, made by a template, or drop the condition",
        )


def _index_keys(
    schema: Schema,
    written: Mapping[str, KeySpec],
    fields: Mapping[str, StoredField],
    model: type[Entity],
    primary: BoundKey,
) -> list[BoundIndexKey]:
    bound: list[BoundKey | None] = []
    for index in schema.indexes:
        spec = written.get(index.name)
        if spec is not None:
            made = bind(spec, index, schema, fields, model.__name__)
            _check_own_fields(made, fields, model, store_key_fields=True)
            _check_leaving(made, index, fields, model)
            bound.append(made)
        else:
            bound.append(bind_plain(index, schema, fields, primary.place, primary))
    return [one for one in bound if isinstance(one, BoundIndexKey)]


def _unique(
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
        _known(name, fields, model, place)
    spec = rule.key
    if spec is None:
        # The last hole runs to the end, so only texts before it need their separators escaped.
        texts = {name for name in rule.fields[:-1] if is_text(fields[name].declared)}
        holes = [f"{{{name}:quote}}" if name in texts else f"{{{name}}}" for name in rule.fields]
        text = "#".join(["UNIQUE", entity, *rule.fields, *holes])
        spec = KeySpec((text,), ("UNIQUE",) * (schema.sort is not None), None, place)
    return BoundUnique(rule.fields, bind(spec, None, schema, fields, model.__name__), rule.by)


def _known(name: str | None, fields: Mapping[str, Any], model: type[Entity], place: Place) -> None:
    check_text("field", name, may_be_none=True)
    if name is not None and name not in fields:
        raise no_such_field(name, fields, model.__name__, place.at(f'"{name}"', 1, len(name)))
