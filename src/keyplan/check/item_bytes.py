"""How large items can get by what their fields declare, and which fields nothing bounds."""

from __future__ import annotations

import types
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from keyplan.design.conditions import Path
from keyplan.design.entities import EntitySpec
from keyplan.design.field_types import without_none
from keyplan.design.fields import StoredField
from keyplan.design.template_field import Field

_BYTES_OF_A_CHARACTER = 4
_BYTES_OF_A_NUMBER = 21
_BYTES_OF_A_CONTAINER = 3


def most_item_bytes(entity: EntitySpec) -> tuple[int, str]:
    """The bytes that bounded fields can take at most, and the field that can take most of them.

    Fields that nothing bounds count as nothing: what is told is a floor of what is possible.
    """
    sizes = {
        field.name: len(field.attribute.encode()) + (most_bytes(field.info.annotation, field.info) or 0)
        for field in entity.fields.values()
    }
    return sum(sizes.values()), max(sizes, key=lambda name: sizes[name], default="")


def most_bytes(annotation: Any, info: FieldInfo | None = None) -> int | None:
    """The most bytes that a value of a type can take as an attribute value; None where nothing bounds it."""
    field = Field.of("value", annotation, info)
    bare, _ = without_none(annotation)
    origin = get_origin(bare) or bare
    if field.choices is not None:
        return max(len(str(choice).encode()) for choice in field.stored_choices)
    if origin is str:
        return None if field.max_length is None else field.max_length * _BYTES_OF_A_CHARACTER
    if origin in {bytes, bytearray}:
        return field.max_length
    if origin in {list, set, frozenset}:
        return _members(bare, field.max_length)
    if isinstance(origin, type) and issubclass(origin, BaseModel):
        return _model(origin)
    return None if origin in {dict, Union, types.UnionType, tuple, Any, object} else _BYTES_OF_A_NUMBER + 15


def _members(bare: Any, count: int | None) -> int | None:
    one = most_bytes(get_args(bare)[0]) if get_args(bare) else None
    return None if one is None or count is None else _BYTES_OF_A_CONTAINER + count * (one + 1)


def _model(model: type[BaseModel]) -> int | None:
    if is_recursive(model):
        return None
    total = _BYTES_OF_A_CONTAINER
    for name, info in model.model_fields.items():
        one = most_bytes(info.annotation, info)
        if one is None:
            return None
        total += len(name.encode()) + one + 1
    return total


def is_recursive(model: type[BaseModel]) -> bool:
    """Whether values of a model may hold values of the same model."""
    return model in _models_in(model, set())


def _models_in(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[type[BaseModel]]:
    for info in model.model_fields.values():
        for inner in _models_of(info.annotation):
            if inner not in seen:
                seen.add(inner)
                _models_in(inner, seen)
    return seen


def _models_of(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_of(part)]


def nesting(annotation: Any) -> int | None:
    """How many lists and maps lie in one another in a value; None where nothing bounds it."""
    bare, _ = without_none(annotation)
    if get_origin(bare) is Annotated:
        return nesting(get_args(bare)[0])
    origin = get_origin(bare) or bare
    if origin is Literal:
        return 0
    if isinstance(origin, type) and issubclass(origin, BaseModel):
        if is_recursive(origin):
            return None
        return _one_more([nesting(info.annotation) for info in origin.model_fields.values()])
    inner = [nesting(part) for part in get_args(bare) if part is not ...]
    if origin in {list, tuple, dict}:
        return _one_more(inner)
    return None if None in inner else max((one for one in inner if one is not None), default=0)


def _one_more(inner: list[int | None]) -> int | None:
    return None if None in inner else 1 + max((one for one in inner if one is not None), default=0)


def grows_without_end(stored: StoredField, path: Path) -> bool:
    """Whether adding members to a field is bounded by nothing: neither a length nor a set of choices."""
    if len(path.parts) > 1:
        return False
    if stored.declared.max_length is not None:
        return False
    members = get_args(stored.annotation)
    if stored.is_set and members:
        member, _ = without_none(members[0])
        return not (get_origin(member) is Literal or (isinstance(member, type) and issubclass(member, Enum)))
    return True
