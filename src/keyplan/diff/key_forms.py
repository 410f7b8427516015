"""Keys as forms that compare across designs: literal text, and what each hole or field makes of a value.

Two declarations of a key make the same stored attribute where their forms are equal, whatever the modules and the
classes that they come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any

from keyplan.design.entities import EntitySpec
from keyplan.design.field_types import without_none
from keyplan.design.fields import StoredField
from keyplan.design.keys import BoundKey, KeyAttribute
from keyplan.design.template_holes import BoundHole

Form = tuple[object, ...]
_KINDS: tuple[type, ...] = (bool, datetime, time, timedelta, bytes, float)
"""Types whose text differs from that of a str, an int, a date or an id of the same value. A bool is an int: it comes
before any of these would."""


@dataclass(frozen=True)
class Format:
    """How a moment is stored; None for what is no moment, of which nothing is known."""

    name: str | None


def agree(one: object, other: object) -> bool:
    """Whether two forms make the same of a value, as far as is known: text may be a moment in any format."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(agree(*pair) for pair in zip(one, other, strict=True))
    if isinstance(one, Format) and isinstance(other, Format):
        return one == other or None in {one.name, other.name}
    return one == other


def key_form(spec: EntitySpec, bound: BoundKey, names: Mapping[str, str] | None = None) -> Form:
    """What a key of an entity makes; `names`: what fields are called in the other design."""
    parts = tuple((part.attribute, attribute_form(spec, part, names or {})) for part in bound.attributes)
    return (parts, len(bound.partition))


def attribute_form(spec: EntitySpec, part: KeyAttribute, names: Mapping[str, str]) -> Form:
    """What one key attribute is made of."""
    if part.template is None:
        assert part.field is not None, "a key attribute is made by a template or a field"
        return ("field", names.get(part.field.name, part.field.name), part.type_code, _format(part.field))
    return tuple(
        (names.get(one.name, one.name), one.spec, kind_of(one.field.type))
        if isinstance(one, BoundHole) and one.name in spec.fields
        else (str(getattr(one, "text", one)),)
        for one in part.template.parts
    )


def _format(field: StoredField) -> Format:
    return Format((field.stored or "iso") if field.annotation is datetime else None)


def kind_of(annotation: Any) -> str:
    """What of a type shows in the text it makes."""
    bare, _ = without_none(annotation)
    if not isinstance(bare, type):
        return "plain"
    return next((kind.__name__ for kind in _KINDS if issubclass(bare, kind)), "plain")
