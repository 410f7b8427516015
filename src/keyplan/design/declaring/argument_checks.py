"""Type checks for pattern arguments, compiled once per pattern and run for each call.

Models do not validate values in keys or comparisons. Without a check, a value of the wrong type would produce a key
that no item has, or a condition that is never true. New field values need no check, because the entity's model
validates them.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, PlainValidator, TypeAdapter, WrapValidator

from keyplan.design.arguments import shorten
from keyplan.design.conditions.conditions import Condition, FieldPath, FieldSize, FunctionCondition, paths_of
from keyplan.design.fields.annotations import UNSET, plain_value, without_none
from keyplan.design.fields.stored import StoredField
from keyplan.design.parameters import CALL_SOURCES, Each, EveryShard, Param, Source, annotation_of
from keyplan.design.planning.plan import KeyValue, Plan

TypeCheck = Callable[[Any], bool]
_NUMBER = int | float | Decimal
_PART = str | int | Enum | UUID | date
"""Types of values that can be a map key or a list index in a path."""


class ArgumentCheck(NamedTuple):
    """The type check for one parameter's values."""

    parameter: str
    expected: Any
    """The type annotation that argument values must match."""
    exact: frozenset[type]
    """Classes whose instances are always valid. The class of a value is looked up here before any slower check runs."""
    accepts: TypeCheck
    instance_of: type | None = None
    """The class that a value must be an instance of. Set only for a parameter that is a whole item, or whose attributes
    the pattern uses.
    """

    def error(self, call: str, value: object) -> TypeError:
        """Return the error for an invalid value. `call` is the text of the call that the message quotes."""
        value_text = f"{type(value).__name__}: {shorten(value)}"
        return TypeError(f"{call} expects {self.parameter} as {type_name(self.expected)}, got {value_text}")


def type_name(annotation: Any) -> str:
    """Return a type annotation as source text."""
    bare, optional = without_none(annotation)
    if get_origin(bare) in {Union, types.UnionType}:
        text = " | ".join(map(type_name, get_args(bare)))
    elif isinstance(bare, type) and not get_args(bare):
        text = bare.__name__
    elif get_args(bare) and get_origin(bare) is not Literal:
        inner = ", ".join("..." if part is ... else type_name(part) for part in get_args(bare))
        text = f"{getattr(get_origin(bare), '__name__', get_origin(bare))}[{inner}]"
    else:
        text = str(bare).replace("typing.", "")
    return f"{text} | None" if optional else text


def argument_checks(plan: Plan, parameters: Mapping[str, Param]) -> tuple[ArgumentCheck, ...]:
    """Return a check for each parameter whose type is known and whose values are not validated by a model.

    The type of a parameter comes from its annotation, or from the field that it is compared with or assigned to. An
    argument that is a whole item, or whose attributes the pattern uses, must be an instance of the annotated class.
    """
    expected_types: dict[str, Any] = {}
    instances: dict[str, ArgumentCheck] = {}
    if isinstance(plan.item, Param) and not plan.item._path:
        is_batch = plan.operation == "BatchWriteItem"
        instances[plan.item._name] = instance_check(plan.item._name, plan.entity.model, is_collection=is_batch)
    for source, field_type in _typed_sources(plan):
        values = source.values if isinstance(source, Each) else source
        if not isinstance(values, Param) or values._name not in parameters:
            continue
        if values._path:
            model, _ = without_none(values._annotation)
            if isinstance(model, type) and issubclass(model, BaseModel):
                instances.setdefault(values._name, instance_check(values._name, model, is_collection=False))
        else:
            parameter_type = declared_type(values, field_type, is_repeated=isinstance(source, Each))
            if expected_types.get(values._name) is None or type_check(expected_types[values._name]) is None:
                expected_types[values._name] = parameter_type
    checks = build_checks({name: kind for name, kind in expected_types.items() if name not in instances})
    patched = {check.source._name for check in plan.actions if check.optional and isinstance(check.source, Param)}
    return (*instances.values(), *(allow_unset(check) if check.parameter in patched else check for check in checks))


def allow_unset(check: ArgumentCheck) -> ArgumentCheck:
    """Return a check that also accepts UNSET."""
    accepts = check.accepts
    return check._replace(accepts=lambda value: value is UNSET or accepts(value))


