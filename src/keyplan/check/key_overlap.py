"""Compares keys to find the keys that two entities can share, and the keys of other entities that a query also selects.

Two templates are compared with finite automata, which takes milliseconds. Results are cached, and templates with
different literal prefixes are not compared in this way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from keyplan.check.field_names import is_identifier_name
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.encodings import KeyPartError, MissingField, TemplateError
from keyplan.design.keys.entity_keys import BoundKeyAttribute
from keyplan.design.keys.languages import CharSet
from keyplan.design.keys.overlaps import Overlap, captured_overlap, keys_overlap, range_captures
from keyplan.design.keys.placeholders import Text
from keyplan.design.keys.templates import BoundTemplate, parse
from keyplan.design.parameters import CALL_SOURCES
from keyplan.design.planning.plan import KeyValue, SortCondition

_CACHE_SIZE = 4096


def as_template(part: BoundKeyAttribute) -> BoundTemplate | None:
    """Return the template of a key attribute, or None if the attribute is not a String.

    An attribute that stores a single field is treated as a template with one placeholder.
    """
    if part.template is not None:
        return part.template
    return None if part.field is None else field_template(part.field)


def field_template(field: StoredField) -> BoundTemplate | None:
    """Return a template with one placeholder for a String field, or None if no placeholder can encode the field."""
    if field.type_code != "S":
        return None
    text = f"{{{field.name}:utc_us}}" if field.annotation is datetime else f"{{{field.name}}}"
    try:
        return parse(text).bind({field.name: field.declared})
    except TemplateError:
        return None


def common_key(left: Iterable[BoundKeyAttribute], right: Iterable[BoundKeyAttribute]) -> Overlap | None:
    """Return a key that both lists of key attributes can produce, or None if no such key exists.

    Pairs of Number or Binary attributes are assumed to overlap.
    """
    left_templates, right_templates = [], []
    for first, second in zip(left, right, strict=True):
        if first.type_code != second.type_code:
            return None
        pair = as_template(first), as_template(second)
        if pair[0] is not None and pair[1] is not None:
            left_templates.append(pair[0])
            right_templates.append(pair[1])
    return overlap(tuple(left_templates), tuple(right_templates))


def overlap(left: tuple[BoundTemplate, ...], right: tuple[BoundTemplate, ...]) -> Overlap | None:
    """Return a key that both tuples of templates can produce, or None if they are disjoint."""
    if any(are_disjoint(*pair) for pair in zip(left, right, strict=True)):
        return None
    if left == right:
        return Overlap(tuple(template.text for template in left))
    return _overlap(left, right)


@lru_cache(_CACHE_SIZE)
def _overlap(left: tuple[BoundTemplate, ...], right: tuple[BoundTemplate, ...]) -> Overlap | None:
    return keys_overlap(left, right)


def are_disjoint(first: BoundTemplate, second: BoundTemplate) -> bool:
    """Return True if the literal prefixes of two templates show that the templates never produce the same string."""
    a, b = first.literal_prefix, second.literal_prefix
    if not (a.startswith(b) or b.startswith(a)):
        return True
    return _cannot_start_with(first, b) or _cannot_start_with(second, a)


def _cannot_start_with(template: BoundTemplate, text: str) -> bool:
    """Return True if a template starts with a placeholder whose text can never start with the first character of
    `text`.
    """
    if template.literal_prefix or not text or not template.placeholders:
        return False
    first = template.placeholders[0].encoding
    return not first.may_be_empty and text[0] not in first.first


@lru_cache(_CACHE_SIZE)
def prefix_overlap(prefix: BoundTemplate, template: BoundTemplate, known_fields: frozenset[str]) -> Overlap | None:
    """Return a key of `template` that a begins_with query for the keys of `prefix` would also return, or None if no
    such key exists.

    The query compares only the start of the keys, up to the first field that is not in `known_fields`.
    """
    return None if are_disjoint(prefix, template) else captured_overlap(prefix, template, known_fields)


@lru_cache(_CACHE_SIZE)
def range_overlap(template: BoundTemplate, other: BoundTemplate, known_fields: frozenset[str]) -> str | None:
    """Return a key of `other` that a range query for the keys of `template` would also return, or None if no such key
    exists.

    The range is on the first field that is not in `known_fields`.
    """
    return None if are_disjoint(template, other) else range_captures(template, other, known_fields)


def is_unlikely(overlap: Overlap) -> bool:
    """Return True if an overlap is unlikely in practice: it exists only for IDs that contain punctuation, which
    generated IDs do not contain.
    """
    if overlap.plain:
        return False
    punctuated = [
        name
        for values in (overlap.left, overlap.right)
        for name, value in values.items()
        if isinstance(value, str) and not value.isalnum()
    ]
    return bool(punctuated) and all(is_identifier_name(name) for name in punctuated)


def skeleton(template: BoundTemplate) -> str:
    """Return the literal text of a template with {} for each placeholder, such as USER#{} for USER#{user_id}."""
    return "".join(part.text if isinstance(part, Text) else "{}" for part in template.parts)


def constant_template(text: str) -> BoundTemplate:
    """Return a template that consists of a literal text."""
    return parse(text.replace("{", "{{").replace("}", "}}")).bind({})


