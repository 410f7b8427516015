"""Rules: attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from keyplan import limits
from keyplan.check.field_names import is_identifier_name, is_time_name
from keyplan.check.finding import Finding
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.design.annotations import DeclaredField, TypeCode
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.dynamodb.expressions.reserved import is_reserved


@design_rule("KP111", "error", "warning")
def inexact_number(subject: Subject) -> Iterator[Finding]:
    """A number that keys or attributes cannot hold exactly

    A Number has 38 significant digits and lies between 1E-130 and 9.99E+125. A field that is declared wider is
    refused when such a value is written. In keys, floats do harm before that: an item is found by exactly the
    digits it was stored with, so 0.1 + 0.2 does not find 0.3, and neither NaN nor infinity can be stored at all.
    As a sort key a float at least sorts right; as a partition key, or as part of a primary key, it loses items.

    Use int in the smallest unit (cents, milliseconds), or Decimal with a fixed number of places.

    Source: developer guide, "Supported data types and naming rules", Number.
    """
    for _, entity in subject.entities:
        yield from _float_keys(entity)
        for stored in entity.fields.values():
            yield from _excess_digits(entity, stored)


def _float_keys(entity: EntitySpec) -> Iterator[Finding]:
    for bound in (entity.key, *entity.indexes):
        for part in bound.attributes:
            if part.field is None or part.field.annotation is not float:
                continue
            identity = bound.index is None or part in bound.partition
            where = entity.schema.where(bound.index)
            severity: Literal["error", "warning"] = "error" if identity else "warning"
            yield inexact_number.finding(
                entity.name,
                f"{entity.name}.{part.field.name} is a float and a {'partition' if part in bound.partition else 'sort'}"
                f" key of {where}: {'items are found by exactly its digits' if identity else 'NaN cannot be stored'},"
                " and computed floats differ in the last of them",
                "make it an int of its smallest unit, or a Decimal with fixed places",
                bound.place.at(part.field.name) if bound.place != entity.place else entity.place,
                entity.schema.place_of(bound.index),
                severity=severity,
            )


def _excess_digits(entity: EntitySpec, stored: StoredField) -> Iterator[Finding]:
    digits = _declared_digits(stored)
    if digits is not None and digits > limits.NUMBER_DIGITS:
        yield inexact_number.finding(
            entity.name,
            f"{entity.name}.{stored.name} is declared with up to {digits} digits, and a Number has"
            f" {limits.NUMBER_DIGITS}",
            "declare it smaller, or store it as text",
            entity.place.at(f"{stored.name}: "),
        )


def _declared_digits(stored: StoredField) -> int | None:
    if stored.type_code != "N":
        return None
    told = [entry.max_digits for entry in stored.info.metadata if _number_of(entry, "max_digits")]
    field = stored.declared
    told += [len(str(abs(end))) for end in (field.minimum, field.maximum) if end is not None and end % 10]
    return max(told, default=None)


def _number_of(entry: Any, name: str) -> bool:
    return isinstance(getattr(entry, name, None), int)


@design_rule("KP112", "error", "advice")
def empty_key_attribute(subject: Subject) -> Iterator[Finding]:
    """A key attribute can be empty

    An empty String or Binary is allowed as plain data since 2020, but not in a key of the table or of an index: the
    write is refused. A field that is empty by default, that declares `min_length=0`, or that has "" among its
    choices makes such items by itself, so this is an error. Free text that merely does not say `min_length=1` is
    pointed out as advice.

    Declare `Field(min_length=1)`. Where "none" is meant, make the field optional and leave it out: an item without
    the attribute is not in the index, and that is what a sparse index is for.

    Source: developer guide, "Supported data types and naming rules", empty values in key attributes.
    """
    for _, entity in subject.entities:
        told: set[str] = set()
        for bound in (entity.key, *entity.indexes):
            for part in bound.attributes:
                for name in part.fields:
                    if name not in told and (found := _empty_value(entity, bound, part, entity.fields[name])):
                        told.add(name)
                        yield found


def _empty_value(entity: EntitySpec, bound: BoundKey, part: BoundKeyAttribute, stored: StoredField) -> Finding | None:
    if stored.type_code not in {"S", "B"}:
        return None
    field = stored.declared
    how = _declared_empty(stored, field, whole=part.template is None or part.text == f"{{{stored.name}}}")
    where = entity.schema.where(bound.index)
    declared = entity.place.at(f"{stored.name}:", width=len(stored.name))
    place = bound.place.at(f"{{{stored.name}") if part.template is not None else declared
    if how:
        return empty_key_attribute.finding(
            entity.name,
            f"{entity.name}.{stored.name} {how}, and {part.attribute} of {where} is made of it: a key is never empty",
            "declare Field(min_length=1), or make it optional and None where there is nothing",
            place,
            entity.schema.place_of(bound.index),
        )
    free = field.type in {str, bytes} and field.choices is None and not field.min_length and field.pattern is None
    if free and stored.type_code == "S" and not is_identifier_name(stored.name) and not is_time_name(stored.name):
        return empty_key_attribute.finding(
            entity.name,
            f"nothing keeps {entity.name}.{stored.name} from being empty, and {part.attribute} of {where} is made of"
            " it: writes of items without a text there are refused",
            f"declare it: {stored.name}: Annotated[str, Field(min_length=1)]",
            place,
            entity.schema.place_of(bound.index),
            severity="advice",
        )
    return None


def _declared_empty(stored: StoredField, field: DeclaredField, *, whole: bool) -> str:
    """How the declaration itself makes an empty value; the empty text where it does not."""
    if field.choices is not None:
        empty = "" in field.stored_choices
        return 'has "" among its choices' if empty and whole else ""
    if stored.info.default in {"", b""} if isinstance(stored.info.default, (str, bytes)) else False:
        return "is empty by default" if whole or field.min_length != 0 else ""
    return "declares min_length=0" if field.min_length == 0 and whole else ""


@design_rule("KP114", "advice")
def reserved_word(subject: Subject) -> Iterator[Finding]:
    """Attributes are reserved words

    Some 570 words, among them status, name, type, date, ttl, count and role, cannot stand in an expression as they
    are: the service refuses `SET status = :s` with a syntax error. Keyplan writes placeholders (`#status`) for all
    names, so its patterns work; scripts, consoles and other programs that use the table must do the same.

    Nothing has to be done. Where other programs write expressions by hand, another name under the same field
    (`Annotated[str, Attribute("task_status")]`) spares them the placeholder.

    Source: developer guide, "Reserved words in DynamoDB" and "Expression attribute names".
    """
    for table in subject.tables:
        stored = [field.attribute for entity in table.entities for field in entity.fields.values()]
        names = [name for name in dict.fromkeys([*table.schema.key_attributes(), *stored]) if is_reserved(name)]
        if names:
            yield reserved_word.finding(
                table.name,
                f"table {table.name} stores {', '.join(names)}, reserved {'word' if len(names) == 1 else 'words'} that"
                " expressions cannot name as they are",
                "nothing, within keyplan; other programs need placeholders such as #" + names[0],
                table.schema.place,
            )


@design_rule("KP115", "error")
def key_attribute_type_conflict(subject: Subject) -> Iterator[Finding]:
    """A key attribute is given two types

    A key attribute has one type for the whole table. Where one entity makes it a String and another a Number, or keeps
    an unrelated field of another type under its name, the writes of one of them are refused, whether or not the entity
    was meant to be in the index. The items that keep unique values (`unique=`) have Strings for keys: a table whose key
    is a Number refuses them.

    Give both the same type, or attributes of their own: names such as GSI1PK that no field has are safe.

    Source: developer guide, "Using Global Secondary Indexes in DynamoDB", attribute types of index keys.
    """
    yield from subject.errors_of(key_attribute_type_conflict.code)
    for table in subject.tables:
        types = _key_types(table)
        for entity in table.entities:
            yield from _conflicting_fields(entity, types)


def _key_types(table: Table) -> dict[str, tuple[TypeCode, EntitySpec, BoundKey]]:
    """The type of each key attribute, and who gives it."""
    found: dict[str, tuple[TypeCode, EntitySpec, BoundKey]] = {}
    for entity in table.entities:
        for bound in (entity.key, *entity.indexes):
            for part in bound.attributes:
                found.setdefault(part.attribute, (part.type_code, entity, bound))
    return found


def _conflicting_fields(
    entity: EntitySpec, types: dict[str, tuple[TypeCode, EntitySpec, BoundKey]]
) -> Iterator[Finding]:
    """Fields under the name of a key attribute whose key the entity does not have."""
    own = {part.attribute for bound in (entity.key, *entity.indexes) for part in bound.attributes}
    for stored in entity.fields.values():
        if stored.attribute in own or stored.attribute not in types:
            continue
        code, other, bound = types[stored.attribute]
        if code != stored.type_code:
            yield key_attribute_type_conflict.finding(
                entity.name,
                f"{entity.name}.{stored.name} is stored as {stored.type_code} under {stored.attribute}, a key attribute"
                f" that {other.name} makes {code}: every write of {entity.name} is refused",
                f'store it under another name: Attribute("{entity.name.lower()}_{stored.name}")',
                entity.place.at(f"{stored.name}: "),
                bound.place,
            )
