"""Example values of a pattern's parameters, so that its request can be shown as it goes out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace
from typing import Any, Literal, get_args, get_origin, get_type_hints
from uuid import UUID

from pydantic import BaseModel

from keyplan.design.field_types import without_none
from keyplan.design.patterns import Pattern
from keyplan.design.symbols import annotation_of

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
    """An example of each argument of a pattern."""
    return {name: example(annotation_of(param), name) for name, param in pattern.parameters.items()}


def example(annotation: Any, name: str, above: Above = ()) -> Any:
    """An example of a type; text is the name in angle brackets. `above`: the models that it is a part of."""
    kind, _ = without_none(annotation)
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin is Literal:
        return parts[0]
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
        name: example(info.annotation, name, inside)
        if info.is_required()
        else info.get_default(call_default_factory=True)
        for name, info in model.model_fields.items()
    }
    return model.model_construct(**values)
