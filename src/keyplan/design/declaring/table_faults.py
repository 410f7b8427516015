"""Checks for faults that prevent DynamoDB from creating a declared table.

Source: developer guide, "Quotas in Amazon DynamoDB", "Supported data types and naming rules" and "Time to Live"; API
reference, operation CreateTable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from keyplan import limits
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Fault
from keyplan.design.fields.annotations import KEY_TYPES
from keyplan.design.keys.entity_keys import BoundKey
from keyplan.design.schema import Index, Schema

_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")
_TYPES = {
    "BOOL": "a Boolean",
    "L": "a list",
    "M": "a map",
    "SS": "a set",
    "NS": "a set",
    "BS": "a set",
    "ANY": "any type",
}


class DeclaredTable(Protocol):
    """The parts of a declared table that are checked for faults."""

    @property
    def schema(self) -> Schema:
        """The schema of the table."""

    @property
    def entities(self) -> Sequence[EntitySpec]:
        """The entities whose items the table contains."""


def table_faults(table: DeclaredTable) -> list[Fault]:
    """Return every fault that prevents DynamoDB from creating the table as it is declared."""
    return [
        *_name_faults(table),
        *_index_count_faults(table),
        *_key_shape_faults(table),
        *_projection_faults(table),
        *_key_type_faults(table),
        *_optional_key_faults(table),
        *_expiry_faults(table),
    ]


def _name_faults(table: DeclaredTable) -> Iterator[Fault]:
    for name, place in [
        (table.schema.name, table.schema.place),
        *((index.name, index.place) for index in table.schema.indexes),
    ]:
        if not _NAME.fullmatch(name):
            yield Fault(
                "KP109",
                f"{name!r} cannot be the name of a table or index: 3 to 255 letters, digits, _ . and - are allowed",
                "choose another name",
                place.at(f'"{name}"'),
            )
    places: dict[str, Index] = {}
    for index in table.schema.indexes:
        if index.name in places:
            yield Fault(
                "KP109",
                f"table {table.schema.name} has two indexes called {index.name}",
                "give one of them another name",
                index.place.at(f'"{index.name}"'),
                places[index.name].place,
            )
        places.setdefault(index.name, index)


def _index_count_faults(table: DeclaredTable) -> Iterator[Fault]:
    kinds = [("LSI", limits.LOCAL_INDEXES, "KP106"), ("GSI", limits.GLOBAL_INDEXES, "KP107")]
    for kind, maximum, code in kinds:
        indexes = [index for index in table.schema.indexes if index.kind == kind]
        if len(indexes) > maximum:
            yield Fault(
                code,
                f"table {table.schema.name} has {len(indexes)} indexes of kind {kind}, but the maximum is {maximum}",
                "drop indexes that no pattern uses, or let several patterns share one overloaded index",
                indexes[maximum].place,
                table.schema.place,
            )


def _key_shape_faults(table: DeclaredTable) -> Iterator[Fault]:
    shapes = [(f"table {table.schema.name}", table.schema.key, table.schema.place)]
    shapes += [(f"index {index.name}", index.attributes, index.place) for index in table.schema.indexes]
    for owner, names, place in shapes:
        if len(set(names)) < len(names):
            yield Fault(
                "KP113",
                f"the key of {owner} names an attribute twice: {', '.join(names)}",
                "name each attribute once, or leave the sort key out",
                place,
            )
    for index in table.schema.indexes:
        for role, names in (("partition", index.partition), ("sort", index.sort)):
            if len(names) > limits.KEY_ATTRIBUTES_PER_ROLE:
                yield Fault(
                    "KP113",
                    f"the {role} key of index {index.name} has {len(names)} attributes, but the maximum"
                    f" is {limits.KEY_ATTRIBUTES_PER_ROLE}",
                    "combine some of them in one attribute with a template",
                    index.place,
                )
        if index.kind == "LSI" and table.schema.sort is None:
            yield Fault(
                "KP113",
                f"{index.name} is a local index of table {table.schema.name}, which has no sort key",
                "give the table a sort key, or make the index global",
                index.place,
                table.schema.place,
            )


def _projection_faults(table: DeclaredTable) -> Iterator[Fault]:
    total = 0
    for index in table.schema.indexes:
        if not isinstance(index.project, tuple):
            continue
        total += len(index.project)
        if len(index.project) > _PROJECTED_PER_INDEX:
            yield Fault(
                "KP108",
                f"index {index.name} lists {len(index.project)} attributes, but the maximum is {_PROJECTED_PER_INDEX}",
                "project all attributes, or fewer",
                index.place,
            )
        if total > limits.PROJECTED_ATTRIBUTES:
            yield Fault(
                "KP108",
                f"the indexes of table {table.schema.name} list {total} attributes together, but the"
                f" maximum is {limits.PROJECTED_ATTRIBUTES}",
                "project all attributes in some of them",
                index.place,
                table.schema.place,
            )
            return


_PROJECTED_PER_INDEX = 20


def _bound_keys(table: DeclaredTable) -> Iterator[tuple[str, BoundKey]]:
    for entity in table.entities:
        for bound_key in (entity.key, *entity.indexes):
            yield entity.name, bound_key


def _key_type_faults(table: DeclaredTable) -> Iterator[Fault]:
    types: dict[str, tuple[str, str, BoundKey]] = {}
    for entity, bound_key in _bound_keys(table):
        for part in bound_key.attributes:
            code = part.type_code
            owner = table.schema.label_of(bound_key.index)
            if code not in KEY_TYPES:
                yield Fault(
                    "KP101",
                    f"{part.attribute} is a key attribute of {owner}, but {entity}.{part.fields[0]} is stored as"
                    f" {_TYPES.get(code, code)}: keys are String, Number or Binary",
                    "store the field as a non-key attribute, and make the key a String that exists only while the item"
                    ' belongs in the index: key("ACTIVE", ..., only_if=F.active == True)',
                    bound_key.place,
                    table.schema.place_of(bound_key.index),
                )
            elif part.attribute in types and types[part.attribute][0] != code:
                other_code, other_entity, other_key = types[part.attribute]
                yield Fault(
                    "KP115",
                    f"{part.attribute} is {code} for {entity} and {other_code} for {other_entity}: a key attribute has"
                    " one type, and writes of the other type fail",
                    "give both fields the same type, or separate key attributes",
                    bound_key.place,
                    other_key.place,
                )
            types.setdefault(part.attribute, (code, entity, bound_key))
    for spec in table.entities:
        yield from _sentinel_type_faults(spec)


def _sentinel_type_faults(entity: EntitySpec) -> Iterator[Fault]:
    """Yield a fault for each unique constraint whose guard items would have a key of a different type than the table's
    key.

    A guard item reserves a unique value, and has a string key by default.
    """
    for rule in entity.sentinels:
        for part, key_part in zip(rule.key.attributes, entity.key.attributes, strict=True):
            if part.type_code != key_part.type_code:
                yield Fault(
                    "KP115",
                    f"{key_part.attribute} is {key_part.type_code} for {entity.name}, and {part.type_code} for the"
                    f" items that keep its unique {', '.join(rule.fields)}: a key attribute has one type, and writes of"
                    " the other type fail",
                    "make the key a String by a template, such as {number:010d}, or keep such values in a table with"
                    " String keys",
                    entity.key.place,
                    entity.place.at("unique="),
                )


def _optional_key_faults(table: DeclaredTable) -> Iterator[Fault]:
    for entity in table.entities:
        for name in entity.key.fields:
            if entity.fields[name].optional:
                yield Fault(
                    "KP202",
                    f"{entity.name}.{name} may be None, but it is part of the primary key: every item needs a"
                    " complete key",
                    f"make {name} a required field, or leave it out of the key",
                    entity.key.place.at(f"{{{name}"),
                    entity.place.at(f"{name}:", width=len(name)),
                )


def _expiry_faults(table: DeclaredTable) -> Iterator[Fault]:
    if len(table.schema.ttls) > 1:
        names = ", ".join(ttl.attribute for ttl in table.schema.ttls)
        yield Fault(
            "KP703",
            f"table {table.schema.name} declares {len(table.schema.ttls)} TTL attributes ({names}): a table"
            " has only one",
            "use the same attribute for every entity that expires",
            table.schema.place.at("ttl="),
        )
    for ttl in table.schema.ttls:
        for entity in table.entities:
            for field in entity.fields.values():
                if field.attribute == ttl.attribute and field.type_code != "N":
                    yield Fault(
                        "KP701",
                        f"{entity.name}.{field.name} is the expiry of table {table.schema.name} but is stored as"
                        f" {field.type_code}: items expire only by a Number of epoch seconds",
                        "declare it as datetime, or as int seconds",
                        entity.place.at(f"{field.name}:", width=len(field.name)),
                        table.schema.place,
                    )
