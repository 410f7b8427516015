"""Key texts that two declarations may share: questions to the template algebra, asked only where needed.

An automaton costs milliseconds, so texts whose beginnings already differ are told apart without one, and
answers are kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache

from keyplan.check.names import is_identifier
from keyplan.design.algebra import Overlap, captured, keys_overlap, range_captures
from keyplan.design.fields import StoredField
from keyplan.design.keys import KeyAttribute
from keyplan.design.template_errors import TemplateError
from keyplan.design.template_parse import Text
from keyplan.design.templates import BoundTemplate, parse

_KEPT = 4096


def as_template(part: KeyAttribute) -> BoundTemplate | None:
    """The texts of a key attribute, made by a template or by a field alone; None where it is no String."""
    if part.template is not None:
        return part.template
    return None if part.field is None else of_field(part.field)


def of_field(field: StoredField) -> BoundTemplate | None:
    """A String field as a template of one hole; None where no spec of a hole makes such texts."""
    if field.type_code != "S":
        return None
    text = f"{{{field.name}:utc_us}}" if field.annotation is datetime else f"{{{field.name}}}"
    try:
        return parse(text).bind({field.name: field.declared})
    except TemplateError:
        return None


def shared(left: Iterable[KeyAttribute], right: Iterable[KeyAttribute]) -> Overlap | None:
    """A key that both sides may make; None is a proof that there is none.

    Attributes that are Numbers or Binary on both sides can be equal, and decide nothing.
    """
    ours, theirs = [], []
    for one, other in zip(left, right, strict=True):
        if one.type_code != other.type_code:
            return None
        pair = as_template(one), as_template(other)
        if pair[0] is not None and pair[1] is not None:
            ours.append(pair[0])
            theirs.append(pair[1])
    return overlap(tuple(ours), tuple(theirs))


def overlap(left: tuple[BoundTemplate, ...], right: tuple[BoundTemplate, ...]) -> Overlap | None:
    """A key that both tuples of templates make."""
    if any(apart(*pair) for pair in zip(left, right, strict=True)):
        return None
    if left == right:
        return Overlap(tuple(template.text for template in left))
    return _overlap(left, right)


@lru_cache(_KEPT)
def _overlap(left: tuple[BoundTemplate, ...], right: tuple[BoundTemplate, ...]) -> Overlap | None:
    return keys_overlap(left, right)


def apart(one: BoundTemplate, other: BoundTemplate) -> bool:
    """Whether the beginnings alone tell two templates apart."""
    a, b = one.literal_prefix, other.literal_prefix
    if not (a.startswith(b) or b.startswith(a)):
        return True
    return _cannot_begin(one, b) or _cannot_begin(other, a)


def _cannot_begin(template: BoundTemplate, text: str) -> bool:
    """Whether a template that begins with a hole cannot begin with this text."""
    if template.literal_prefix or not text or not template.holes:
        return False
    first = template.holes[0].encoding
    return not first.may_be_empty and text[0] not in first.first


@lru_cache(_KEPT)
def begins(prefix: BoundTemplate, other: BoundTemplate, known: frozenset[str]) -> Overlap | None:
    """A key of `other` that begins with what `prefix` makes of the known fields."""
    return None if apart(prefix, other) else captured(prefix, other, known)


@lru_cache(_KEPT)
def in_range(template: BoundTemplate, other: BoundTemplate, known: frozenset[str]) -> str | None:
    """A key of `other` within some range over the hole of `template` after the known fields."""
    return None if apart(template, other) else range_captures(template, other, known)


def is_far_fetched(found: Overlap) -> bool:
    """Whether a shared key needs punctuation inside an identifier, which programs do not make so."""
    if found.plain:
        return False
    odd = [
        name
        for values in (found.left, found.right)
        for name, value in values.items()
        if isinstance(value, str) and not value.isalnum()
    ]
    return bool(odd) and all(is_identifier(name) for name in odd)


def skeleton(template: BoundTemplate) -> str:
    """The literal text of a template with the fields left out: USER#{} for USER#{user_id}."""
    return "".join(part.text if isinstance(part, Text) else "{}" for part in template.parts)


def constant(text: str) -> BoundTemplate:
    """A template of literal text."""
    return parse(text.replace("{", "{{").replace("}", "}}")).bind({})