_VALIDATORS = (AfterValidator, BeforeValidator, PlainValidator, WrapValidator)


def has_validator(annotation: Any) -> bool:
    """Return True if an annotation contains a pydantic validator, such as AfterValidator(no_repeats)."""
    return get_origin(annotation) is Annotated and any(isinstance(entry, _VALIDATORS) for entry in get_args(annotation))


def with_validators(check: ArgumentCheck, annotation: Any) -> ArgumentCheck:
    """Return a check that also runs the validators in an annotation. The validators raise ValidationError for values
    that they reject.
    """
    adapter, accepts = TypeAdapter(annotation), check.accepts

    def validate(value: Any) -> bool:
        if not accepts(value):
            return False
        adapter.validate_python(value)
        return True

    return check._replace(accepts=validate, exact=frozenset())


def instance_check(parameter: str, model: type, *, is_collection: bool) -> ArgumentCheck:
    """Return a check that requires the argument for a parameter to be an instance of `model` or, with `is_collection`,
    an iterable of instances.
    """
    if not is_collection:
        return ArgumentCheck(parameter, model, frozenset({model}), _is_object(model), model)
    is_object = _is_object(model)

    def accepts(value: Any) -> bool:
        if isinstance(value, CALL_SOURCES):
            return True
        if not isinstance(value, Iterable) or isinstance(value, (str, bytes, Mapping, BaseModel)):
            return False
        return not isinstance(value, Collection) or all(map(is_object, value))

    return ArgumentCheck(parameter, list[model], frozenset(), accepts, model)  # type: ignore[valid-type]  # at run time


def _is_object(model: type) -> TypeCheck:
    return lambda value: isinstance(value, (model, *CALL_SOURCES))


def build_checks(expected_types: Mapping[str, Any]) -> tuple[ArgumentCheck, ...]:
    """Return a type check for each parameter whose values can be checked. `expected_types` maps parameter names to
    types.
    """
    checks = []
    for name, annotation in expected_types.items():
        accepts = type_check(annotation)
        if accepts is not None:
            checks.append(ArgumentCheck(name, annotation, _exact_types(annotation), accepts))
    return tuple(checks)


def declared_type(source: Param, field_type: Any, *, is_repeated: bool) -> Any:
    """Return the annotated type of a parameter or, if values of this type cannot be checked, a type derived from
    `field_type`.

    `field_type` is the type of the field that the parameter is compared with or assigned to. The derived type is
    `field_type` itself or, with `is_repeated`, an iterable of `field_type`.
    """
    annotation = annotation_of(source)
    if annotation is not None and type_check(annotation) is not None:
        return annotation
    return Iterable[field_type] if is_repeated else field_type


def _typed_sources(plan: Plan) -> Iterator[tuple[Source, Any]]:
    """Yield each value in a key or comparison together with the type of its field, or `object` if the type
    is unknown.
    """
    fields = {name: field for entity in reversed(plan.entities) for name, field in entity.fields.items()}
    if plan.key is not None:
        bounds = [
            bound for condition in plan.key.sort for bound in (condition.low, condition.high) if bound is not None
        ]
        for value in (*bounds, *plan.key.partition):
            yield from _key_sources(value)
    for part in (plan.filter, plan.residue, plan.condition, plan.replaceable):
        yield from compared_types(part, fields)
    yield from _change_sources(plan, fields)


def _change_sources(plan: Plan, fields: Mapping[str, StoredField]) -> Iterator[tuple[Source, Any]]:
    effect_fields = {name for effect in plan.effects for name in effect.sources}
    yield from ((source, fields[name].annotation) for name, source in plan.assumed.items() if name not in effect_fields)
    yield plan.version, int
    for action in plan.actions:
        yield from ((part, _PART) for part in action.path.parts)
        field, *members = action.path.parts
        kind = _member_type(fields[str(field)].annotation, members)
        if action.name == "add":
            yield action.source, _comparable_type(kind)
        elif action.name == "append":
            yield action.source, _element_or_collection(kind, list)
        elif action.name in {"add_to_set", "remove_from_set"}:
            yield action.source, _element_or_collection(kind, Iterable)
        elif members:
            yield action.source, kind


