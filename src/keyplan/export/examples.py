"""Example values for the parameters of patterns, and requests with these values.

Examples satisfy declared bounds, multiples, lengths and regular expressions if possible. Functions that cannot build a
request or an item return the reason as a string.
"""

from __future__ import annotations

import json
import re
import shlex
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import islice
from math import ceil, floor, isfinite
from types import SimpleNamespace
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints
from uuid import UUID
from zlib import crc32

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from keyplan.client.requests import Context
from keyplan.client.transactions import actions_of
from keyplan.clock import SystemClock
from keyplan.design.declaring.patterns import Pattern, WriteCall
from keyplan.design.declaring.transactions import Transaction
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import DesignError
from keyplan.design.fields.annotations import DeclaredField, unwrap, without_none
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.automata import AutomatonBuilder, shared_words
from keyplan.design.keys.encodings import KeyPartError, MissingField
from keyplan.design.keys.languages import ANY, Run, pattern_language
from keyplan.design.parameters import Each, Param, annotation_of
from keyplan.design.planning.indexes import all_faults
from keyplan.design.planning.plan import field_uses
from keyplan.design.requests.build import build
from keyplan.design.requests.items import Item, item_builder
from keyplan.design.requests.writes import with_time
from keyplan.dynamodb.values.keybytes import scalar_key
from keyplan.dynamodb.values.types import AttributeValue

N = TypeVar("N", int, float, Decimal)
_BOUNDS = ("ge", "gt", "le", "lt", "multiple_of")


EXAMPLE_TIMESTAMP = datetime(2026, 1, 31, 12, tzinfo=UTC)
_VALUES: tuple[tuple[type, Any], ...] = (
    (bool, True),
    (int, 1),
    (float, 1.5),
    (Decimal, Decimal("1.5")),
    (UUID, UUID("00000000-0000-7000-8000-000000000001")),
    (datetime, EXAMPLE_TIMESTAMP),
    (date, date(2026, 1, 31)),
    (time, time(12)),
    (timedelta, timedelta(hours=1)),
    (bytes, b"bytes"),
)
_COLLECTIONS: dict[type, Any] = {list: list, tuple: tuple, set: set, frozenset: frozenset}
_NOW_S = int(EXAMPLE_TIMESTAMP.timestamp())
_BETWEEN = re.compile(r"BETWEEN (\S+) AND (\S+)")
_VARIETY = 8
"""The maximum number of different values for fields with the same regular expression, in an example with values for all
fields.
"""
_NO_EXAMPLE = (DesignError, KeyPartError, MissingField, ArithmeticError, AttributeError, TypeError, ValueError)
"""The errors that are raised if an example value is not valid."""


def bounds_of(annotation: Any, info: FieldInfo | None = None) -> dict[str, Decimal]:
    """Return the bounds of a number, by the names that pydantic uses, such as "ge" or "multiple_of"."""
    return dict(_bounds([*unwrap(annotation)[2], *([info] if info is not None else [])]))


def _bounds(metadata: Iterable[Any]) -> Iterator[tuple[str, Decimal]]:
    for entry in metadata:
        if isinstance(entry, FieldInfo):
            yield from _bounds(entry.metadata)
            continue
        for name in _BOUNDS:
            value = getattr(entry, name, None)
            if isinstance(value, (int, float, Decimal)) and isfinite(value):
                yield name, Decimal(str(value))


def bounded(value: N, bounds: Mapping[str, Decimal]) -> N:
    """Return `value` if it is within the bounds. Otherwise, return a number near it that is within the bounds.

    If no such number is found, return `value` unchanged.
    """
    number_type = type(value)
    return next(
        (
            number_type(candidate)
            for candidate in _candidates(Decimal(str(value)), bounds, number_type)
            if _is_within_bounds(candidate, bounds)
        ),
        value,
    )


def nth_bounded(value: N, bounds: Mapping[str, Decimal], turn: int) -> N:
    """Return a number within the bounds that is derived from `value`. The number is different for each `turn` if the
    bounds allow this.
    """
    first = bounded(value, bounds)
    if turn == 0:
        return first
    unit = bounds.get("multiple_of") or Decimal(1)
    return bounded(type(value)(Decimal(str(first)) + turn * unit), bounds)


def _candidates(value: Decimal, bounds: Mapping[str, Decimal], number_type: type) -> Iterator[Decimal]:
    """Yield numbers that might satisfy the bounds: the number itself, the bounds, and numbers near them."""
    unit = bounds.get("multiple_of") or Decimal(1)
    limits = [bounds[name] for name in ("ge", "gt", "le", "lt") if name in bounds]
    middle = [sum(limits, Decimal(0)) / len(limits)] if limits else []
    candidates = [value, *limits, *(limit + step for limit in limits for step in (unit, -unit)), *middle]
    if number_type is not int:
        yield from candidates
    for candidate in candidates:
        yield from (Decimal(ceil(candidate)), Decimal(floor(candidate)))
        yield from (ceil(candidate / unit) * unit, floor(candidate / unit) * unit)
    yield unit


