"""A key attribute is given two types

A key attribute has one type for the whole table. Where one entity makes it a String and another a Number, or
keeps an unrelated field of another type under its name, the writes of one of them are refused, whether or not
the entity was meant to be in the index. The items that keep unique values (`unique=`) have Strings for keys: a table
whose key is a Number refuses them.

Give both the same type, or attributes of their own: names such as GSI1PK that no field has are safe.

Source: developer guide, "Using Global Secondary Indexes in DynamoDB", attribute types of index keys.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.field_types import TypeCode
from keyplan.design.keys import BoundKey
from keyplan.design.tables import Table

RULE = Rule("KP115", "key-attribute-conflict", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Key attributes of two types, and unrelated fields under their names."""
    yield from subject.errors_of(RULE.code)
    for table in subject.tables:
        types = _types(table)
        for entity in table.entities:
            yield from _strays(entity, types)


def _types(table: Table) -> dict[str, tuple[TypeCode, EntitySpec, BoundKey]]:
    """The type of each key attribute, and who gives it."""
    found: dict[str, tuple[TypeCode, EntitySpec, BoundKey]] = {}
    for entity in table.entities:
        for bound in (entity.key, *entity.indexes):
            for part in bound.attributes:
                found.setdefault(part.attribute, (part.type_code, entity, bound))
    return found


def _strays(entity: EntitySpec, types: dict[str, tuple[TypeCode, EntitySpec, BoundKey]]) -> Iterator[Finding]:
    """Fields under the name of a key attribute whose key the entity does not have."""
    own = {part.attribute for bound in (entity.key, *entity.indexes) for part in bound.attributes}
    for stored in entity.fields.values():
        if stored.attribute in own or stored.attribute not in types:
            continue
        code, other, bound = types[stored.attribute]
        if code != stored.type_code:
            yield Finding(
                RULE.code,
                "error",
                entity.name,
                f"{entity.name}.{stored.name} is stored as {stored.type_code} under {stored.attribute}, a key attribute"
                f" that {other.name} makes {code}: every write of {entity.name} is refused",
                f'store it under another name: Attribute("{entity.name.lower()}_{stored.name}")',
                entity.place.at(f"{stored.name}: "),
                bound.place,
            )