def _element_or_collection(collection: Any, accepted_collection: Any) -> Any:
    """Return a type that accepts either a single element of a list or set, or a collection of elements.

    `collection` is the type of the list or set. `accepted_collection` is the generic type of the accepted collection,
    such as `list`. Return `object` if the type of the elements is unknown.
    """
    bare, _ = without_none(collection)
    parts = get_args(bare)
    return parts[0] | accepted_collection[parts[0]] if len(parts) == 1 and type_check(parts[0]) is not None else object


def _member_type(annotation: Any, members: Sequence[object]) -> Any:
    """Return the type of a value nested in a field. `annotation` is the type of the field, and `members` is the path
    from the field to the value.

    Return `object` if the type is unknown.
    """
    for member in members:
        bare, _ = without_none(annotation)
        if isinstance(bare, type) and issubclass(bare, BaseModel):
            info = None if isinstance(member, Param) else bare.model_fields.get(str(plain_value(member)))
            annotation = object if info is None else info.annotation
            continue
        origin, inner = get_origin(bare), get_args(bare)
        is_fixed = origin is tuple and inner[-1:] != (...,)
        if not isinstance(origin, type) or not issubclass(origin, (Mapping, Sequence)) or is_fixed:
            return object
        annotation = inner[1] if issubclass(origin, Mapping) else inner[0]
    return annotation


def _key_sources(value: KeyValue) -> Iterator[tuple[Source, Any]]:
    if value.field is not None:
        yield value.sources[value.field.name], value.field.annotation
        return
    # The template rejects values that are not choices. A prefix can be any string.
    placeholders = (
        {placeholder.name: placeholder for placeholder in value.template.placeholders}
        if value.template is not None
        else {}
    )
    last = list(value.sources)[-1] if value.sources else None
    for name, source in value.sources.items():
        placeholder = placeholders.get(name)
        if placeholder is None or isinstance(source, EveryShard):
            yield source, object
        elif value.part == "begins" and name == last:
            yield source, str if placeholder.field.type is str and placeholder.field.choices is None else object
        else:
            yield source, object if placeholder.field.choices is not None else placeholder.field.type


def compared_types(condition: Condition | None, fields: Mapping[str, StoredField]) -> Iterator[tuple[Source, Any]]:
    """Yield each operand of a condition together with the type of the field that it is compared with.

    The type is `object` if it is unknown.
    """
    if condition is None:
        return
    for path in paths_of(condition):
        yield from ((part, _PART) for part in path.parts)
    for operand in condition.operands():
        if isinstance(operand, Condition):
            yield from compared_types(operand, fields)
    if isinstance(condition, FunctionCondition):
        kind = _path_type(condition.path, fields)
        yield condition.argument, _prefix_type(kind) if condition.name == "begins_with" else _part_type(kind)
        return
    operands = condition.operands()
    compared_field = next((candidate for candidate in operands if isinstance(candidate, (FieldPath, FieldSize))), None)
    kind = object
    if isinstance(compared_field, FieldSize):
        kind = _NUMBER
    elif isinstance(compared_field, FieldPath):
        kind = _comparable_type(_path_type(compared_field, fields))
    yield from ((source, kind) for source in operands)


def _path_type(path: FieldPath, fields: Mapping[str, StoredField]) -> Any:
    field = fields.get(path.field)
    kind = object if field is None else _member_type(field.annotation, path.parts[1:])
    return without_none(kind)[0]


def _prefix_type(kind: Any) -> Any:
    """Return the type of values that `begins_with` accepts for a field of type `kind`: str, or `object` if the field is
    binary or has several types.
    """
    is_text = isinstance(kind, type) and kind is not object and not issubclass(kind, (bytes, bytearray))
    return str if is_text or get_origin(kind) is Literal else object


def _part_type(kind: Any) -> Any:
    """Return the type of the argument that `contains` accepts for a field of type `kind`: str for a string, or a type
    that is comparable with the elements of a list or set.

    Return `object` for any other type, which means that the argument is not checked.
    """
    if kind is str:
        return str
    origin, inner = get_origin(kind), get_args(kind)
    is_list = isinstance(origin, type) and issubclass(origin, (Sequence, Set)) and len(inner) == 1
    return _comparable_type(inner[0]) if is_list else object