def _is_within_bounds(value: Decimal, bounds: Mapping[str, Decimal]) -> bool:
    return (
        value >= bounds.get("ge", value)
        and value <= bounds.get("le", value)
        and ("gt" not in bounds or value > bounds["gt"])
        and ("lt" not in bounds or value < bounds["lt"])
        and (not bounds.get("multiple_of") or value % bounds["multiple_of"] == 0)
    )


def pad_to_length(value: Any, min_length: int) -> Any:
    """Extend a collection or bytes object to at least `min_length` elements, and return the result.

    The added elements are similar to the existing ones. An empty value is returned unchanged.
    """
    missing_count = min_length - len(value)
    if missing_count <= 0 or not value:
        return value
    if isinstance(value, bytes):
        return value.ljust(min_length, b">")
    if isinstance(value, (list, tuple)):
        return type(value)([*value, *[value[-1]] * missing_count])
    if isinstance(value, dict):
        ((name, member),) = value.items()
        return {**value, **{f"{name}{number}": member for number in range(2, missing_count + 2)}}
    (member,) = value
    return type(value)([member, *_other_members(member, missing_count)])


def _other_members(member: Any, count: int) -> Iterator[Any]:
    """Yield up to `count` values that differ from `member`, a value in a set. They can be added to the set."""
    for number in range(1, count + 1):
        if isinstance(member, str):
            yield f"{member[:-1]}{number}{member[-1:]}"
        elif isinstance(member, (int, float, Decimal)):
            yield member + number


@dataclass(frozen=True)
class Scope:
    """The settings that influence an example value.

    `models` are the models that enclose the field. `turn` is 0 for the first of several parameters that would otherwise
    have the same value, and then 1, 2 and so on. `prefix` is added to the names of model fields in example strings,
    such as "to_address.".
    """

    models: tuple[type[BaseModel], ...] = ()
    turn: int = 0
    prefix: str = ""
    all_fields: bool = False
    """True if fields with the default None also get example values."""


_FIRST = Scope()


def arguments_of(pattern: Pattern[..., Any]) -> dict[str, Any]:
    """Return an example value for each parameter of a pattern.

    A value is derived from the field that stores the parameter or is compared with it. Several parameters for the same
    model or field have different values if their declarations allow it, because a transaction must not contain the same
    item twice.
    """
    fields = fields_of_parameters(pattern)
    sources: list[StoredField | type[BaseModel] | None] = []
    arguments = {}
    for name, param in pattern.parameters.items():
        source = _source(annotation_of(param), fields.get(name))
        turn = 0 if source is None else sum(earlier is source for earlier in sources)
        sources.append(source)
        scope = Scope(turn=turn, prefix=f"{name}." if turn else "")
        arguments[name] = _argument(annotation_of(param), name, fields.get(name), scope)
    return arguments


def fields_of_parameters(pattern: Pattern[..., Any]) -> dict[str, StoredField]:
    """Return a mapping from each parameter name to the field that stores the parameter or is compared with it.

    For a list parameter, this is the field for its elements. Parameters without such a field are omitted.
    """
    if isinstance(pattern, Transaction):
        steps = [(step.call.arguments, fields_of_parameters(step.call.pattern)) for step in pattern.steps]
        uses = [(source, fields.get(name)) for step, fields in steps for name, source in step.items()]
    else:
        known_fields = {
            name: field for entity in reversed(pattern.plan.entities) for name, field in entity.fields.items()
        }
        uses = [(source, known_fields.get(name)) for name, source, _ in field_uses(pattern.plan)]
    sources = [(source.values if isinstance(source, Each) else source, field) for source, field in uses]
    return {
        source._name: field
        for source, field in reversed(sources)
        if isinstance(source, Param) and not source._path and field is not None
    }


def _value_types(annotation: Any) -> tuple[Any, Any]:
    """Return the type of a parameter and, for a list, the type of its elements. If the parameter is not a list, return
    its type twice.
    """
    value_type, _ = without_none(annotation)
    return value_type, without_none(get_args(value_type)[0])[0] if get_origin(value_type) is list else value_type


def _source(annotation: Any, field: StoredField | None) -> StoredField | type[BaseModel] | None:
    """Return the field or model that determines the example value of a parameter. Return None if only the parameter's
    type determines the value.
    """
    value_type, element = _value_types(annotation)
    if field is not None and field.annotation in (value_type, element):
        return field
    return element if isinstance(element, type) and issubclass(element, BaseModel) else None