@dataclass(frozen=True)
class Capture:
    """A key of another entity that a query's sort key condition also selects."""

    text: str
    exact: bool
    """False if the key is only a possible match, because only the first characters or the types of the keys were
    compared.
    """


def template_of(value: KeyValue) -> BoundTemplate | None:
    """Return a template that produces all possible strings of a value in a key condition, or None if the value is not a
    String.

    If all fields of the value are constants, the template is a literal text.
    """
    template = as_template(BoundKeyAttribute(value.attribute, value.template, value.field))
    if template is None or not template.fields:
        return template
    is_constant = all(
        name in value.sources and not isinstance(value.sources[name], CALL_SOURCES) for name in template.fields
    )
    if not is_constant:
        return template
    try:
        return constant_template(template.render(value.sources))
    except (KeyPartError, MissingField):
        return template


def may_share_partition(values: Sequence[KeyValue], parts: Sequence[BoundKeyAttribute]) -> bool:
    """Return True if the partition that a query reads can contain items with these partition key attributes."""
    for value, part in zip(values, parts, strict=False):
        if value.type_code != part.type_code:
            return False
        query_template, key_template = template_of(value), as_template(part)
        if query_template is None or key_template is None:
            continue
        overlapping = overlap((query_template,), (key_template,))
        if overlapping is None or not overlapping.plain:
            return False
    return True


def capture_of(conditions: Sequence[SortCondition], parts: Sequence[BoundKeyAttribute]) -> Capture | None:
    """Return a key of another entity that satisfies all sort key conditions of a query, or None if no such key exists.
    `parts` are the sort key attributes of the other entity.
    """
    capture = Capture("any", exact=False)
    for condition, part in zip(conditions, parts, strict=False):
        captured = _attribute_capture(condition, part)
        if captured is None:
            return None
        capture = captured
    return capture


def _attribute_capture(condition: SortCondition, part: BoundKeyAttribute) -> Capture | None:
    if condition.low.type_code != part.type_code:
        return None
    query_template, key_template = template_of(condition.low), as_template(part)
    if query_template is None or key_template is None:
        return Capture(f"a {'Number' if part.type_code == 'N' else 'value'} of {part.attribute}", exact=False)
    if condition.op == "=":
        return _as_capture(overlap((query_template,), (key_template,)))
    if condition.op == "begins_with":
        return _as_capture(
            prefix_overlap(query_template, key_template, _constant_fields(condition.low, query_template))
        )
    if condition.op == "BETWEEN":
        return _between_capture(condition, query_template, key_template)
    return _open_range_capture(condition.op, query_template, key_template)


def _as_capture(overlap: Overlap | None) -> Capture | None:
    if overlap is None or not overlap.plain or is_unlikely(overlap):
        return None
    return Capture(overlap.text, exact=overlap.certain)


def _constant_fields(value: KeyValue, template: BoundTemplate) -> frozenset[str]:
    """Return the fields of a begins_with condition whose whole values are in the prefix. If the prefix ends within the
    value of the last field, this field is not returned.
    """
    names = [name for name in dict.fromkeys(template.fields) if name in value.sources]
    return frozenset(names[:-1] if value.part == "begins" else names)


def _between_capture(
    condition: SortCondition, query_template: BoundTemplate, key_template: BoundTemplate
) -> Capture | None:
    low, high = condition.low, condition.high
    assert high is not None, "BETWEEN has two ends"
    if low.part == "whole":
        return _text_range_capture(query_template, template_of(high), key_template)
    names = [name for name in dict.fromkeys(query_template.fields) if name in low.sources and name in high.sources]
    is_one_sided = set(low.sources) != set(high.sources)
    text = range_overlap(query_template, key_template, frozenset(names if is_one_sided else names[:-1]))
    return None if text is None else Capture(text, exact=True)


def _text_range_capture(low: BoundTemplate, high: BoundTemplate | None, key_template: BoundTemplate) -> Capture | None:
    """Return a key of `key_template` that might be between the bounds of a BETWEEN condition, or None if no such key
    exists.

    Only the common prefix of the two bounds is compared. If the bounds have no common prefix, only the first characters
    are compared.
    """
    if high is None:
        return None
    common_prefix = _common_prefix(low.literal_prefix, high.literal_prefix)
    if common_prefix:
        return _as_capture(prefix_overlap(constant_template(common_prefix), key_template, frozenset()))
    first_characters = _first_characters(key_template)
    is_inside = (
        first_characters.highest >= _first_characters(low).lowest
        and first_characters.lowest <= _first_characters(high).highest
    )
    return Capture(key_template.text, exact=False) if is_inside else None


def _common_prefix(first: str, second: str) -> str:
    size = next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
    return first[:size]


def _open_range_capture(op: str, query_template: BoundTemplate, key_template: BoundTemplate) -> Capture | None:
    bound, first_characters = _first_characters(query_template), _first_characters(key_template)
    is_inside = (
        first_characters.lowest <= bound.highest if op in {"<", "<="} else first_characters.highest >= bound.lowest
    )
    return Capture(key_template.text, exact=False) if is_inside else None


def _first_characters(template: BoundTemplate) -> CharSet:
    if template.literal_prefix:
        return CharSet.from_text(template.literal_prefix[0])
    return template.placeholders[0].encoding.first
