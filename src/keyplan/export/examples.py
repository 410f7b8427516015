"""Example values of a pattern's parameters, so that its request can be shown as it goes out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import islice
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
from keyplan.export.example_limits import bounds_of, nth_bounded, of_least_length

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


@dataclass(frozen=True)
class Scope:
    """The position of an example: in which models, and for which of several parameters that would have the same value.

    `models` are those that the value is a part of. `turn` is 0 for the first such parameter. Text of a model's field
    starts with `prefix`, for example "to_address.".
    """

    models: tuple[type[BaseModel], ...] = ()
    turn: int = 0
    prefix: str = ""


_FIRST = Scope()


def arguments_of(pattern: Pattern[..., Any]) -> dict[str, Any]:
    """Return an example of each argument of a pattern: of the field that it goes into, where it is of the same type.

    Parameters of the same model, or for the same field, have different values where their declarations allow it:
    a transaction may not write to one item twice.
    """
    fields = _fields_of(pattern)
    sources: list[StoredField | type[BaseModel] | None] = []
    arguments = {}
    for name, param in pattern.parameters.items():
        source = _source(annotation_of(param), fields.get(name))
        turn = 0 if source is None else sum(earlier is source for earlier in sources)
        sources.append(source)
        scope = Scope(turn=turn, prefix=f"{name}." if turn else "")
        arguments[name] = _argument(annotation_of(param), name, fields.get(name), scope)
    return arguments


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


def _kinds(annotation: Any) -> tuple[Any, Any]:
    """Return the type of a parameter and that of its elements; both are the same unless it is a list."""
    kind, _ = without_none(annotation)
    return kind, without_none(get_args(kind)[0])[0] if get_origin(kind) is list else kind


def _source(annotation: Any, field: StoredField | None) -> StoredField | type[BaseModel] | None:
    """Return the field or the model that the example of a parameter is made from; None if neither is."""
    kind, element = _kinds(annotation)
    if field is not None and field.annotation in (kind, element):
        return field
    return element if isinstance(element, type) and issubclass(element, BaseModel) else None


def _argument(annotation: Any, name: str, field: StoredField | None, scope: Scope) -> Any:
    kind, element = _kinds(annotation)
    if field is not None and kind == field.annotation:
        return _of_field(field.info, name, scope)
    if field is not None and element == field.annotation:
        return [_of_field(field.info, name, scope)]
    return example(annotation, name, scope)


def _of_field(info: FieldInfo, name: str, scope: Scope) -> Any:
    """Return an example of a field: one of its own, where it has any."""
    declared: Any = info.annotation
    own = list(_own_examples(info))
    if own:
        return own[scope.turn % len(own)]
    return _fitting(_of_type(declared, name, scope), declared, name, scope, info)


def _own_examples(info: FieldInfo) -> Iterator[Any]:
    annotation: Any = info.annotation
    for declared in info.examples or ():
        try:
            yield TypeAdapter(annotation).validate_python(declared)
        except ValidationError:
            continue  # verify reports that it does not fit


def example(annotation: Any, name: str, scope: Scope = _FIRST) -> Any:
    """Return an example of a type; text is the name in angle brackets."""
    return _fitting(_of_type(annotation, name, scope), annotation, name, scope)


def _fitting(value: Any, annotation: Any, name: str, scope: Scope, info: FieldInfo | None = None) -> Any:
    """Return the value, or one like it that is within the declared limits."""
    declared = Field.of(name, annotation, info)
    if type(value) is str and declared.choices is None:
        return _matching(declared, scope.turn) if declared.pattern is not None else _of_length(value, declared)
    if type(value) in {int, float, Decimal} and declared.choices is None:
        return nth_bounded(value, bounds_of(annotation, info), scope.turn)
    is_sized = isinstance(value, (bytes, list, tuple, set, frozenset, dict))
    return of_least_length(value, declared.min_length or 0) if is_sized else value


def _of_length(text: str, declared: Field) -> str:
    return text.ljust(declared.min_length or 0, ">")[: declared.max_length]


def _matching(declared: Field, turn: int) -> str:
    """Return a text that the field's pattern accepts, a short one, another for each turn while more are known.

    It is the field's name in angle brackets if no text is known.
    """
    language = pattern_language(declared.pattern or "")
    if language is None:
        return f"<{declared.name}>"
    pattern, length = Builder(), Builder()
    pattern.add(language)
    length.add(Run(ANY, declared.min_length or 0, None))
    words = shared_words(pattern.machine(), length.machine(), visits=turn + 1, variety=turn + 1)
    return ([f"<{declared.name}>", *islice(words, turn + 1)])[-1]


def _of_type(annotation: Any, name: str, scope: Scope) -> Any:
    kind, _ = without_none(annotation)
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin is Literal:
        return parts[scope.turn % len(parts)]
    if get_origin(kind) is tuple and Ellipsis not in parts:
        return tuple(example(part, name, scope) for part in parts)
    if origin in _COLLECTIONS:
        element = parts[0] if parts else str
        return _COLLECTIONS[origin]([] if without_none(element)[0] in scope.models else [example(element, name, scope)])
    if origin in {dict, Mapping}:
        return {name: example(parts[1] if parts else str, name, scope)}
    return _of_class(origin, name, scope) if isinstance(origin, type) else f"<{name}>"


def _of_class(kind: type, name: str, scope: Scope) -> Any:
    if issubclass(kind, Enum):
        members = [*kind] or [f"<{name}>"]
        return members[scope.turn % len(members)]
    if issubclass(kind, BaseModel):
        return f"<{name}>" if kind in scope.models else example_model(kind, scope)
    for known, value in _VALUES:
        if issubclass(kind, known):
            return _varied(value, scope.turn)
    hints = {} if kind.__module__ == "builtins" else get_type_hints(kind, include_extras=True)
    # Of a dataclass, a named tuple or a protocol only what lies in it is asked for.
    return SimpleNamespace(**{of: example(hint, of, scope) for of, hint in hints.items()}) if hints else f"<{name}>"


def _varied(value: Any, turn: int) -> Any:
    """Return another value of the same type for each turn, the next day or hour; numbers depend on their bounds."""
    if turn == 0 or type(value) in {int, float, Decimal}:
        return value
    if isinstance(value, bool):
        return turn % 2 == 0
    if isinstance(value, bytes):
        return value + str(turn + 1).encode()
    if isinstance(value, UUID):
        return UUID(int=value.int + turn)
    if isinstance(value, date):
        return value + timedelta(days=turn)
    if isinstance(value, time):
        return value.replace(hour=(value.hour + turn) % 24)
    return value + timedelta(hours=turn)


def example_model(model: type[BaseModel], scope: Scope = _FIRST) -> BaseModel:
    """Return a model whose required fields are examples; others have their defaults."""
    inside = replace(scope, models=(*scope.models, model))
    values = {
        name: _of_field(info, f"{scope.prefix}{name}", inside)
        if info.is_required()
        else info.get_default(call_default_factory=True)
        for name, info in model.model_fields.items()
    }
    return model.model_construct(**values)