def _argument(annotation: Any, name: str, field: StoredField | None, scope: Scope) -> Any:
    value_type, element = _value_types(annotation)
    if field is not None and value_type == field.annotation:
        return _of_field(field.info, name, scope)
    if field is not None and element == field.annotation:
        return [_of_field(field.info, name, scope)]
    return example(annotation, name, scope)


def _of_field(info: FieldInfo, name: str, scope: Scope) -> Any:
    """Return an example value of a field: one of its declared examples, or a generated value."""
    declared: Any = info.annotation
    declared_examples = list(_own_examples(info))
    if declared_examples:
        return declared_examples[scope.turn % len(declared_examples)]
    return _fitting(_of_type(declared, name, scope), declared, name, scope, info)


def _own_examples(info: FieldInfo) -> Iterator[Any]:
    annotation: Any = info.annotation
    for declared in info.examples or ():
        try:
            yield TypeAdapter(annotation).validate_python(declared)
        except ValidationError:
            continue  # verify reports that it does not fit


def example(annotation: Any, name: str, scope: Scope = _FIRST) -> Any:
    """Return an example value of a type. For a string, the value is `name` in angle brackets."""
    return _fitting(_of_type(annotation, name, scope), annotation, name, scope)


def _fitting(value: Any, annotation: Any, name: str, scope: Scope, info: FieldInfo | None = None) -> Any:
    """Return an example value, changed to satisfy the declared constraints if necessary."""
    declared = DeclaredField.from_annotation(name, annotation, info)
    if type(value) is str and declared.choices is None:
        turn = scope.turn + (crc32(name.encode()) % _VARIETY if scope.all_fields else 0)
        return _matching(declared, turn) if declared.pattern is not None else _of_length(value, declared)
    if type(value) in {int, float, Decimal} and declared.choices is None:
        return nth_bounded(value, bounds_of(annotation, info), scope.turn)
    is_sized = isinstance(value, (bytes, list, tuple, set, frozenset, dict))
    return pad_to_length(value, declared.min_length or 0) if is_sized else value


def _of_length(text: str, declared: DeclaredField) -> str:
    return text.ljust(declared.min_length or 0, ">")[: declared.max_length]


def _matching(declared: DeclaredField, turn: int) -> str:
    """Return a short string that matches the regular expression of a field. The string is different for each `turn` if
    possible.

    If no string is found, return the name of the field in angle brackets.
    """
    language = pattern_language(declared.pattern or "")
    if language is None:
        return f"<{declared.name}>"
    pattern, length = AutomatonBuilder(), AutomatonBuilder()
    pattern.add(language)
    length.add(Run(ANY, declared.min_length or 0, None))
    words = shared_words(pattern.build(), length.build(), visits=turn + 1, variety=turn + 1)
    return ([f"<{declared.name}>", *islice(words, turn + 1)])[-1]


def _of_type(annotation: Any, name: str, scope: Scope) -> Any:
    value_type, _ = without_none(annotation)
    type_origin, type_arguments = get_origin(value_type) or value_type, get_args(value_type)
    if type_origin is Literal:
        return type_arguments[scope.turn % len(type_arguments)]
    if get_origin(value_type) is tuple and Ellipsis not in type_arguments:
        return tuple(example(argument, name, scope) for argument in type_arguments)
    if type_origin in _COLLECTIONS:
        element = type_arguments[0] if type_arguments else str
        return _COLLECTIONS[type_origin](
            [] if without_none(element)[0] in scope.models else [example(element, name, scope)]
        )
    if type_origin in {dict, Mapping}:
        return {name: example(type_arguments[1] if type_arguments else str, name, scope)}
    return _of_class(type_origin, name, scope) if isinstance(type_origin, type) else f"<{name}>"


def _of_class(cls: type, name: str, scope: Scope) -> Any:
    if issubclass(cls, Enum):
        members = [*cls] or [f"<{name}>"]
        return members[scope.turn % len(members)]
    if issubclass(cls, BaseModel):
        return f"<{name}>" if cls in scope.models else example_model(cls, scope)
    for type_, value in _VALUES:
        if issubclass(cls, type_):
            return _varied(_named_uuid(value, name) if scope.all_fields else value, scope.turn)
    hints = {} if cls.__module__ == "builtins" else get_type_hints(cls, include_extras=True)
    # Only the accessed attributes of a dataclass, named tuple or protocol matter.
    return (
        SimpleNamespace(**{attribute: example(hint, attribute, scope) for attribute, hint in hints.items()})
        if hints
        else f"<{name}>"
    )


