"""Compares field types: whether stored values of one type can be read as another type, and which values cannot."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal, Union, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from keyplan.design.fields.annotations import (
    DeclaredField,
    StoredAs,
    UnstorableTypeError,
    attribute_of,
    type_code,
    without_none,
)
from keyplan.design.fields.stored import StoredField

_SHOWN = 6
"""The maximum number of values that a message lists."""


LossKind = Literal["type", "gone", "narrowed", "missing"]
"""The reason why stored values might be unreadable.

"type": the attribute type or format differs. "gone": values were removed from the choices. "narrowed": values can
violate new limits. "missing": a required attribute can be missing.
"""


def name_of(kind: Any) -> str:
    """Return the name of a type without the names of modules."""
    bare, _ = without_none(kind)
    if isinstance(bare, type) and not get_args(bare):
        return bare.__name__
    if get_origin(bare) in {Union, types.UnionType}:
        return " or ".join(name_of(argument) for argument in get_args(bare))
    if get_origin(bare) is Literal:
        return format_values(get_args(bare))
    origin = getattr(get_origin(bare), "__name__", str(bare))
    return f"{origin}[{', '.join('...' if argument is Ellipsis else name_of(argument) for argument in get_args(bare))}]"


def format_values(values: Sequence[Any]) -> str:
    """Format up to six values of a sequence, followed by the number of remaining values."""
    values_text = ", ".join(repr(value) for value in values[:_SHOWN])
    return values_text if len(values) <= _SHOWN else f"{values_text} and {len(values) - _SHOWN} more"


@dataclass(frozen=True)
class Loss:
    """A reason why stored values might be unreadable."""

    kind: LossKind
    text: str
    values: tuple[Any, ...] = field(default=(), compare=False)
    """The values that were removed from the choices, if this is the only difference between the types."""


@dataclass(frozen=True)
class _TypePair:
    """The type of the stored values and the type with which they are read."""

    old: Any
    new: Any
    old_info: FieldInfo | None
    new_info: FieldInfo | None
    path: str
    visited: frozenset[tuple[int, int]] = frozenset()

    def part(self, old: Any, new: Any, path: str) -> _TypePair:
        return _TypePair(old, new, None, None, path, self.visited)


def losses(old: StoredField, new: StoredField) -> list[Loss]:
    """Return the reasons why stored values of the old field might be unreadable as values of the new field, or an empty
    list.
    """
    absences = list(_presence_losses(old, new))
    if old.type_code != new.type_code and "ANY" not in {old.type_code, new.type_code}:
        return [*absences, Loss("type", f"stored as {old.type_code}, read as {new.type_code}")]
    if _formats_differ(old.stored, new.stored):
        return [*absences, Loss("type", f"stored as {old.stored}, read as {new.stored}")]
    pair = _TypePair(old.info.annotation, new.info.annotation, old.info, new.info, "")
    return list(dict.fromkeys([*absences, *_type_losses(pair)]))


def _formats_differ(old: StoredAs | None, new: StoredAs | None) -> bool:
    """Return True if a datetime is stored in epoch seconds in one design and in epoch milliseconds in the other.

    Differences between ISO 8601 formats are ignored, because such strings can be read with any declared format.
    """
    numbers = {"epoch_s", "epoch_ms"}
    return old != new and old in numbers and new in numbers


def is_absent(old: StoredField, new: StoredField) -> bool:
    """Return True if the new field is required and might be missing from stored items."""
    return (old.optional or old.is_set) and new.is_needed


def _presence_losses(old: StoredField, new: StoredField) -> Iterator[Loss]:
    """Yield a reason why values might be unreadable if the new field is required and might be missing from stored
    items.
    """
    if is_absent(old, new):
        yield Loss("missing", "it is now required, but stored items may not have it")


def _type_losses(pair: _TypePair) -> Iterator[Loss]:
    (old, _), (new, may_be_none) = without_none(pair.old), without_none(pair.new)
    if pair.path and without_none(pair.old)[1] and not may_be_none and new not in {Any, object}:
        yield Loss("narrowed", f"{pair.path} may be stored as None, which is no longer allowed")
    if new in {Any, object}:
        return
    if old in {Any, object}:
        yield Loss("narrowed", f"{_path_prefix(pair)}any value may be stored, but only {name_of(new)} can be read")
        return
    if _is_union(old) or _is_union(new):
        yield from _union_losses(pair, old, new)
        return
    yield from _single_losses(pair, old, new)
    yield from _limit_losses(pair)


def _single_losses(pair: _TypePair, old: Any, new: Any) -> Iterator[Loss]:
    """Yield the reasons why values of the old type might be unreadable as the new type. Neither of the types is a
    union.
    """
    old_values, new_values = _values(pair.old), _values(pair.new)
    if new_values is not None:
        yield from _choice_losses(pair, old_values, new_values)
        return
    if old_values is not None:
        old = type(old_values[0]) if old_values and len({type(value) for value in old_values}) == 1 else object
    first, second = get_origin(old) or old, get_origin(new) or new
    if "ANY" not in {_code(old), _code(new)} and _code(old) != _code(new):
        yield Loss(
            "type", f"{_path_prefix(pair)}{name_of(old)} is stored as {_code(old)}, {name_of(new)} as {_code(new)}"
        )
        return
    if _is_model(first) or _is_model(second):
        yield from _model_losses(pair, first, second)
    elif get_args(old) and get_args(new):
        yield from _container_losses(pair, old, new)
    else:
        yield from _scalar_losses(pair, first, second)


# Listed values.


def _values(annotation: Any) -> tuple[Any, ...] | None:
    """Return the stored values of all members of an Enum or Literal type, or None for other types."""
    declared = DeclaredField.from_annotation("", annotation)
    return None if declared.choices is None else declared.stored_choices


def _choice_losses(pair: _TypePair, old_values: tuple[Any, ...] | None, new_values: tuple[Any, ...]) -> Iterator[Loss]:
    if old_values is None:
        yield Loss(
            "narrowed",
            f"{_path_prefix(pair)}any {name_of(pair.old)} may be stored, but only {format_values(new_values)} can"
            " be read",
        )
        return
    removed = [value for value in old_values if value not in new_values]
    if removed:
        values = () if pair.path else tuple(removed)
        yield Loss(
            "gone",
            f"{_path_prefix(pair)}{format_values(removed)} may be stored, but only {format_values(new_values)}"
            " can be read",
            values,
        )


# Parts of a type.


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in {Union, types.UnionType}


def _union_losses(pair: _TypePair, old: Any, new: Any) -> Iterator[Loss]:
    """Yield a reason for each member of the old union whose values cannot be read as any member of the new union."""
    new_members = get_args(new) if _is_union(new) else (new,)
    for part in get_args(old) if _is_union(old) else (old,):
        if all(list(_type_losses(pair.part(part, member, pair.path))) for member in new_members):
            yield Loss(
                "narrowed", f"{_path_prefix(pair)}{name_of(part)} may be stored, but only {name_of(new)} can be read"
            )


def _container_losses(pair: _TypePair, old: Any, new: Any) -> Iterator[Loss]:
    old_parts, new_parts = get_args(old), get_args(new)
    is_fixed = [get_origin(kind) is tuple and Ellipsis not in get_args(kind) for kind in (old, new)]
    if is_fixed[1] and (not is_fixed[0] or len(old_parts) != len(new_parts)):
        yield Loss(
            "narrowed", f"{_path_prefix(pair)}{name_of(old)} may be stored, but exactly {len(new_parts)} parts are read"
        )
        return
    stored_parts, read_parts = ([part for part in parts if part is not Ellipsis] for parts in (old_parts, new_parts))
    if is_fixed[0] and not is_fixed[1]:
        read_parts = read_parts * len(stored_parts)
    for position, (first, other) in enumerate(zip(stored_parts, read_parts, strict=False)):
        name = "each key" if len(stored_parts) == 2 and position == 0 and not is_fixed[0] else "each part"
        yield from _type_losses(pair.part(first, other, f"{name} of {pair.path}" if pair.path else name))


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _model_losses(pair: _TypePair, old: Any, new: Any) -> Iterator[Loss]:
    """Yield the reasons why maps that were stored for the old model might be unreadable with the new model."""
    if not (_is_model(old) and _is_model(new)):
        parts = get_args(pair.new)
        if _is_model(new) or (parts and parts[-1] not in {Any, object}):
            yield Loss(
                "narrowed", f"{_path_prefix(pair)}any {name_of(old)} may be stored, but {name_of(pair.new)} is read"
            )
        return
    if (id(old), id(new)) in pair.visited:
        return
    visited = pair.visited | {(id(old), id(new))}
    old_fields, new_fields = _fields_of(old), _fields_of(new)
    for name, (label, info) in new_fields.items():
        path = f"{pair.path}.{label}" if pair.path else label
        if name not in old_fields:
            if info.is_required() and not without_none(info.annotation)[1]:
                yield Loss("missing", f"{path} is required, but stored items do not have it")
            continue
        old_info = old_fields[name][1]
        yield from _type_losses(_TypePair(old_info.annotation, info.annotation, old_info, info, path, visited))
    removed = [label for name, (label, _) in old_fields.items() if name not in new_fields]
    if removed and new.model_config.get("extra") == "forbid":
        yield Loss(
            "gone", f"{_path_prefix(pair)}{', '.join(removed)} may be stored, but {new.__name__} no longer accepts it"
        )
    yield from added_validators(old, new)


def parts_of(annotation: Any, within: str = "", visited: frozenset[type] = frozenset()) -> Iterator[str]:
    """Yield the paths of the fields of all models that a type contains, such as `city` or, for a list of models,
    `steps.at`.
    """
    kind, _ = without_none(annotation)
    if _is_model(kind) and kind not in visited:
        for label, (name, info) in _fields_of(kind).items():
            yield f"{within}{name}" + (f" ({label})" if label != name else "")
            yield from parts_of(info.annotation, f"{within}{name}.", visited | {kind})
    for part in get_args(kind) if get_origin(kind) is not Literal else ():
        yield from parts_of(part, within, visited)


def _fields_of(model: type[BaseModel]) -> Mapping[str, tuple[str, FieldInfo]]:
    """Map the stored name of each field of a model to a pair: the name of the field in the model, and its
    declaration.
    """
    return {attribute_of(info).name or name: (name, info) for name, info in model.model_fields.items()}


def added_validators(old: type[BaseModel], new: type[BaseModel]) -> Iterator[Loss]:
    """Yield a reason why items might be unreadable for each validator that the new model has but the old model does not
    have. Validators are compared only by name.
    """
    for name in sorted(_validators(new) - _validators(old)):
        yield Loss("narrowed", f"{new.__name__} has a new validator, {name}: values that it rejects cannot be read")


def _validators(model: type[BaseModel]) -> set[str]:
    decorators = model.__pydantic_decorators__
    return {
        *decorators.field_validators,
        *decorators.model_validators,
        *decorators.validators,
        *decorators.root_validators,
    }


# Single values.

_TEXTS: tuple[type, ...] = (UUID, datetime, date, time)
_NUMBERS: tuple[type, ...] = (int, float, Decimal)


def _scalar_losses(pair: _TypePair, old: Any, new: Any) -> Iterator[Loss]:
    if not (isinstance(old, type) and isinstance(new, type)) or _family(old) == _family(new):
        return
    old_family, new_family = _family(old), _family(new)
    widened = (old_family in _TEXTS and new_family is str) or (old_family is int and new_family in {float, Decimal})
    if widened or (old_family is float and new_family is Decimal):
        return
    if {old_family, new_family} <= {str, *_TEXTS} or {old_family, new_family} <= {*_NUMBERS, timedelta, datetime}:
        yield Loss("narrowed", f"{_path_prefix(pair)}{name_of(old)} is stored, but {name_of(new)} is read")


def _family(kind: type) -> type:
    """Return the base type that determines how values of a type are stored and read, such as str for a
    subclass of str.
    """
    families = (bool, datetime, date, time, timedelta, UUID, bytes, str, int, float, Decimal)
    return next((family for family in families if issubclass(kind, family)), kind)


def _code(kind: Any) -> str:
    try:
        return type_code(kind)
    except UnstorableTypeError:
        return "ANY"


# Limits.


def _limit_losses(pair: _TypePair) -> Iterator[Loss]:
    old_field, new_field = (
        DeclaredField.from_annotation("", pair.old, pair.old_info),
        DeclaredField.from_annotation("", pair.new, pair.new_info),
    )
    if new_field.choices is not None:
        return
    for name, word, sign in _BOUNDS:
        before, after = getattr(old_field, name), getattr(new_field, name)
        if after is not None and (before is None or (after - before) * sign > 0):
            limit_text = "without such a limit" if before is None else f"of {before}"
            yield Loss("narrowed", f"{_path_prefix(pair)}{word} is now {after}, but values {limit_text} may be stored")
    if new_field.pattern is not None and new_field.pattern != old_field.pattern:
        yield Loss("narrowed", f"{_path_prefix(pair)}values that do not match {new_field.pattern} may be stored")
    for name in sorted(_functions(pair.new_info) - _functions(pair.old_info)):
        yield Loss("narrowed", f"{_path_prefix(pair)}a new validator, {name}, may reject stored values")


_BOUNDS = (
    ("min_length", "the minimum length", 1),
    ("max_length", "the maximum length", -1),
    ("minimum", "the minimum", 1),
    ("maximum", "the maximum", -1),
)


def _functions(info: FieldInfo | None) -> set[str]:
    """Return the names of the validator functions in a field's annotation."""
    marks = () if info is None else info.metadata
    functions = (getattr(mark, "func", None) for mark in marks)
    return {
        getattr(function, "__qualname__", type(function).__name__) for function in functions if function is not None
    }


def _path_prefix(pair: _TypePair) -> str:
    return f"{pair.path}: " if pair.path else ""
