"""Example values of a pattern's parameters, so that its request can be shown as it goes out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, get_args, get_origin
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
_COLLECTIONS: dict[type, Any] = {list: list, tuple: tuple, set: set, frozenset: frozenset}


def arguments_of(pattern: Pattern[..., Any]) -> dict[str, Any]:
    """An example of each argument of a pattern."""
    return {name: example(annotation_of(param), name) for name, param in pattern.parameters.items()}


def example(annotation: Any, name: str) -> Any:
    """An example of a type; text is the name in angle brackets."""
    kind, _ = without_none(annotation)
    origin = get_origin(kind) or kind
    if origin is Literal:
        return get_args(kind)[0]
    if origin in _COLLECTIONS:
        parts = get_args(kind)
        return _COLLECTIONS[origin]([example(parts[0] if parts else str, name)])
    if origin in {dict, Mapping}:
        parts = get_args(kind)
        return {name: example(parts[1] if parts else str, name)}
    if isinstance(origin, type) and issubclass(origin, Enum):
        return next(iter(origin))
    if isinstance(origin, type) and issubclass(origin, BaseModel):
        return example_model(origin)
    if isinstance(origin, type):
        for known, value in _VALUES:
            if issubclass(origin, known):
                return value
    return f"<{name}>"


def example_model(model: type[BaseModel]) -> BaseModel:
    """A model whose required fields are examples; others have their defaults."""
    values = {
        name: example(info.annotation, name) if info.is_required() else info.get_default(call_default_factory=True)
        for name, info in model.model_fields.items()
    }
    return model.model_construct(**values)
