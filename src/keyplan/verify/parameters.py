"""Chooses values for the parameters of a pattern, so that the call matches a chosen item."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from keyplan.design.conditions.builders import ItemWrite
from keyplan.design.conditions.conditions import (
    AndCondition,
    BetweenCondition,
    CompareCondition,
    Condition,
    FieldPath,
    FunctionCondition,
    InCondition,
    NotCondition,
    OrCondition,
)
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.fields.annotations import annotation_with_limits, without_none
from keyplan.design.keys.placeholders import BoundPlaceholder
from keyplan.design.parameters import Each, EveryShard, Param, Source, annotation_of
from keyplan.verify.answers import meaning_of
from keyplan.verify.generate import EntityGenerator
from keyplan.verify.model import StoredEntities
from keyplan.verify.targets import adjacent_value
from keyplan.verify.values import ValueGenerator

Role = Literal[
    "equal",
    "stored",
    "lookup",
    "allowed",
    "low",
    "high",
    "above",
    "below",
    "prefix",
    "part",
    "version",
    "new",
    "amount",
]
"""The relation of a parameter to the value of a field in the chosen item.

- equal: the value, or a generated value if it is None
- stored: the value, even if it is None
- lookup: a list of values to look up
- allowed: a list of values that the field is allowed to have
- low, high: a bound that is less than or equal to the value, or greater than or equal to it
- above, below: a bound that is greater than the value, or less than it
- prefix: the start of the value
- part: a substring of a string, an element of a collection or a map key
- version: the version of the item
- new: another value for the field
- amount: a number to add
"""
MANY = 10
"""The number of keys or items in a batch if the design does not declare it."""
_TRIES = 20
"""The number of values that are generated to find one that is within a range."""
_MAX_ALLOWED_VALUES = 3
"""The maximum number of values to generate for a list parameter that contains the allowed values of a field."""


class Binding:
    """The values that have been chosen so far for the arguments of one call."""

    def __init__(self) -> None:
        self.arguments: dict[str, Any] = {}
        self.attributes: dict[str, dict[tuple[str, ...], Any]] = {}

    def copy(self) -> Binding:
        """Return a copy of the chosen values. Later changes to the copy do not affect the original."""
        other = Binding()
        other.arguments = dict(self.arguments)
        other.attributes = {name: dict(parts) for name, parts in self.attributes.items()}
        return other

    def adopt(self, other: Binding, excluded: str) -> None:
        """Copy the chosen values of all parameters from `other`, except the value of the parameter `excluded`."""
        self.arguments.update({name: value for name, value in other.arguments.items() if name != excluded})
        self.attributes.update({name: dict(parts) for name, parts in other.attributes.items() if name != excluded})

    def knows_part_of(self, source: Param) -> bool:
        """Return True if a value is set for a parameter or for one of its attributes."""
        return source._name in self.arguments or source._name in self.attributes

    def find(self, source: Source) -> tuple[bool, Any]:
        """Return True and the chosen value of a parameter or of a parameter's attribute. Return False and None if no
        value has been chosen. For a constant, return True and the constant.
        """
        if not isinstance(source, Param):
            return True, source
        if source._name in self.arguments:
            value = self.arguments[source._name]
            for part in source._path:
                value = getattr(value, part)
            return True, value
        values = self.attributes.get(source._name, {})
        return source._path in values, values.get(source._path)

    def set(self, source: Source, value: Any) -> None:
        """Set the value of a parameter, or of an attribute of a parameter, unless it already has one. Constants are
        ignored.
        """
        if isinstance(source, Param) and not self.find(source)[0]:
            if source._path:
                self.attributes.setdefault(source._name, {})[source._path] = value
            else:
                self.arguments[source._name] = value


def element_of(annotation: Any) -> Any:
    """Return the element type of a list type such as list[str], or None for other types."""
    parts: Iterable[Any] = get_args(without_none(annotation)[0]) if annotation is not None else ()
    return next(iter(parts), None)


@dataclass(frozen=True, eq=False)
class ParameterUse:
    """A use of a parameter, or of an attribute of a parameter, in a pattern."""

    source: Source
    role: Role
    field: str
    nested: bool = False
    """True if the parameter is compared with, or stored as, a nested value in the field instead of the whole field."""
    within: tuple[object, ...] = ()
    """The path from the field to the nested value that the parameter stands for. It consists of names, list positions
    and parameters.
    """
    certain: bool = False
    """True if the field equals `source`, a parameter or a constant, in every item that the call reads or writes."""
    encoded: BoundPlaceholder | None = None
    """The placeholder that encodes the field in the key, if the parameter is compared with this encoded form.
    Otherwise, None.
    """


def uses_of(pattern: Pattern[..., Any], spec: EntitySpec | None = None) -> list[ParameterUse]:
    """Return all uses of parameters in a pattern that is not a transaction, and the constants that a field must equal.

    If `spec` is given, fields have the names that this entity uses. Otherwise, they have the names in the pattern.
    """
    terms = pattern._terms
    uses = list(_change_uses(pattern, terms)) if isinstance(terms, ItemWrite) else list(_read_uses(pattern, spec))
    uses += list(_condition_uses(pattern.plan.filter)) + list(_condition_uses(pattern.plan.condition))
    return [use for use in uses if isinstance(_param(use.source), Param) or use.certain]


def _param(source: Source) -> Source:
    return source.values if isinstance(source, Each) else source


_RANGE_ROLES: dict[str, Role] = {"<": "above", "<=": "high", ">": "below", ">=": "low", "begins_with": "prefix"}


def _read_uses(pattern: Pattern[..., Any], spec: EntitySpec | None) -> Iterator[ParameterUse]:
    meaning = meaning_of(pattern)
    for key_test in meaning.key_tests if spec is None else meaning.key_tests_of(spec):
        if key_test.op == "reads":
            continue  # for a constant, matching items are found by trial
        if key_test.op == "between":
            yield ParameterUse(key_test.low, "low", key_test.field)
            yield ParameterUse(key_test.high, "high", key_test.field)
        else:
            role = _RANGE_ROLES.get(key_test.op)
            yield (
                _equal(key_test.low, key_test.field)
                if role is None
                else ParameterUse(key_test.low, role, key_test.field, encoded=key_test.encoded)
            )


def _equal(source: Source, field: str) -> ParameterUse:
    if isinstance(source, Each):
        return ParameterUse(source, "lookup", field)
    return ParameterUse(source, "equal", field, certain=not isinstance(source, EveryShard))


def _change_uses(pattern: Pattern[..., Any], change: ItemWrite) -> Iterator[ParameterUse]:
    for field, source in change.key.items():
        yield _equal(source, field)
    for field, source in change.assumed.items():
        yield ParameterUse(source, "stored", field, certain=True)
    if change.version is not None:
        yield ParameterUse(change.version, "version", pattern.plan.entity.version or "")
    for action in change.actions:
        nested = len(action.path.parts) > 1
        role: Role = "amount" if action.name == "add" else "new"
        yield ParameterUse(action.source, role, action.path.field, nested)
        for part in action.path.parts[1:]:
            yield ParameterUse(part, "part", action.path.field, nested=True)


def _condition_uses(condition: Condition | None, *, certain: bool = True) -> Iterator[ParameterUse]:
    if condition is None:
        return
    if isinstance(condition, (AndCondition, OrCondition)):
        for part in condition.parts:
            yield from _condition_uses(part, certain=certain and isinstance(condition, AndCondition))
    elif isinstance(condition, NotCondition):
        yield from _condition_uses(condition.part, certain=False)
    else:
        yield from _comparison_uses(condition, certain=certain)


_COMPARISON_ROLES: dict[str, Role] = {"=": "equal", "<": "above", "<=": "high", ">": "below", ">=": "low", "<>": "new"}


def _comparison_uses(condition: Condition, *, certain: bool) -> Iterator[ParameterUse]:
    first, *other_operands = condition.operands()
    if not isinstance(first, FieldPath):
        return  # for a size, any number is valid
    within = first.parts[1:]
    nested = bool(within)
    for part in within:
        yield ParameterUse(part, "part", first.field)
    if isinstance(condition, CompareCondition):
        yield ParameterUse(
            other_operands[0],
            _COMPARISON_ROLES[condition.op],
            first.field,
            nested,
            within,
            certain and condition.op == "=",
        )
    elif isinstance(condition, BetweenCondition):
        yield ParameterUse(other_operands[0], "low", first.field, nested, within)
        yield ParameterUse(other_operands[1], "high", first.field, nested, within)
    elif isinstance(condition, InCondition):
        yield from (
            ParameterUse(entity, "allowed" if isinstance(entity, Each) else "equal", first.field, nested, within)
            for entity in other_operands
        )
    elif isinstance(condition, FunctionCondition) and other_operands:
        role: Role = "prefix" if condition.name == "begins_with" else "part"
        yield ParameterUse(other_operands[0], role, first.field, nested, within)


class ParameterValues:
    """Generates argument values so that a call to a pattern matches a chosen item.

    The methods receive the item as `target`, and the use of the parameter in the pattern as `use`.
    """

    def __init__(
        self,
        stored_entities: StoredEntities,
        entity_generators: Mapping[EntitySpec, EntityGenerator],
        value_generator: ValueGenerator,
    ) -> None:
        self._stored_entities, self._entity_generators, self._value_generator = (
            stored_entities,
            entity_generators,
            value_generator,
        )
        self._chance = value_generator.random

    def bind(
        self,
        spec: EntitySpec,
        target: Entity,
        uses: Sequence[ParameterUse],
        binding: Binding,
        pattern: Pattern[..., Any],
    ) -> None:
        """Choose a value for each use of a parameter so that the call matches the item `target`. Parameters that
        already have a value keep it.
        """
        equal_fields = tuple(dict.fromkeys(use.field for use in uses if use.role == "equal" and not use.nested))
        for use in sorted(uses, key=lambda use: use.role in {"new", "amount"}):
            if use.field in spec.fields:
                value = _ROLES[use.role](self, spec, target, use, equal_fields, pattern)
            else:  # the filter tests a field that only another entity of the read has
                value = self.generate(annotation_of(use.source), use.field)
            if use.role == "part" and use.nested and value in binding.arguments.values():
                value = self.generate(str, use.field)  # equal names within one map would overlap
            binding.set(use.source.values if isinstance(use.source, Each) else use.source, value)

    def equal_value(self, spec: EntitySpec, target: Entity, use: ParameterUse, *_unused: Any) -> Any:
        """Return the value that the item `target` has in the field `use.field`, or generate one if the item has no
        value there.
        """
        value = _value_within(getattr(target, use.field), use)
        return self.new_value(spec, target, use) if value is None else value

    def stored_value(self, _spec: EntitySpec, target: Entity, use: ParameterUse, *_unused: Any) -> Any:
        """Return the value that the item `target` has in the field `use.field`, even if it is None."""
        return getattr(target, use.field)

    def lookup_values(
        self,
        spec: EntitySpec,
        target: Entity,
        use: ParameterUse,
        equal_fields: tuple[str, ...],
        pattern: Pattern[..., Any],
    ) -> Any:
        """Return a list of values for the field `use.field`. The first is the value in the item `target`.

        The others are values in stored items that have the same values as `target` in every field listed in
        `equal_fields`.
        """
        similar_items = self._stored_entities.with_same_values(spec, equal_fields, target)
        values = list(
            dict.fromkeys([getattr(target, use.field), *(getattr(entity, use.field) for entity in similar_items)])
        )
        size = max(1, round(pattern.facts.expected_items or MANY))
        return [values[0], *self._chance.sample(values[1:], min(size - 1, len(values) - 1))]

    def allowed_values(
        self,
        spec: EntitySpec,
        target: Entity,
        use: ParameterUse,
        equal_fields: tuple[str, ...],
        _pattern: Pattern[..., Any],
    ) -> Any:
        """Return a list of values for the field `use.field`, including the value in the item `target`.

        The others are values in stored items that have the same values as `target` in every field listed in
        `equal_fields`.
        """
        candidate_values = (
            _value_within(getattr(entity, use.field), use)
            for entity in (target, *self._stored_entities.with_same_values(spec, equal_fields, target))
        )
        values = list({repr(value): value for value in candidate_values if value is not None}.values())
        return values[:_MAX_ALLOWED_VALUES] or [self.generate(element_of(annotation_of(use.source.values)), use.field)]

    def bound(
        self,
        spec: EntitySpec,
        target: Entity,
        use: ParameterUse,
        equal_fields: tuple[str, ...],
        _pattern: Pattern[..., Any],
    ) -> Any:
        """Return a bound for a range over the field `use.field`, so that the range contains the value in the item
        `target`.

        The role of the use is "low", "high", "above" or "below", and determines which bound is returned. If possible,
        the bound is a value in a stored item that has the same values as `target` in every field listed in
        `equal_fields`. For a field with choices, the bound can be any of the choices.
        """
        stored_value = _value_within(getattr(target, use.field), use)
        if stored_value is None:
            return self.new_value(spec, target, use)
        choices = spec.fields[use.field].declared.choices
        if choices is not None and not use.nested:
            return self._chance.choice(choices)  # no value lies beyond the choices
        if use.nested:
            return adjacent_value(stored_value, {"above": 1, "below": -1}.get(use.role, 0))
        similar_values = [
            getattr(entity, use.field) for entity in self._stored_entities.with_same_values(spec, equal_fields, target)
        ]
        fits = [value for value in similar_values if value is not None and _FITS[use.role](value, stored_value)]
        value = (
            self._chance.choice(fits)
            if fits
            else adjacent_value(stored_value, {"above": 1, "below": -1}.get(use.role, 0))
        )
        return value if self._is_accepted(spec, use, value) else self._within(spec, target, use, fits)

    def _within(self, spec: EntitySpec, target: Entity, use: ParameterUse, fits: Sequence[Any]) -> Any:
        """Return a bound for a range. The bound is valid for both the parameter and the field.

        The bound is the first valid value in `fits`. If none is valid, values are generated until the range contains
        the value in the item `target`. If this does not succeed after several attempts, one of the generated values is
        returned.
        """
        accepted = next((value for value in fits if self._is_accepted(spec, use, value)), None)
        if accepted is not None:
            return accepted
        stored_value = getattr(target, use.field)
        generated_values = [self.new_value(spec, target, use) for _ in range(_TRIES)]
        return next((value for value in generated_values if _FITS[use.role](value, stored_value)), generated_values[0])

    def _is_accepted(self, spec: EntitySpec, use: ParameterUse, value: Any) -> bool:
        """Return True if a value satisfies the constraints of the parameter and of the field `use.field`."""
        declared = (annotation_of(use.source), annotation_with_limits(spec.fields[use.field].info))
        return all(_is_valid(annotation, value) for annotation in declared if annotation is not None)

    def prefix(self, _spec: EntitySpec, target: Entity, use: ParameterUse, *_unused: Any) -> Any:
        """Return the first half of the value that the item `target` has in the field `use.field`, or of the value's
        encoded form.

        For a datetime field and a date parameter, return the day.
        """
        value, parameter_type = getattr(target, use.field), without_none(annotation_of(use.source))[0]
        if parameter_type is str and use.encoded is not None:
            value = use.encoded.encode(value)
        elif parameter_type is date and isinstance(value, datetime):
            value = value.date()
        return value[: max(1, len(value) // 2)] if isinstance(value, str) else value

    def member(self, _spec: EntitySpec, target: Entity, use: ParameterUse, *_unused: Any) -> Any:
        """Return a part of the value that the item `target` has in the field `use.field`: the start of a string, an
        element of a set or list, or a key of a map.
        """
        value = getattr(target, use.field)
        if isinstance(value, str):
            return value[:5]
        elements = value if isinstance(value, Collection) and not isinstance(value, bytes) else ()
        members = sorted(elements, key=repr) if isinstance(value, (set, frozenset)) else list(elements)
        return self._chance.choice(members) if members else self.generate(str, use.field)

    def version(self, spec: EntitySpec, target: Entity, *_unused: Any) -> Any:
        """Return the version of the item `target`."""
        return getattr(target, spec.version or "")

    def new_value(self, spec: EntitySpec, _anchor: Entity, use: ParameterUse, *_unused: Any) -> Any:
        """Generate a value for a parameter whose value a write stores in the field `use.field`.

        If the parameter has the same type and constraints as the field, the value is generated like the field's values
        in new items. Otherwise, it is generated for the type of the parameter.
        """
        annotation, info = annotation_of(use.source), spec.fields[use.field].info
        is_same_type = annotation is None or without_none(annotation)[0] == spec.fields[use.field].annotation
        if get_origin(annotation) is Annotated and list(get_args(annotation)[1:]) != info.metadata:
            is_same_type = False  # the parameter has its own constraints
        if is_same_type and not use.nested:
            value = self._entity_generators[spec].value(use.field)
            return self._value_generator.field(spec.model, use.field) if value is None else value
        return self.generate(annotation, use.field)

    def amount(self, *_unused: Any) -> Any:
        """Return 1, as the value of a parameter that is added to a number."""
        return 1

    def generate(self, annotation: Any, name: str) -> Any:
        """Generate a value of the type `annotation`, or a word if `annotation` is None. `name` is the name of the
        parameter or field.
        """
        return self._value_generator.word() if annotation is None else self._value_generator.of_type(annotation, name)


def _is_valid(annotation: Any, value: Any) -> bool:
    try:
        TypeAdapter(annotation).validate_python(value)
    except ValidationError:
        return False
    return True


def _value_within(value: Any, use: ParameterUse) -> Any:
    """Return the nested value at the path `use.within` in the value of a field, or None if it does not exist.

    A parameter in the path can stand for any map key or list position. The first element is used for it.
    """
    for part in use.within:
        if isinstance(value, BaseModel):
            value = getattr(value, str(part), None)
        elif isinstance(value, Mapping):
            value = next(iter(value.values()), None) if isinstance(part, Param) else value.get(part)
        elif isinstance(value, (list, tuple)):
            index = 0 if isinstance(part, Param) else part
            value = value[index] if isinstance(index, int) and index < len(value) else None
    return value


_Draw = Callable[..., Any]
_ROLES: dict[str, _Draw] = {
    "equal": ParameterValues.equal_value,
    "stored": ParameterValues.stored_value,
    "lookup": ParameterValues.lookup_values,
    "allowed": ParameterValues.allowed_values,
    "low": ParameterValues.bound,
    "high": ParameterValues.bound,
    "above": ParameterValues.bound,
    "below": ParameterValues.bound,
    "prefix": ParameterValues.prefix,
    "part": ParameterValues.member,
    "version": ParameterValues.version,
    "new": ParameterValues.new_value,
    "amount": ParameterValues.amount,
}
_FITS: dict[str, Callable[[Any, Any], bool]] = {
    "low": lambda value, stored: bool(value <= stored),
    "high": lambda value, stored: bool(value >= stored),
    "below": lambda value, stored: bool(value < stored),
    "above": lambda value, stored: bool(value > stored),
}
