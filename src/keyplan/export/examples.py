"""Example values of a pattern's parameters, so that its request can be shown as it goes out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace
from typing import Any, Literal, get_args, get_origin, get_type_hints
from uuid import UUID

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from keyplan.design.algebra_automaton import Builder, shared_words
from keyplan.design.encodings_chars import ANY
from keyplan.design.encodings_language import Run
from keyplan.design.encodings_pattern import pattern_language
from keyplan.design.field_types import without_none
from keyplan.design.field_uses import field_uses
from keyplan.design.fields import StoredField
from keyplan.design.patterns import Pattern
from keyplan.design.symbols import Each, Param, annotation_of
from keyplan.design.template_field import Field
from keyplan.design.transactions import Transaction
from keyplan.export.example_limits import bounded, bounds_of, of_least_length

EXAMPLE_MOMENT = datetime(2026, 1, 31, 12, tzinfo=UTC)
_VALUES: tuple[tuple[type, Any], ...] = (
    (bool, True),
    (int, 1),
    (float, 1.5),
    (Decimal, Decimal("1.5")),
    (UUID, UUID("00000000-0000-7000-8000-000000000001")),
    (datetime, EXAMPLE_MOMENT),
    (date, date(2026, 1, 31)),
    (time, time(12)),
    (timedelta, timedelta(hours=1)),
    (bytes, b"bytes"),
)
Above = tuple[type[BaseModel], ...]
_COLLECTIONS: dict[type, Any] = {list: list, tuple: tuple, set: set, frozenset: frozenset}


def arguments_of(pattern: Pattern[..., Any]) -> dict[str, Any]:
    """An example of each argument of a pattern: of the field that it goes into, where it is of the same type."""
    fields = _fields_of(pattern)
    return {name: _argument(annotation_of(param), name, fields.get(name)) for name, param in pattern.parameters.items()}


def _fields_of(pattern: Pattern[..., Any]) -> dict[str, StoredField]:
    """The field that each parameter goes into, or each of its elements."""
    if isinstance(pattern, Transaction):
        steps = [(step.call.arguments, _fields_of(step.call.pattern)) for step in pattern.steps]
        used = [(source, fields.get(name)) for given, fields in steps for name, source in given.items()]
    else:
        known = {name: field for entity in reversed(pattern.plan.entities) for name, field in entity.fields.items()}
        used = [(source, known.get(name)) for name, source, _ in field_uses(pattern.plan)]
    sources = [(source.values if isinstance(source, Each) else source, field) for source, field in used]
    return {
        source._name: field
        for source, field in reversed(sources)
        if isinstance(source, Param) and not source._path and field is not None
    }


def _argument(annotation: Any, name: str, field: StoredField | None) -> Any:
    kind, _ = without_none(annotation)
    if field is not None and kind == field.annotation:
        return _of_field(field.info, name)
    if field is not None and get_origin(kind) is list and without_none(get_args(kind)[0])[0] == field.annotation:
        return [_of_field(field.info, name)]
    return example(annotation, name)


def _of_field(info: FieldInfo, name: str, above: Above = ()) -> Any:
    """An example of a field: one of its own, where it has any."""
    declared: Any = info.annotation
    for told in info.examples or ():
        try:
            return TypeAdapter(declared).validate_python(told)
        except ValidationError:
            continue  # verify tells that it does not fit
    return _fitting(example(declared, name, above), declared, name, info)


def example(annotation: Any, name: str, above: Above = ()) -> Any:
    """An example of a type; text is the name in angle brackets. `above`: the models that it is a part of."""
    return _fitting(_of_type(annotation, name, above), annotation, name)


def _fitting(value: Any, annotation: Any, name: str, info: FieldInfo | None = None) -> Any:
    """The value, or one like it that is within the declared limits."""
    declared = Field.of(name, annotation, info)
    if type(value) is str and declared.choices is None:
        return _matching(declared) if declared.pattern is not None else _of_length(value, declared)
    if type(value) in {int, float, Decimal} and declared.choices is None:
        return bounded(value, bounds_of(annotation, info))
    is_sized = isinstance(value, (bytes, list, tuple, set, frozenset, dict))
    return of_least_length(value, declared.min_length or 0) if is_sized else value


def _of_length(text: str, declared: Field) -> str:
    return text.ljust(declared.min_length or 0, ">")[: declared.max_length]


def _matching(declared: Field) -> str:
    """A text that the field's pattern lets through, the shortest that is known; the field's name where none is."""
    language = pattern_language(declared.pattern or "")
    if language is None:
        return f"<{declared.name}>"
    pattern, length = Builder(), Builder()
    pattern.add(language)
    length.add(Run(ANY, declared.min_length or 0, None))
    return next(shared_words(pattern.machine(), length.machine()), f"<{declared.name}>")


def _of_type(annotation: Any, name: str, above: Above) -> Any:
    kind, _ = without_none(annotation)
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin is Literal:
        return parts[0]
    if get_origin(kind) is tuple and Ellipsis not in parts:
        return tuple(example(part, name, above) for part in parts)
    if origin in _COLLECTIONS:
        element = parts[0] if parts else str
        return _COLLECTIONS[origin]([] if without_none(element)[0] in above else [example(element, name, above)])
    if origin in {dict, Mapping}:
        return {name: example(parts[1] if parts else str, name, above)}
    return _of_class(origin, name, above) if isinstance(origin, type) else f"<{name}>"


def _of_class(kind: type, name: str, above: Above) -> Any:
    if issubclass(kind, Enum):
        return next(iter(kind), f"<{name}>")
    if issubclass(kind, BaseModel):
        return f"<{name}>" if kind in above else example_model(kind, above)
    for known, value in _VALUES:
        if issubclass(kind, known):
            return value
    hints = {} if kind.__module__ == "builtins" else get_type_hints(kind, include_extras=True)
    # Of a dataclass, a named tuple or a protocol only what lies in it is asked for.
    return SimpleNamespace(**{of: example(hint, of) for of, hint in hints.items()}) if hints else f"<{name}>"


def example_model(model: type[BaseModel], above: Above = ()) -> BaseModel:
    """A model whose required fields are examples; others have their defaults."""
    inside = (*above, model)
    values = {
        name: _of_field(info, name, inside) if info.is_required() else info.get_default(call_default_factory=True)
        for name, info in model.model_fields.items()
    }
    return model.model_construct(**values)
