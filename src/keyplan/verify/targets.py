"""Chooses an item for a write: a stored item or a new one. The item is changed if a condition requires it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from itertools import islice, product
from typing import Any

from pydantic import ValidationError

from keyplan.client.errors import UnreadableItemError
from keyplan.cost.expected import index_defaults
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
from keyplan.design.conditions.evaluation import fill
from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.planning.plan import Plan
from keyplan.design.requests.items import absent_as_none
from keyplan.verify.answers import evaluate_condition, has_expired
from keyplan.verify.generate import EntityGenerator
from keyplan.verify.model import StoredEntities, position_of, read_back
from keyplan.verify.values import ValueGenerator, has_example_without

Choose = Callable[[str], Any]
"""A function that generates a value for the field with the given name."""
_MAX_CHANGES = 16
_OPPOSITE_OPS: dict[str, Any] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_STEP = {"<": -1, ">": 1, "<>": 1}


Known = Sequence[tuple[str, Any]]
"""Pairs of a field name and the value that the field must have."""
_REPEATS = 3
_TRIES = 10


def satisfying_changes(
    condition: Condition, spec: EntitySpec, values: Mapping[str, Any], choose: Choose
) -> Iterator[dict[str, Any]]:
    """Yield possible changes to the field values `values` that can make a condition true. A change maps field names to
    new values.

    Changes for the first branch of the condition come first. `choose` generates a value for a field. If the condition
    is already true, yield an empty change.
    """
    if evaluate_condition(condition, values) is True:
        yield {}
    elif isinstance(condition, AndCondition):
        parts = [list(islice(satisfying_changes(part, spec, values, choose), _MAX_CHANGES)) for part in condition.parts]
        for chosen in islice(product(*parts), _MAX_CHANGES):
            yield {name: value for changes in chosen for name, value in changes.items()}
    elif isinstance(condition, OrCondition):
        for part in condition.parts:
            yield from satisfying_changes(part, spec, values, choose)
    elif isinstance(condition, NotCondition):
        yield from _changes_to_fail(condition.part, spec, values, choose)
    else:
        yield from _changes_of_test(condition, spec, values, choose)


def _changes_to_fail(
    condition: Condition, spec: EntitySpec, values: Mapping[str, Any], choose: Choose
) -> Iterator[dict[str, Any]]:
    """Yield possible changes to the field values `values` that can make a condition false. A change maps field names to
    new values.
    """
    if isinstance(condition, NotCondition):
        yield from satisfying_changes(condition.part, spec, values, choose)
    elif isinstance(condition, AndCondition):
        yield from satisfying_changes(
            OrCondition(tuple(NotCondition(member) for member in condition.parts)), spec, values, choose
        )
    elif isinstance(condition, OrCondition):
        yield from satisfying_changes(
            AndCondition(tuple(NotCondition(member) for member in condition.parts)), spec, values, choose
        )
    elif isinstance(condition, CompareCondition):
        yield from satisfying_changes(
            CompareCondition(_OPPOSITE_OPS[condition.op], condition.left, condition.right), spec, values, choose
        )
    elif isinstance(condition, FunctionCondition) and condition.name == "attribute_exists":
        yield from satisfying_changes(condition.path.missing(), spec, values, choose)
    elif isinstance(condition, FunctionCondition) and condition.name == "attribute_not_exists":
        yield from satisfying_changes(condition.path.exists(), spec, values, choose)
    else:
        operand = condition.operands()[0]
        if isinstance(operand, FieldPath) and len(operand.parts) == 1:
            yield {operand.field: choose(operand.field)}


def _changes_of_test(
    condition: Condition, spec: EntitySpec, values: Mapping[str, Any], choose: Choose
) -> Iterator[dict[str, Any]]:
    """Yield possible changes to the field values `values` that can make a single comparison or function true. A change
    maps a field name to a new value.

    The comparison or function refers to a top-level field.
    """
    first, *other_operands = condition.operands()
    path = first.path if isinstance(first, FieldSize) else first
    if not isinstance(path, FieldPath) or len(path.parts) > 1 or path.field not in spec.fields:
        return
    operands = [values.get(other.field) if isinstance(other, FieldPath) else other for other in other_operands]
    if isinstance(first, FieldSize):
        if not isinstance(operands[0], (int, float, Decimal)):
            return
        resized = _resized(values.get(path.field), _size(condition, operands[0]), lambda: choose(path.field))
        if resized is not None:
            yield {path.field: resized}
    else:
        yield {path.field: _value(condition, spec, path.field, operands, choose)}


def _value(condition: Condition, spec: EntitySpec, field: str, operands: list[Any], choose: Choose) -> Any:
    stored = spec.fields[field]
    if isinstance(condition, CompareCondition):
        return choose(field) if condition.op == "<>" else adjacent_value(operands[0], _STEP.get(condition.op, 0))
    if isinstance(condition, (BetweenCondition, InCondition)):
        return operands[0]
    assert isinstance(condition, FunctionCondition), "all kinds of conditions are handled"
    if condition.name == "attribute_not_exists":
        return frozenset() if stored.is_set and not stored.optional else None
    if condition.name == "attribute_exists":
        return choose(field)
    return {operands[0]} if stored.is_set else [operands[0]] if stored.type_code == "L" else operands[0]


def _size(condition: Condition, operand: Any) -> int:
    return int(operand) + (_STEP.get(condition.op, 0) if isinstance(condition, CompareCondition) else 0)


def _resized(value: Any, size: int, generate: Callable[[], Any]) -> Any:
    """Return `value` as a string or collection with `size` characters or elements, or None if this is not possible.

    Elements are removed from the end, or `generate` is called to generate additional ones.
    """
    value = generate() if value is None else value
    if isinstance(value, str):
        return (value + "x" * size)[:size]
    if not isinstance(value, (list, tuple, set, frozenset)):
        return None
    members = list(value) if isinstance(value, (list, tuple)) else sorted(value, key=repr)
    for _ in range(size):
        if len(members) >= size:
            break
        members += [change for change in generate() if isinstance(value, (list, tuple)) or change not in members]
    return type(value)(members[:size]) if 0 <= size <= len(members) else None


def adjacent_value(value: Any, step: int) -> Any:
    """Return a slightly larger value if `step` is 1, a slightly smaller value if `step` is -1, or `value` itself if
    `step` is 0.

    A number differs by 1, a datetime by one second, a date by one day, and a string by one character. Values of other
    types are returned unchanged.
    """
    if not step or isinstance(value, (bool, Enum)):
        return value
    if isinstance(value, (int, float, Decimal)):
        return value + step
    if isinstance(value, datetime):
        return value + timedelta(seconds=step)
    if isinstance(value, date):
        return value + timedelta(days=step)
    if isinstance(value, str):
        return value + "~" if step > 0 else value[:-1] or value
    return value


class WriteTargets:
    """Chooses the items that a call writes, and stores new items if no stored item is suitable."""

    def __init__(
        self,
        stored_entities: StoredEntities,
        entity_generators: Mapping[EntitySpec, EntityGenerator],
        value_generator: ValueGenerator,
        add: Callable[[EntitySpec, Entity], None],
    ) -> None:
        """Prepare the choice of items. `add` stores an entity object, and is called for each new or changed item."""
        self._stored_entities, self._entity_generators, self._value_generator, self._add = (
            stored_entities,
            entity_generators,
            value_generator,
            add,
        )
        self._used_positions: set[tuple[str, bytes]] = set()

    def start_call(self) -> None:
        """Forget which items were used in the previous call."""
        self._used_positions.clear()

    def mark_used(self, spec: EntitySpec, entity: Entity) -> bool:
        """Mark an item as used in this call. Return False if another step of the call already uses the item.

        A request cannot contain the same item twice.
        """
        position = spec.schema.name, position_of(spec, entity)
        if position in self._used_positions:
            return False
        self._used_positions.add(position)
        return True

    def choose(self, plan: Plan, known_values: Known) -> Entity | None:
        """Return an item for a write, and mark it as used in this call. Return None if no item is suitable.

        If the item must not exist, return a new item with the values in `known_values`, which is not stored. Otherwise,
        return a stored item with these values or, if none exists, a new item with these values.
        """
        entity = self._choose(plan, known_values)
        return entity if entity is not None and self.mark_used(plan.entity, entity) else None

    def _choose(self, plan: Plan, known_values: Known) -> Entity | None:
        spec = plan.entity
        if plan.exists == "must_not":
            return self._new_item(spec, dict(known_values))
        now_s = int(self._value_generator.now_s)
        candidates = self._stored_entities.all(spec)
        if known_values:
            candidates = [
                entity for entity in candidates if all(getattr(entity, field) == value for field, value in known_values)
            ]
        unexpired = [entity for entity in self._unused_sample(spec, candidates) if not has_expired(spec, entity, now_s)]
        if unexpired:
            return unexpired[0]
        if plan.exists == "may" and plan.operation == "UpdateItem":
            return _copy_with(spec, self._entity_generators[spec].make(), dict(known_values))
        return self._add_item(spec, dict(known_values))

    def _add_item(self, spec: EntitySpec, fields: Mapping[str, Any]) -> Entity | None:
        """Store a new item with these field values, and return it. Return None if the item is invalid, or if an item
        with the same key exists.
        """
        entity = self._new_item(spec, fields)
        if entity is not None:
            self._add(spec, entity)
        return entity

    def _new_item(self, spec: EntitySpec, fields: Mapping[str, Any]) -> Entity | None:
        """Return a new item with these field values, which is not stored. Return None if the item is invalid, or if an
        item with the same key exists.
        """
        entity = _copy_with(spec, self._entity_generators[spec].make(), fields)
        return None if entity is None or self._stored_entities.exists(spec, entity) else entity

    def _unused_sample(self, spec: EntitySpec, entities: Sequence[Entity]) -> Sequence[Entity]:
        """Return a random sample of the entity objects that are not yet used in the call."""
        sample = self._value_generator.random.sample(entities, min(len(entities), _REPEATS + len(self._used_positions)))
        return [
            entity for entity in sample if (spec.schema.name, position_of(spec, entity)) not in self._used_positions
        ]

    def item_to_put(self, plan: Plan, *, changes: bool) -> Entity:
        """Return an item to pass to a pattern that puts it.

        If `changes` is False, this is a new item. If `changes` is True, it is a copy of a stored item with up to two
        changed fields. If `changes` is True but no item is stored, it is a new item, which is stored first if the put
        requires an existing item.
        """
        spec, generator = plan.entity, self._entity_generators[plan.entity]
        candidates = self._unused_sample(spec, self._stored_entities.all(spec)) if changes else ()
        if not candidates and plan.exists == "must":
            new_item = self._add_item(spec, {})
            candidates = () if new_item is None else (new_item,)
        if not candidates:
            return _as_new(plan, generator.make())
        unique = {name for rule in spec.uniques for name in rule.fields}
        free = [name for name in spec.fields if name not in {*spec.key.fields, spec.version, *unique}]
        for _ in range(_TRIES):
            update = {
                name: generator.value(name) for name in self._value_generator.random.sample(free, min(2, len(free)))
            }
            copy = _copy_with(spec, candidates[0], update)
            if copy is not None:
                return copy
        return candidates[0]

    def satisfy_condition(self, plan: Plan, target: Entity, arguments: Mapping[str, Any]) -> bool:
        """Change the stored item `target`, if necessary, so that it satisfies the condition of a write.

        Return False if the item does not satisfy the condition and cannot be changed to do so.
        """
        if plan.condition is None:
            return True
        condition = fill(plan.condition, arguments)
        if evaluate_condition(condition, _stored(target)) is not False:
            return True
        return plan.exists != "must_not" and self.make_satisfy(plan.entity, target, condition)

    def make_satisfy(self, spec: EntitySpec, target: Entity, condition: Condition) -> bool:
        """Change a stored item so that it satisfies a condition without parameters. Return False if no suitable change
        exists.
        """
        unique = {name for rule in spec.uniques for name in rule.fields}
        fixed = {*spec.key.fields, spec.version, *unique}
        for changes in satisfying_changes(
            condition, spec, _stored(target), self._entity_generators[spec].required_value
        ):
            names = {name for name, value in changes.items() if value is not None or name not in unique}
            entity = None if fixed.intersection(names) else _changed_copy(spec, target, changes)
            if entity is not None and evaluate_condition(condition, _stored(entity)) is not False:
                self._add(spec, entity)
                return True
        return False


def _as_new(plan: Plan, entity: Entity) -> Entity:
    """Return a copy of a new item in which some fields have their default values, so that the item is in its sparse
    indexes.

    Only fields that determine whether an item is in an index are changed. The cost estimate for a pattern that creates
    items makes the same assumption.
    """
    for defaults in filter(None, (index_defaults(plan, bound) for bound in plan.entity.indexes)):
        entity = _copy_with(plan.entity, entity, defaults) or entity
    return entity


def _stored(entity: Entity) -> dict[str, Any]:
    return {name: absent_as_none(value) for name, value in entity.__dict__.items()}


def _copy_with(spec: EntitySpec, entity: Entity, fields: Mapping[str, Any]) -> Entity | None:
    """Return a copy of an entity object with other field values, or None if its model rejects them."""
    try:
        return spec.model.model_validate({**entity.__dict__, **fields}, by_name=True)
    except ValidationError:
        return None


def _changed_copy(spec: EntitySpec, entity: Entity, changes: Mapping[str, Any]) -> Entity | None:
    """Return a copy of an entity object with other field values, or None if the model rejects the result.

    The value None removes a field. A required field can be removed only if an example of the model does not have it.
    """
    removed_names = {name for name, value in changes.items() if value is None and not spec.fields[name].optional}
    copy = _copy_with(spec, entity, {name: value for name, value in changes.items() if name not in removed_names})
    if copy is None or not removed_names:
        return copy
    return _copy_without(spec, copy, removed_names) if has_example_without(spec.model, removed_names) else None


def _copy_without(spec: EntitySpec, entity: Entity, names: set[str]) -> Entity | None:
    """Return a copy of an entity object without the required fields in `names`, as an older version of the program
    might have written it.

    Return None if the model cannot read such an item. Also return None if the key of the item would change.
    """
    absent_values = dict.fromkeys(names)
    try:
        older = read_back(spec, entity.model_copy(update=absent_values)).model_copy(update=absent_values)
        reread = read_back(spec, older)
    except UnreadableItemError:
        return None
    keys = {name for bound in (spec.key, *spec.indexes) for name in bound.fields}
    is_unchanged = all(getattr(reread, name) == value for name, value in older.__dict__.items() if name not in names)
    return (
        older
        if is_unchanged and not keys.intersection(names) and position_of(spec, older) == position_of(spec, entity)
        else None
    )