def _named_uuid(value: Any, name: str) -> Any:
    """If a value is a UUID, return a UUID that is different for each `name`. Otherwise, return the value unchanged."""
    return UUID(int=value.int + 16 * (crc32(name.encode()) % 2**16)) if isinstance(value, UUID) else value


def _varied(value: Any, turn: int) -> Any:
    """Return a value of the same type that is different for each `turn`, such as the next day for a date. Numbers are
    returned unchanged.
    """
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
    """Return an object of a model. Required fields have example values, and other fields have their defaults."""
    inner_scope = replace(scope, models=(*scope.models, model))
    values = {
        name: None if info.is_required() else info.get_default(call_default_factory=True)
        for name, info in model.model_fields.items()
    }
    for name, info in model.model_fields.items():
        if info.is_required() or (scope.all_fields and values[name] is None):
            values[name] = _of_field(info, f"{scope.prefix}{name}", inner_scope)
    return model.model_construct(**values)


@dataclass(frozen=True)
class ExampleRequest:
    """An operation and its request, in the format of the boto3 client."""

    operation: str
    request: dict[str, Any]


def example_request(pattern: Pattern[..., Any], prefix: str = "") -> ExampleRequest | str:
    """Return the request of a call with example arguments, or the reason why no request is possible. `prefix` is
    prepended to table names.

    If the call sends several requests, return the first.
    """
    if faults := all_faults(pattern.plan):
        return f"it has a fault: {faults[0].code}, {faults[0].problem}"
    try:
        arguments = arguments_of(pattern)
        if isinstance(pattern, Transaction):
            return _transaction_request(pattern.calls(arguments), prefix)
        plan = pattern.plan
        if not plan.reading and (plan.operation == "ConditionCheck" or plan.keeps_unique):
            return _transaction_request([WriteCall(pattern, arguments)], prefix)
        request = build(plan, arguments, table=prefix + plan.schema.name, now_s=_NOW_S)
        return ExampleRequest(plan.operation, _ascending(request))
    except _NO_EXAMPLE as error:
        return f"no valid example arguments: {error}"


def _ascending(request: dict[str, Any]) -> dict[str, Any]:
    """Return the request with the bounds of BETWEEN in ascending order. Example values can be in any order."""
    values = dict(request.get("ExpressionAttributeValues", {}))
    for low, high in _BETWEEN.findall(request.get("KeyConditionExpression", "")):
        if _order(values[low]) > _order(values[high]):
            values[low], values[high] = values[high], values[low]
    return {**request, "ExpressionAttributeValues": values} if values else request


def _order(value: AttributeValue) -> bytes:
    ((type_code, content),) = plain(value).items()
    return scalar_key(type_code, content)


def example_item(entity: EntitySpec, scope: Scope = _FIRST) -> Item | str:
    """Return an item of an entity with example values, or the reason why no example is possible."""
    try:
        example: Any = example_model(entity.model, scope)
        write_values: dict[str, Any] = {
            name: EXAMPLE_TIMESTAMP for name in entity.fields if entity.fields[name].write_time
        }
        return item_builder(entity).item(example, write_values | ({entity.version: 1} if entity.version else {}))
    except _NO_EXAMPLE as error:
        return f"no valid example of {entity.name}: {error}"


def _transaction_request(calls: list[WriteCall[Any]], prefix: str) -> ExampleRequest | str:
    """Return one transaction with the writes of several calls, including the items that reserve their unique values.

    If a write depends on the stored item, no request can be built, and the reason is returned.
    """
    context = Context(clock=SystemClock(), cursor_key=b"", prefix=prefix)
    items = []
    for number, call in enumerate(calls):
        program = actions_of(context, number, call, with_time(call.arguments, _NOW_S), frozenset())
        try:
            next(program)
        except StopIteration as stop:
            items += [action.request for action in stop.value]
        else:
            names = ", ".join(name for rule in call.pattern.plan.entity.sentinels for name in rule.fields)
            return f"it reads the item first: sentinels of unique values ({names}) depend on the values read"
    return ExampleRequest("TransactWriteItems", {"TransactItems": items})


def command(operation: str, request: Mapping[str, Any]) -> str:
    """Return the AWS CLI command for a request."""
    options = [_option(name, value) for name, value in request.items()]
    return " ".join(["aws dynamodb", _kebab(operation), *options])


def _kebab(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def _option(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"--{_kebab(name)}" if value else f"--no-{_kebab(name)}"
    text = value if isinstance(value, str) else json.dumps(plain(value))
    return f"--{_kebab(name)} {shlex.quote(text)}"


def plain(value: Any) -> Any:
    """Return a value in a form that JSON can represent. Binary values are base64 strings."""
    if isinstance(value, Mapping):
        return {name: plain(element) for name, element in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    return b64encode(value).decode() if isinstance(value, bytes) else value