def _comparable_type(kind: Any) -> Any:
    """Return the type of values that can be compared with a field of type `kind`. All number types are comparable."""
    if isinstance(kind, type) and issubclass(kind, (int, float, Decimal)) and not issubclass(kind, (bool, Enum)):
        return _NUMBER
    return kind


def type_check(annotation: Any) -> TypeCheck | None:
    """Return a function that checks whether a value has a type, or None if the type accepts every value."""
    bare, _ = without_none(annotation)
    origin = get_origin(bare) or bare
    if origin in {Union, types.UnionType}:
        parts = [type_check(part) for part in get_args(bare)]
        return None if None in parts else lambda value: any(part(value) for part in parts if part is not None)
    if origin is Literal:
        return _allow_placeholder(_choice_check(get_args(bare)))
    accepts = _class_check(origin, get_args(bare)) if isinstance(origin, type) and origin is not object else None
    return None if accepts is None else _allow_placeholder(accepts)


def _class_check(kind: type, parts: tuple[Any, ...]) -> TypeCheck | None:
    if issubclass(kind, Enum):
        is_choice = _choice_check(tuple(member.value for member in kind))
        return lambda value: isinstance(value, kind) or is_choice(value)
    if issubclass(kind, _NUMBERS):
        return _number_check(kind)
    accepted_types = next((candidate for base, candidate in _SCALARS if issubclass(kind, base)), None)
    if accepted_types is not None:
        return lambda value: isinstance(value, accepted_types)
    return _members_check(parts) if issubclass(kind, Iterable) else None


def _allow_placeholder(accept: TypeCheck) -> TypeCheck:
    """Return a check that also accepts None and stand-ins for values that are not known yet, such as the parameters of
    a transaction.
    """
    return lambda value: value is None or isinstance(value, CALL_SOURCES) or accept(value)


def _choice_check(choices: tuple[Any, ...]) -> TypeCheck:
    plain_choices = [plain_value(choice) for choice in choices]

    def accept(value: Any) -> bool:
        plain = plain_value(value)
        # Compare types too, because True == 1.
        return any(
            isinstance(plain, type(choice)) and isinstance(plain, bool) == isinstance(choice, bool) and plain == choice
            for choice in plain_choices
        )

    return accept


def _number_check(kind: type) -> TypeCheck:
    if issubclass(kind, bool):
        return lambda value: isinstance(value, bool)
    is_whole = issubclass(kind, int)

    def accept(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, _NUMBERS):
            return False
        return not is_whole or isinstance(value, int) or value == value // 1

    return accept


def _members_check(parts: tuple[Any, ...]) -> TypeCheck:
    members = [part for part in parts if part is not ...]
    accept_one, exact = (type_check(members[0]), _exact_types(members[0])) if len(members) == 1 else (None, frozenset())

    def accept(value: Any) -> bool:
        if not isinstance(value, Iterable) or isinstance(value, (str, bytes, Mapping)):
            return False
        if accept_one is None or not isinstance(value, Collection):
            return True
        return all(type(element) in exact or accept_one(element) for element in value)

    return accept


_NUMBERS = (int, float, Decimal)
_BYTES = (bytes, bytearray, memoryview)
_SCALARS: tuple[tuple[type, tuple[type, ...]], ...] = (
    (str, (str,)),
    *((kind, _BYTES) for kind in _BYTES),
    *((kind, (kind,)) for kind in (UUID, datetime, date, time, timedelta)),
    *((kind, (BaseModel, Mapping)) for kind in (BaseModel, Mapping)),
)
"""Pairs of an annotated type and the types of values that are accepted for it. A subclass comes before its
base class.
"""
_WHOLE = (*(kind for kind, _ in _SCALARS if kind is not Mapping), *_NUMBERS, Enum)


def _exact_types(annotation: Any) -> frozenset[type]:
    """Return the classes whose instances always satisfy the type annotation, so such values need no further check."""
    bare, _ = without_none(annotation)
    parts = get_args(bare) if get_origin(bare) in {Union, types.UnionType} else (bare,)
    exact: set[type] = {type(None)}
    for part in parts:
        kind, _ = without_none(part)
        if isinstance(kind, type) and not get_args(kind) and issubclass(kind, _WHOLE):
            exact.add(kind)
    return frozenset(exact)
