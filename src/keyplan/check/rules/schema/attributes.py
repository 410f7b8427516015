"""Rules for the types and values of attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from keyplan import limits
from keyplan.check.field_names import is_identifier, is_time_name, kind_of
from keyplan.check.finding import Finding
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.annotations import DeclaredField, TypeCode
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.dynamodb.expressions.names import is_reserved


@design_rule("KP111", "error", "warning")
def inexact_number(subject: Subject) -> Iterator[Finding]:
    """Number cannot be stored exactly

    Finds float fields in keys, and number fields that allow more than 38 digits.

    Why is this bad? A Number has at most 38 significant digits and a magnitude between 1E-130 and 9.99E+125. A write
    with a value outside of these limits fails. A float in a key causes errors even within these limits, because a read
    must pass exactly the digits that are stored: a read with 0.1 + 0.2 does not find an item whose key contains 0.3.
    NaN and infinity cannot be stored.

    Fix: use an int in the smallest unit (cents, milliseconds), or a Decimal with a fixed number of decimal places.

    Source: developer guide, "Supported data types and naming rules" (Number).
    """
    for _, entity in subject.entities:
        yield from _float_keys(entity)
        for field in entity.fields.values():
            yield from _excess_digits(entity, field)


def _float_keys(entity: EntitySpec) -> Iterator[Finding]:
    for bound in (entity.key, *entity.indexes):
        for part in bound.attributes:
            if part.field is None or part.field.annotation is not float:
                continue
            must_match = bound.index is None or part in bound.partition
            key_owner = entity.schema.label_of(bound.index)
            severity: Literal["error", "warning"] = "error" if must_match else "warning"
            yield inexact_number.finding(
                entity.name,
                f"{entity.name}.{part.field.name} is a float in a"
                f" {'partition' if part in bound.partition else 'sort'} key of"
                f" {key_owner}: {'a read that computes it finds no item' if must_match else 'writes of NaN fail'},"
                f" because keys"
                " compare exact digits",
                "make it an int in its smallest unit, or a Decimal with fixed places",
                bound.place.at(part.field.name) if bound.place != entity.place else entity.place,
                entity.schema.place_of(bound.index),
                severity=severity,
            )


def _excess_digits(entity: EntitySpec, field: StoredField) -> Iterator[Finding]:
    digits = _declared_digits(field)
    if digits is not None and digits > limits.NUMBER_DIGITS:
        yield inexact_number.finding(
            entity.name,
            f"writes of {entity.name}.{field.name} with more than {limits.NUMBER_DIGITS} digits fail, and"
            f" its declaration allows {digits}",
            "declare fewer digits, or store it as text",
            entity.place.at(f"{field.name}: "),
        )


def _declared_digits(stored_field: StoredField) -> int | None:
    if stored_field.type_code != "N":
        return None
    digits = [entry.max_digits for entry in stored_field.info.metadata if _number_of(entry, "max_digits")]
    field = stored_field.declared
    digits += [len(str(abs(end))) for end in (field.minimum, field.maximum) if end is not None and end % 10]
    return max(digits, default=None)


def _number_of(entry: Any, name: str) -> bool:
    return isinstance(getattr(entry, name, None), int)


@design_rule("KP112", "error", "advice")
def empty_key_attribute(subject: Subject) -> Iterator[Finding]:
    """Key attribute can be empty

    Finds key fields that have an empty default, `min_length=0` or "" as one of their choices (error). Also finds key
    fields that contain free text and do not declare `min_length=1` (advice, one finding for all fields).

    Why is this bad? DynamoDB accepts empty String and Binary values, but not in keys of tables and indexes. A write
    with an empty key attribute fails.

    Fix: declare `Field(min_length=1)`. If some items have no value in an index key, make the field optional: an item
    without the attribute is not in the index.

    Source: developer guide, "Supported data types and naming rules" (empty values in key attributes).
    """
    for _, entity in subject.entities:
        reported: set[str] = set()
        for bound in (entity.key, *entity.indexes):
            for part in bound.attributes:
                for name in part.fields:
                    if name not in reported and (finding := _empty_value(entity, bound, part, entity.fields[name])):
                        reported.add(name)
                        yield finding


def _empty_value(
    entity: EntitySpec, bound: BoundKey, part: BoundKeyAttribute, stored_field: StoredField
) -> Finding | None:
    if stored_field.type_code not in {"S", "B"}:
        return None
    field = stored_field.declared
    cause = _declared_empty(
        stored_field, field, is_whole_key=part.template is None or part.text == f"{{{stored_field.name}}}"
    )
    key_owner = entity.schema.label_of(bound.index)
    declared = entity.place.at(f"{stored_field.name}:", width=len(stored_field.name))
    place = bound.place.at(f"{{{stored_field.name}") if part.template is not None else declared
    if cause:
        return empty_key_attribute.finding(
            entity.name,
            f"writes fail while {entity.name}.{stored_field.name} is empty: it {cause}, and it is part of"
            f" {part.attribute}, a key of {key_owner}",
            "declare Field(min_length=1), or make it optional and leave it None if the value is unknown",
            place,
            entity.schema.place_of(bound.index),
        )
    is_free_text = (
        field.type in {str, bytes} and field.choices is None and not field.min_length and field.pattern is None
    )
    generated = is_identifier(stored_field) or kind_of(stored_field) is not None or is_time_name(stored_field.name)
    if is_free_text and stored_field.type_code == "S" and not generated:
        return empty_key_attribute.finding(
            entity.name,
            f"writes of items with an empty {entity.name}.{stored_field.name} fail: it is part of"
            f" {part.attribute}, a key of {key_owner}",
            f"declare {stored_field.name}: Annotated[str, Field(min_length=1)]",
            place,
            entity.schema.place_of(bound.index),
            severity="advice",
            item=f"{entity.name}.{stored_field.name}",
        )
    return None


def _declared_empty(stored_field: StoredField, field: DeclaredField, *, is_whole_key: bool) -> str:
    """Return a description of how the declaration of a field allows an empty value, or "" if it does not.

    `is_whole_key` is True if the field's value is the whole key attribute, which must not be empty. Otherwise, the
    field is a part of a template.
    """
    if field.choices is not None:
        empty = "" in field.stored_choices
        return 'has "" among its choices' if empty and is_whole_key else ""
    if stored_field.info.default in {"", b""} if isinstance(stored_field.info.default, (str, bytes)) else False:
        return "is empty by default" if is_whole_key or field.min_length != 0 else ""
    return "declares min_length=0" if field.min_length == 0 and is_whole_key else ""


@design_rule("KP114", "advice")
def reserved_word(subject: Subject) -> Iterator[Finding]:
    """Attribute name is a reserved word

    Finds attributes of tables with `literal=True` whose names are reserved words. DynamoDB has about 570 reserved
    words, such as status, name, type, date, ttl, count and role. The attributes of all tables are reported in one
    finding. In tables without `literal=True`, patterns use placeholders (`#status`) for all names.

    Why is this bad? A table with `literal=True` documents a design for which other programs write their own requests.
    DynamoDB rejects an expression with a reserved word: `SET status = :s` is a syntax error.

    Fix: use placeholders in other programs, or store the field under another name: `Annotated[str,
    Attribute("task_status")]`.

    Source: developer guide, "Reserved words in DynamoDB" and "Expression attribute names".
    """
    for table in subject.tables:
        if not table.schema.literal:
            continue
        field_attributes = [field.attribute for entity in table.entities for field in entity.fields.values()]
        names = [
            name for name in dict.fromkeys([*table.schema.key_attributes(), *field_attributes]) if is_reserved(name)
        ]
        if names:
            yield reserved_word.finding(
                table.name,
                f"expressions written by hand fail with the {'name' if len(names) == 1 else 'names'}"
                f" {', '.join(names)} of table {table.name}: reserved words",
                f"use placeholders such as #{names[0]} outside of keyplan, or store the fields under other"
                " names with Attribute(...)",
                table.schema.place,
                item=f"{', '.join(names)} of table {table.name}",
            )


@design_rule("KP115", "error", conflicts=True)
def key_attribute_type_conflict(subject: Subject) -> Iterator[Finding]:
    """Key attribute has two types

    Finds key attributes that entities store with different types, such as a String and a Number. Also finds fields that
    have the same name as a key attribute but a different type. Items that reserve unique values (`unique=`) have String
    keys.

    Why is this bad? A key attribute has one type in the whole table. DynamoDB rejects each write with a different type,
    even if the item should not be in the index.

    Fix: use the same type for both, or store them in different attributes. Generic names of key attributes, such as
    GSI1PK, avoid conflicts with fields.

    Source: developer guide, "Using Global Secondary Indexes in DynamoDB" (attribute types of index keys).
    """
    yield from subject.errors_of(key_attribute_type_conflict.code)
    for table in subject.tables:
        types = _key_types(table)
        for entity in table.entities:
            yield from _conflicting_fields(entity, types)


def _key_types(table: Table) -> dict[str, tuple[TypeCode, EntitySpec, BoundKey]]:
    """Map the name of each key attribute to its type, and to the entity and the key that declare it."""
    types: dict[str, tuple[TypeCode, EntitySpec, BoundKey]] = {}
    for entity in table.entities:
        for bound in (entity.key, *entity.indexes):
            for part in bound.attributes:
                types.setdefault(part.attribute, (part.type_code, entity, bound))
    return types


def _conflicting_fields(
    entity: EntitySpec, types: dict[str, tuple[TypeCode, EntitySpec, BoundKey]]
) -> Iterator[Finding]:
    key_attributes = {part.attribute for bound in (entity.key, *entity.indexes) for part in bound.attributes}
    for field in entity.fields.values():
        if field.attribute in key_attributes or field.attribute not in types:
            continue
        code, other, bound = types[field.attribute]
        if code != field.type_code:
            yield key_attribute_type_conflict.finding(
                entity.name,
                f"every write of {entity.name} fails: {field.name} is stored as {field.type_code} under"
                f" {field.attribute}, a key attribute that {other.name} stores as {code}",
                f'store it under another name: Attribute("{entity.name.lower()}_{field.name}")',
                entity.place.at(f"{field.name}: "),
                bound.place,
            )
