"""A number that keys or attributes cannot hold exactly

A Number has 38 significant digits and lies between 1E-130 and 9.99E+125. A field that is declared wider is
refused when such a value is written. In keys, floats do harm before that: an item is found by exactly the
digits it was stored with, so 0.1 + 0.2 does not find 0.3, and neither NaN nor infinity can be stored at all.
As a sort key a float at least sorts right; as a partition key, or as part of a primary key, it loses items.

Use int in the smallest unit (cents, milliseconds), or Decimal with a fixed number of places.

Source: developer guide, "Supported data types and naming rules", Number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.fields import StoredField

RULE = Rule("KP111", "number-precision", ("error", "warning"))


def check(subject: Subject) -> Iterator[Finding]:
    """Floats in keys, and numbers of more than 38 digits."""
    for _, entity in subject.entities:
        yield from _floats(entity)
        for stored in entity.fields.values():
            yield from _digits(entity, stored)


def _floats(entity: EntitySpec) -> Iterator[Finding]:
    for bound in (entity.key, *entity.indexes):
        for part in bound.attributes:
            if part.field is None or part.field.annotation is not float:
                continue
            identity = bound.index is None or part in bound.partition
            where = entity.schema.where(bound.index)
            severity: Literal["error", "warning"] = "error" if identity else "warning"
            yield Finding(
                RULE.code,
                severity,
                entity.name,
                f"{entity.name}.{part.field.name} is a float and a {'partition' if part in bound.partition else 'sort'}"
                f" key of {where}: {'items are found by exactly its digits' if identity else 'NaN cannot be stored'},"
                " and computed floats differ in the last of them",
                "make it an int of its smallest unit, or a Decimal with fixed places",
                bound.place.at(part.field.name) if bound.place != entity.place else entity.place,
                entity.schema.place_of(bound.index),
            )


def _digits(entity: EntitySpec, stored: StoredField) -> Iterator[Finding]:
    digits = _declared_digits(stored)
    if digits is not None and digits > limits.NUMBER_DIGITS:
        yield Finding(
            RULE.code,
            "error",
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
