"""Computes size limits from declarations: the sizes of items and keys in bytes, nesting levels, and
unbounded fields.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from keyplan.check.field_names import is_identifier, is_time_name, kind_of
from keyplan.check.finding import Finding
from keyplan.check.key_overlap import as_template
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.conditions.conditions import FieldPath
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.annotations import DeclaredField, without_none
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.design.keys.templates import BoundTemplate

_CHARACTER_BYTES = 4
_NUMBER_BYTES = 21
_CONTAINER_BYTES = 3


def max_item_bytes(entity: EntitySpec) -> tuple[int, str]:
    """Return the maximum total size of an entity's bounded fields in bytes, and the name of the largest field.

    The size of unbounded fields is not included, so items of an entity with such fields can be larger.
    """
    sizes = {
        field.name: len(field.attribute.encode()) + (max_bytes(field.info.annotation, field.info) or 0)
        for field in entity.fields.values()
    }
    return sum(sizes.values()), max(sizes, key=lambda name: sizes[name], default="")


def min_item_bytes(entity: EntitySpec) -> int:
    """Return the minimum size of an entity's items in bytes: the names of the required attributes and the shortest
    possible key.
    """
    always = {part.attribute for part in entity.key.attributes}
    for name, field in entity.fields.items():
        if not field.optional and not field.is_set and name not in entity.key_only_fields:
            always.add(field.attribute)
    keys = sum(part.template.min_bytes for part in entity.key.attributes if part.template is not None)
    return keys + sum(len(attribute.encode()) for attribute in always)


def max_bytes(annotation: Any, info: FieldInfo | None = None) -> int | None:
    """Return the maximum size of an attribute value of this type in bytes, or None if it is unbounded."""
    field = DeclaredField.from_annotation("value", annotation, info)
    bare, _ = without_none(annotation)
    origin = get_origin(bare) or bare
    if field.choices is not None:
        return max(len(str(choice).encode()) for choice in field.stored_choices)
    if origin is str:
        return None if field.max_length is None else field.max_length * _CHARACTER_BYTES
    if origin in {bytes, bytearray}:
        return field.max_length
    if origin in {list, set, frozenset}:
        return _max_bytes_of_members(bare, field.max_length)
    if isinstance(origin, type) and issubclass(origin, BaseModel):
        return _max_bytes_of_model(origin)
    return None if origin in {dict, Union, types.UnionType, tuple, Any, object} else _NUMBER_BYTES + 15


def _max_bytes_of_members(bare: Any, count: int | None) -> int | None:
    each_bytes = max_bytes(get_args(bare)[0]) if get_args(bare) else None
    return None if each_bytes is None or count is None else _CONTAINER_BYTES + count * (each_bytes + 1)


def _max_bytes_of_model(model: type[BaseModel]) -> int | None:
    if is_recursive(model):
        return None
    total = _CONTAINER_BYTES
    for name, info in model.model_fields.items():
        field_bytes = max_bytes(info.annotation, info)
        if field_bytes is None:
            return None
        total += len(name.encode()) + field_bytes + 1
    return total


def is_recursive(model: type[BaseModel]) -> bool:
    """Return True if a value of a model can contain another value of the same model."""
    return model in _models_in(model, set())


def _models_in(model: type[BaseModel], models: set[type[BaseModel]]) -> set[type[BaseModel]]:
    for info in model.model_fields.values():
        for inner in _models_of(info.annotation):
            if inner not in models:
                models.add(inner)
                _models_in(inner, models)
    return models


def _models_of(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_of(part)]


def nesting(annotation: Any) -> int | None:
    """Return how many levels of lists and maps a value of this type can have, or None if the number is unlimited."""
    bare, _ = without_none(annotation)
    if get_origin(bare) is Annotated:
        return nesting(get_args(bare)[0])
    origin = get_origin(bare) or bare
    if origin is Literal:
        return 0
    if isinstance(origin, type) and issubclass(origin, BaseModel):
        if is_recursive(origin):
            return None
        return _add_level([nesting(info.annotation) for info in origin.model_fields.values()])
    inner = [nesting(part) for part in get_args(bare) if part is not ...]
    if origin in {list, tuple, dict}:
        return _add_level(inner)
    return None if None in inner else max((level for level in inner if level is not None), default=0)


def _add_level(levels: list[int | None]) -> int | None:
    return None if None in levels else 1 + max((level for level in levels if level is not None), default=0)


def is_unbounded(field: StoredField, path: FieldPath) -> bool:
    """Return True if no declaration limits the number of elements of the list, map or set field to which `path` refers.

    Return False if the path refers to a value within a field.
    """
    if len(path.parts) > 1:
        return False
    if field.declared.max_length is not None:
        return False
    members = get_args(field.annotation)
    if field.is_set and members:
        member, _ = without_none(members[0])
        return not (get_origin(member) is Literal or (isinstance(member, type) and issubclass(member, Enum)))
    return True


def too_long_key(
    rule: Rule[Subject], entity: EntitySpec, bound: BoundKey, part: BoundKeyAttribute, limit: int
) -> Iterator[Finding]:
    """Yield a finding of `rule` if a key attribute can exceed `limit` bytes according to the declared lengths of its
    fields.

    `part` is the key attribute, and `bound` is the key to which it belongs.
    """
    allowed_bytes = _max_bytes_of_attribute(part)
    if allowed_bytes is not None and allowed_bytes > limit:
        field = _longest_field(part, entity)
        yield rule.finding(
            entity.name,
            f"writes of {entity.name} fail when {part.attribute} of {entity.schema.label_of(bound.index)} ({part.text})"
            f" exceeds {limit:,} bytes; the declared lengths allow {allowed_bytes:,}",
            f"declare a smaller max_length or an ASCII pattern for {field}, or keep it out of the key",
            bound.place.at(part.text) if part.template else bound.place,
            entity.schema.place_of(bound.index),
            severity="error",
        )


def unbounded_key(
    rule: Rule[Subject], entity: EntitySpec, keys: Iterable[tuple[BoundKey, BoundKeyAttribute]], limit: int
) -> Iterator[Finding]:
    """Yield a finding of `rule` for each free-text field without a maximum length in the given key attributes of an
    entity.

    Each key attribute is paired with the key to which it belongs. `limit` is the maximum size of a key attribute in
    bytes.
    """
    reported: set[str] = set()
    for bound, part in keys:
        template = as_template(part)
        for name in _unbounded_fields(template, entity) if template is not None else ():
            if name not in reported:
                reported.add(name)
                yield _unbounded_key_field(rule, entity, (bound, part), name, limit)


def _unbounded_fields(template: BoundTemplate, entity: EntitySpec) -> Iterator[str]:
    if template.max_bytes is not None:
        return
    for placeholder in template.placeholders:
        if placeholder.encoding.max_bytes is None and _is_free_text(entity.fields[placeholder.name]):
            yield placeholder.name


def _unbounded_key_field(
    rule: Rule[Subject], entity: EntitySpec, key_attribute: tuple[BoundKey, BoundKeyAttribute], name: str, limit: int
) -> Finding:
    bound, part = key_attribute
    template = as_template(part)
    assert template is not None, "the caller looked"
    return rule.finding(
        entity.name,
        f"{entity.name}.{name} has no max_length and can make {part.attribute} of"
        f" {entity.schema.label_of(bound.index)} too long: writes over {limit:,} bytes fail",
        f"declare {name}: Annotated[str, Field(max_length={_fitting_length(template, limit)})]",
        bound.place.at(part.text) if part.template else entity.place.at(f"{name}:", width=len(name)),
        entity.place,
        severity="advice",
        item=f"{entity.name}.{name}",
    )


def _is_free_text(field: StoredField) -> bool:
    """Return True if a field's type, `Attribute(kind=...)` and name indicate free text rather than generated values."""
    text = field.declared.type is str and not is_identifier(field)
    return text and kind_of(field) is None and not is_time_name(field.name)


def _fitting_length(template: BoundTemplate, limit: int) -> int:
    """Return the maximum length in characters to declare for each unbounded field of a key, so that the key has at most
    `limit` bytes.

    Each character is assumed to need four bytes. The result is rounded down to a multiple of 10, but is at least 1.
    """
    open_ends = sum(1 for placeholder in template.placeholders if placeholder.encoding.max_bytes is None)
    return max(1, (limit - template.min_bytes) // (4 * max(1, open_ends)) // 10 * 10)


def _max_bytes_of_attribute(part: BoundKeyAttribute) -> int | None:
    template = as_template(part)
    if template is not None:
        return template.max_bytes
    return None if part.field is None or part.type_code != "B" else part.field.declared.max_length


def _longest_field(part: BoundKeyAttribute, entity: EntitySpec) -> str:
    template = as_template(part)
    if template is None:
        return f"{entity.name}.{part.fields[0]}"
    if not template.placeholders:
        return f"the text of {part.attribute}"
    return (
        f"{entity.name}.{max(template.placeholders, key=lambda placeholder: placeholder.encoding.max_bytes or 0).name}"
    )
