"""Ad-hoc calls without a declared pattern, such as `db.get(Task, user_id="ada", task_id="1")`.

Each ad-hoc call is run as a call to a generated pattern, which is planned, checked and compiled like a declared
pattern. The pattern is built once for each entity or, for queries, once for each query shape. The shape of a query is
its condition with all values replaced by parameters.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NoReturn, TypedDict, TypeVar

from keyplan.design.arguments import shorten
from keyplan.design.conditions.builders import ItemKey, ItemWrite, KeyCondition, KeyText, Range
from keyplan.design.conditions.conditions import (
    AndCondition,
    BetweenCondition,
    CompareCondition,
    Condition,
    FieldPath,
    FieldSize,
    FunctionCondition,
    InCondition,
    NotCondition,
    OrCondition,
)
from keyplan.design.declaring.kinds import check_options, plan_maker
from keyplan.design.declaring.patterns import Call, Facts, Kind, Pattern, WriteCall
from keyplan.design.entities import Entity, EntitySpec, ReadModel, viewed_entity
from keyplan.design.errors import DesignError, calling_place
from keyplan.design.keys.entity_keys import unknown_field_error
from keyplan.design.parameters import Each, EveryShard, Param, Source
from keyplan.design.planning.indexes import all_faults
from keyplan.design.planning.plan import Plan

E = TypeVar("E", bound=Entity)
R = TypeVar("R", bound=ReadModel)
_MAX_SHAPES = 1024


class FindCountOptions(TypedDict, total=False):
    """Options of an ad-hoc count."""

    index: str
    consistent: bool
    """Whether the read is strongly consistent. Such a read costs twice as much as an eventually consistent read."""
    expired: bool
    """Whether the read also returns items whose expiry time has passed."""


class FindOptions(FindCountOptions, total=False):
    """Options of an ad-hoc query that change its requests."""

    descending: bool
    """Whether results are sorted by sort key in descending order."""
    hydrate: bool
    """Whether to read the full items from the table after reading an index that does not project every field."""


class UndeclaredPattern(Pattern[..., Any]):
    """A generated pattern for ad-hoc calls that differ only in their values.

    Raises DesignError at the line of the call if DynamoDB cannot run the pattern.
    """

    def __init__(
        self,
        kind: Kind,
        name: str,
        parameters: Mapping[str, Param],
        terms: KeyCondition | ItemWrite,
        *,
        make_plan: Callable[[Pattern[..., Any], Any], Plan],
        optional: Collection[str] = (),
    ) -> None:
        self.kind, self.name, self.facts = kind, name, Facts()
        self.call_type = Call if isinstance(terms, KeyCondition) or kind == "get" else WriteCall
        self.place = calling_place()
        self.parameters, self._names, self._defaults = dict(parameters), tuple(parameters), {}
        self._make_plan = make_plan
        self._set_terms(terms, frozenset(optional))
        for fault in all_faults(self.plan):
            raise fault.error()

    @property
    def call_text(self) -> str:
        """The text that error messages use for a call, such as `get(Task)`."""
        return self.name

    def call(self, arguments: Mapping[str, Any]) -> Call[Any]:
        """Return a call with these arguments.

        Raises TypeError for a value of the wrong type, and DesignError for missing or unknown key fields.
        """
        if arguments.keys() != self.parameters.keys():
            self._refuse_key(arguments)
        terms: Call[Any] = self._call(*[arguments[name] for name in self._names])
        return terms

    def _refuse_key(self, key: Mapping[str, Any]) -> NoReturn:
        spec, place = self.plan.entity, calling_place()
        for name in key:
            if name not in spec.fields:
                raise unknown_field_error(name, spec.fields, spec.model.__name__, place.at(name))
        method = self.name.partition("(")[0]
        raise DesignError(
            f"{self.name} names {', '.join(key) or 'no field'}, but the primary key of {spec.name} consists of"
            f" {', '.join(self._names)}",
            place=place,
            other=spec.key.place,
            fix=f"write {method}({spec.model.__name__}, {', '.join(f'{name}=...' for name in self._names)})",
            code="KP301",
        )


def get_call(entity: type[R], key: Mapping[str, Any], *, consistent: bool, expired: bool) -> Call[R | None]:
    """Return a call that reads an item by its primary key.

    `consistent` requests a strongly consistent read. With `expired`, the call also returns an item whose expiry time
    has passed.
    """
    if type(entity) is not _MODEL_CLASS:
        _check_class("get", entity, ReadModel)
    return _get_pattern(entity, consistent, expired).call(key)


def delete_call(entity: type[E], key: Mapping[str, Any]) -> WriteCall[E | None]:
    """Return a call that deletes an item by its primary key."""
    if type(entity) is not _MODEL_CLASS:
        _check_class("delete", entity, Entity)
    call = _delete_pattern(entity).call(key)
    assert isinstance(call, WriteCall), "a delete is a write"
    return call


def put_call(kind: Literal["create", "put"], item: E) -> WriteCall[E]:
    """Return a call that creates or puts a whole item."""
    model = type(item)
    if type(model) is not _MODEL_CLASS or not issubclass(model, Entity):
        raise TypeError(f"{kind}() expects an object of an entity, got {model.__name__}: {shorten(item)}")
    return WriteCall(_put_pattern(kind, model), {"item": item})


_MODEL_CLASS = type(Entity)
"""The metaclass of entities and views. The test `type(model) is _MODEL_CLASS` is faster than issubclass."""


def _check_class(method: str, entity: object, base_class: type[ReadModel]) -> None:
    if not (isinstance(entity, type) and issubclass(entity, base_class)):
        raise TypeError(f"{method}() expects an entity class, got {type(entity).__name__}: {shorten(entity)}")


@lru_cache(maxsize=4096)
def _get_pattern(entity: type[ReadModel], consistent: bool, expired: bool) -> UndeclaredPattern:
    _check_class("get", entity, ReadModel)
    spec = _spec_of(entity)
    options = {"consistent": consistent, "expired": expired}
    _check_option_names("get", spec, options)
    check_options(options, frozenset(options))
    return _key_pattern("get", entity, spec, options)


@lru_cache(maxsize=4096)
def _delete_pattern(entity: type[Entity]) -> UndeclaredPattern:
    _check_class("delete", entity, Entity)
    return _key_pattern("delete", entity, _spec_of(entity), {})


@lru_cache(maxsize=4096)
def _put_pattern(kind: Literal["create", "put"], model: type[Entity]) -> UndeclaredPattern:
    declared_model = next((base for base in model.__mro__ if "__keyplan__" in vars(base) and base is not Entity), model)
    spec = _spec_of(declared_model)
    item = Param("item", declared_model)
    make = plan_maker(
        kind, [declared_model], {}, schema=spec.schema, siblings=spec.siblings, undeclared=_label(kind, [spec])
    )
    return UndeclaredPattern(kind, f"{kind}({spec.name})", {"item": item}, ItemWrite(item=item), make_plan=make)


def _key_pattern(
    kind: Literal["get", "delete"], entity: type[ReadModel], spec: EntitySpec, options: Mapping[str, Any]
) -> UndeclaredPattern:
    parameters = {name: Param(name, None) for name in spec.key.fields}
    label = _label(kind, [spec])
    make = plan_maker(kind, [entity], options, schema=spec.schema, siblings=spec.siblings, undeclared=label)
    return UndeclaredPattern(kind, f"{kind}({spec.name})", parameters, ItemKey(key=dict(parameters)), make_plan=make)


def _check_option_names(method: str, spec: EntitySpec, options: Collection[str]) -> None:
    for name in spec.key.fields:
        if name in options:
            raise DesignError(
                f"{method}({spec.name}) cannot name the key field {name}, which is also an option of {method}",
                place=calling_place(),
                other=spec.key.place,
                fix=f"declare a pattern with @{spec.schema.name}.{method}({spec.model.__name__})",
            )


def _spec_of(entity: type[ReadModel]) -> EntitySpec:
    spec = vars(viewed_entity(entity)).get("__keyplan__")
    if not isinstance(spec, EntitySpec):
        raise DesignError(
            f"{entity.__name__} is not an entity of a table",
            place=calling_place(),
            fix="declare it with @table.entity(...)",
        )
    return spec


def _label(kind: str, specs: Sequence[EntitySpec], index: str | None = None) -> str:
    """Return the label under which capacity meters count ad-hoc calls of one kind."""
    return f"undeclared {kind} {', '.join(spec.name for spec in specs)}{f' on {index}' if index else ''}"


# Queries.


def query_call(
    terms: Sequence[Any], options: Mapping[str, Any], *, kind: Literal["query", "count"] = "query", method: str = ""
) -> Call[Any]:
    """Return the call for an ad-hoc query or count.

    `terms` contains the entities, followed by the key condition. `method` is the name of the connection's method in
    error messages. If it is empty, `kind` is used instead.
    """
    entities, condition = tuple(terms[:-1]), terms[-1] if terms else None
    method = method or kind
    if not isinstance(condition, KeyCondition) or not entities:
        raise TypeError(
            f"{method}() expects entities and then a key condition, {method}(Task, pk(user_id=...)), got"
            f" {', '.join(map(shorten, terms)) or 'nothing'}"
        )
    for entity in entities:
        _check_class(method, entity, ReadModel)
    return _QueryShape(kind, entities, options, condition).call()


class _QueryShape:
    """An ad-hoc query, split into its values and its shape. The shape is the condition with its values replaced by
    parameters.
    """

    def __init__(
        self,
        kind: Literal["query", "count"],
        entities: tuple[type[ReadModel], ...],
        options: Mapping[str, Any],
        condition: KeyCondition,
    ) -> None:
        self._kind, self._entities, self._options = kind, entities, options
        self._parameters: dict[str, Param] = {}
        self._values: dict[str, Any] = {}
        self._shape: list[Any] = [kind, entities, *sorted(options.items())]
        self._condition = self._key_condition(condition)

    def call(self) -> Call[Any]:
        """Return a call to the pattern for this query shape. The pattern is built if it is not cached."""
        shape = tuple(self._shape)
        pattern = _shapes.get(shape)
        if pattern is None:
            pattern = self._pattern()
            _cache_pattern(shape, pattern)
        return pattern.call(self._values)

    def _pattern(self) -> UndeclaredPattern:
        options_type = FindOptions if self._kind == "query" else FindCountOptions
        check_options(self._options, frozenset(options_type.__annotations__))
        specs = [_spec_of(entity) for entity in self._entities]
        index = self._options.get("index")
        names = ", ".join(spec.name for spec in specs)
        make = plan_maker(
            self._kind,
            self._entities,
            self._options,
            schema=specs[0].schema,
            siblings=specs[0].siblings,
            undeclared=_label(self._kind, specs, index),
        )
        name = f"{self._kind}({names})" if index is None else f'{self._kind}({names}, index="{index}")'
        range_ = self._condition.range
        sources = [*self._condition.sort.values(), *((range_.low, range_.high) if range_ is not None else ())]
        optional = [source._name for source in sources if isinstance(source, Param)]
        return UndeclaredPattern(self._kind, name, self._parameters, self._condition, make_plan=make, optional=optional)

    def _value(self, value: object, name: str, annotation: Any = None) -> Source:
        """Record a value of the query, and return the parameter that replaces it. `name` is the name of the compared
        field, and the parameter gets the same name. If the name is already used, a number is appended.
        """
        if isinstance(value, EveryShard):
            self._shape.append(EveryShard)
            return value
        number, parameter_name = 1, name
        while parameter_name in self._values:
            number += 1
            parameter_name = f"{name} ({number})"
        param = self._parameters[parameter_name] = Param(parameter_name, annotation)
        is_each = isinstance(value, Each)
        self._values[parameter_name] = value.values if isinstance(value, Each) else value
        self._shape += (parameter_name, is_each)
        return Each(param) if is_each else param

    def _key_condition(self, condition: KeyCondition) -> KeyCondition:
        partition_text, sort_text = condition.partition_text, condition.sort_text
        self._shape.append("partition")
        if partition_text is not None:
            partition_text = self._text(partition_text, "partition_key_text")
        partition = {name: self._value(value, name) for name, value in condition.partition.items()}
        self._shape.append("sort")
        sort = {name: self._value(value, name) for name, value in condition.sort.items()}
        if sort_text is not None:
            low, high = (
                None if text is None else self._text(text, name)
                for text, name in ((sort_text.low, "sort_key_text"), (sort_text.high, "sort_key_text_high"))
            )
            self._shape.append(sort_text.op)
            sort_text = KeyText(sort_text.op, low or "", high)
        return KeyCondition(
            partition=partition,
            sort=sort,
            range=None if condition.range is None else self._range(condition.range, sort),
            partition_text=partition_text,
            sort_text=sort_text,
            filter_condition=None if condition.filter_condition is None else self._filter(condition.filter_condition),
            places=condition.places,
        )

    def _text(self, text: str, name: str) -> str:
        """Record a literal key string of the query, and return a template that consists of a placeholder for the
        string. `name` is the name of the placeholder.
        """
        self._value(text, name, str)
        return f"{{{name}}}"

    def _range(self, range_: Range, sort: Mapping[str, Source]) -> Range:
        name = range_.field or next(
            (field for field in _sort_fields(self._entities, self._options.get("index")) if field not in sort), "sk"
        )
        self._shape += ("range", range_.op, range_.field)
        low = self._value(range_.low, name)
        return Range(range_.op, range_.field, low, self._value(range_.high, name) if range_.op == "between" else None)

    def _filter(self, condition: Condition) -> Condition:
        self._shape.append(type(condition))
        if isinstance(condition, (AndCondition, OrCondition)):
            self._shape.append(len(condition.parts))
            return type(condition)(tuple(map(self._filter, condition.parts)))
        if isinstance(condition, NotCondition):
            return NotCondition(self._filter(condition.part))
        if isinstance(condition, CompareCondition):
            self._shape.append(condition.op)
            left = self._operand(condition.left, "")
            return CompareCondition(condition.op, left, self._operand(condition.right, _field_of(left)))
        if isinstance(condition, BetweenCondition):
            operand = self._operand(condition.operand, "")
            low, high = (self._operand(bound, _field_of(operand)) for bound in (condition.low, condition.high))
            return BetweenCondition(operand, low, high)
        if isinstance(condition, InCondition):
            operand = self._operand(condition.operand, "")
            choices = [self._operand(choice, _field_of(operand)) for choice in condition.choices]
            self._shape.append(len(choices))
            return InCondition(operand, tuple(choices))
        assert isinstance(condition, FunctionCondition), "every other class of condition is handled above"
        path = self._operand(condition.path, "")
        self._shape.append(condition.name)
        if len(condition.operands()) == 1:
            return FunctionCondition(condition.name, path)
        return FunctionCondition(condition.name, path, self._operand(condition.argument, _field_of(path)))

    def _operand(self, operand: Any, name: str) -> Any:
        if isinstance(operand, FieldPath):
            self._shape.append(tuple((type(part), part) for part in operand.parts))
            return operand
        if isinstance(operand, FieldSize):
            self._shape.append(FieldSize)
            self._operand(operand.path, "")
            return operand
        return self._value(operand, name)


def _field_of(operand: object) -> str:
    path = operand.path if isinstance(operand, FieldSize) else operand
    return path.field if isinstance(path, FieldPath) else "value"


@lru_cache(maxsize=4096)
def _sort_fields(entities: tuple[type[ReadModel], ...], index: str | None) -> tuple[str, ...]:
    bound_key = next((key for entity in entities if (key := _spec_of(entity).key_in(index)) is not None), None)
    return () if bound_key is None else tuple(name for part in bound_key.sort for name in part.fields)


_shapes: dict[tuple[Any, ...], UndeclaredPattern] = {}
_lock = threading.Lock()


def _cache_pattern(shape: tuple[Any, ...], pattern: UndeclaredPattern) -> None:
    """Cache the pattern of a query shape, and evict the oldest pattern if the cache is full."""
    with _lock:
        if len(_shapes) >= _MAX_SHAPES:
            _shapes.pop(next(iter(_shapes)))
        _shapes[shape] = pattern
