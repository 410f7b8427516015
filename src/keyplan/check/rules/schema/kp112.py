"""A key attribute can be empty

An empty String or Binary is allowed as plain data since 2020, but not in a key of the table or of an index: the
write is refused. A field that is empty by default, that declares `min_length=0`, or that has "" among its
choices makes such items by itself, so this is an error. Free text that merely does not say `min_length=1` is
pointed out as advice.

Declare `Field(min_length=1)`. Where "none" is meant, make the field optional and leave it out: an item without
the attribute is not in the index, and that is what a sparse index is for.

Source: developer guide, "Supported data types and naming rules", empty values in key attributes.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.names import is_identifier, is_moment
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.fields import StoredField
from keyplan.design.keys import BoundKey, KeyAttribute
from keyplan.design.template_field import Field

RULE = Rule("KP112", "empty-key", ("error", "advice"))


def check(subject: Subject) -> Iterator[Finding]:
    """Fields of keys that can be empty."""
    for _, entity in subject.entities:
        told: set[str] = set()
        for bound in (entity.key, *entity.indexes):
            for part in bound.attributes:
                for name in part.fields:
                    if name not in told and (found := _about(entity, bound, part, entity.fields[name])):
                        told.add(name)
                        yield found


def _about(entity: EntitySpec, bound: BoundKey, part: KeyAttribute, stored: StoredField) -> Finding | None:
    if stored.type_code not in {"S", "B"}:
        return None
    field = stored.declared
    how = _empty_by_itself(stored, field, whole=part.template is None or part.text == f"{{{stored.name}}}")
    where = entity.schema.where(bound.index)
    declared = entity.place.at(f"{stored.name}:", width=len(stored.name))
    place = bound.place.at(f"{{{stored.name}") if part.template is not None else declared
    if how:
        return Finding(
            RULE.code,
            "error",
            entity.name,
            f"{entity.name}.{stored.name} {how}, and {part.attribute} of {where} is made of it: a key is never empty",
            "declare Field(min_length=1), or make it optional and None where there is nothing",
            place,
            entity.schema.place_of(bound.index),
        )
    free = field.type in {str, bytes} and field.choices is None and not field.min_length and field.pattern is None
    if free and stored.type_code == "S" and not is_identifier(stored.name) and not is_moment(stored.name):
        return Finding(
            RULE.code,
            "advice",
            entity.name,
            f"nothing keeps {entity.name}.{stored.name} from being empty, and {part.attribute} of {where} is made of"
            " it: writes of items without a text there are refused",
            f"declare it: {stored.name}: Annotated[str, Field(min_length=1)]",
            place,
            entity.schema.place_of(bound.index),
        )
    return None


def _empty_by_itself(stored: StoredField, field: Field, *, whole: bool) -> str:
    """How the declaration itself makes an empty value; the empty text where it does not."""
    if field.choices is not None:
        empty = "" in field.stored_choices
        return 'has "" among its choices' if empty and whole else ""
    if stored.info.default in {"", b""} if isinstance(stored.info.default, (str, bytes)) else False:
        return "is empty by default" if whole or field.min_length != 0 else ""
    return "declares min_length=0" if field.min_length == 0 and whole else ""
