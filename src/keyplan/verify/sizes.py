"""Chooses a size for each item, and adjusts strings and collections so that items have this size."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from random import Random
from statistics import NormalDist
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from keyplan.design.conditions.conditions import FieldPath, paths_of
from keyplan.design.declaring.design import Design
from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.fields.annotations import without_none
from keyplan.design.fields.stored import StoredField
from keyplan.design.planning.plan import Plan
from keyplan.design.requests.items import item_builder
from keyplan.design.workload import Bytes
from keyplan.dynamodb.values.attribute import normalise_item
from keyplan.verify.population import Amount, Owners, same_type
from keyplan.verify.values import ValueGenerator, examples_of, unwrapped

_NORMAL = NormalDist()
_Z99 = _NORMAL.inv_cdf(0.99)
_SPREAD = 0.1
"""The standard deviation (sigma) of the log-normal distribution if only the average size is declared."""
_MAX_LENGTH = 400_000
"""The maximum length of a generated text if no maximum is declared. It is slightly less than the maximum item size."""
FILLER = "lorem ipsum dolor sit amet "


def target_sizes(declared: Bytes, count: int, chance: Random) -> list[int]:
    """Return `count` item sizes in bytes, drawn from a log-normal distribution with the declared average and 99th
    percentile.
    """
    sigma = _sigma(declared)
    mu = math.log(max(1, declared.average)) - sigma * sigma / 2
    targets = [math.exp(mu + sigma * _NORMAL.inv_cdf((number + 0.5) / count)) for number in range(count)]
    max_bytes = declared.most if declared.most is not None else _MAX_LENGTH
    sizes = [min(max_bytes, round(size)) for size in targets]
    chance.shuffle(sizes)
    return sizes


def _sigma(declared: Bytes) -> float:
    """Return the parameter sigma of a log-normal distribution with the declared average m and 99th percentile q.

    It is the smaller solution of sigma² / 2 - z sigma + ln(q / m) = 0, where z is the 99th percentile of the standard
    normal distribution.
    """
    if declared.p99 is None or declared.p99 <= declared.average or declared.average <= 0:
        return _SPREAD
    discriminant = _Z99 * _Z99 - 2 * math.log(declared.p99 / declared.average)
    return _Z99 - math.sqrt(max(0.0, discriminant))  # without a solution, the widest distribution


def resize(annotation: Any, value: Any, delta: int, metadata: Sequence[Any] = ()) -> tuple[Any, int]:
    """Make a string longer by about `delta` bytes, or shorter if `delta` is negative. In a list or model, change the
    first suitable string.

    Return the new value and the actual difference in bytes, which is 0 if nothing could be changed.
    """
    plain_type, _ = without_none(annotation)
    if plain_type is str and isinstance(value, str):
        min_length, max_length = length_limits(annotation, metadata)
        return _resize_text(value, delta, min_length, max_length)
    if get_origin(plain_type) in {list, tuple} and value and get_args(plain_type):
        first, applied = resize(get_args(plain_type)[0], value[0], delta)
        return type(value)([first, *value[1:]]), applied
    if isinstance(value, BaseModel) and not metadata:
        return _resize_model(value, delta)
    return value, 0


def length_limits(annotation: Any, metadata: Sequence[Any]) -> tuple[int, int]:
    """Return the minimum and maximum length that a type's constraints allow. If a regular expression or a validator
    restricts the values, return 0 for both.
    """
    min_length, max_length = 1, _MAX_LENGTH
    for mark in unwrapped(annotation, metadata)[1]:
        if getattr(mark, "pattern", None) is not None or callable(getattr(mark, "func", None)):
            return 0, 0
        min_length = max(min_length, getattr(mark, "min_length", None) or 0)
        max_length = min(max_length, getattr(mark, "max_length", None) or max_length)
    return min_length, max_length


def _resize_text(text: str, delta: int, min_length: int, max_length: int) -> tuple[str, int]:
    if not max_length:
        return text, 0
    if delta >= 0:
        delta = min(delta, max(0, max_length - len(text)))
        return text + (FILLER * (delta // len(FILLER) + 1))[:delta], delta
    shortened = text[: max(min_length, len(text) + delta)]
    return shortened, len(shortened.encode()) - len(text.encode())


def _resize_model(model: BaseModel, delta: int) -> tuple[BaseModel, int]:
    for name, info in type(model).model_fields.items():
        value, applied = resize(info.annotation, getattr(model, name), delta, info.metadata)
        if applied:
            return model.model_copy(update={name: value}), applied
    return model, 0


def resize_fields(model: BaseModel, names: Sequence[str], delta: int) -> tuple[dict[str, Any], int]:
    """Return new values for some of the fields in `names`, which together make an object larger by `delta` bytes, or
    smaller if `delta` is negative.

    Also return the remaining difference in bytes, which is not 0 if the fields do not allow a change of this size.
    """
    changes: dict[str, Any] = {}
    remaining = delta
    for name in names:
        if not remaining:
            break
        info = type(model).model_fields[name]
        value, applied = resize(info.annotation, getattr(model, name), remaining, info.metadata)
        if applied:
            changes[name] = value
            remaining -= applied
    return changes, remaining


class SizeAdjuster:
    """Changes strings and lists in the items of one entity, so that the items have the declared sizes."""

    def __init__(
        self, spec: EntitySpec, amount: Amount, design: Design, value_generator: ValueGenerator, owners: Owners
    ) -> None:
        self._spec, self._value_generator = spec, value_generator
        self._fillers = fillers(spec, design, owners)
        declared = None if spec.volume is None else spec.volume.bytes
        self._sizes = [] if declared is None else target_sizes(declared, max(1, amount.count), value_generator.random)

    def exclude(self, names: Collection[str]) -> None:
        """Exclude fields from the adjustment of item sizes."""
        self._fillers = [name for name in self._fillers if name not in names]

    def resize_item(self, entity: Entity, number: int) -> Entity:
        """Return an entity object with its target size. The size can differ if the model's constraints prevent an exact
        match.
        """
        if not self._sizes:
            return entity
        target = self._sizes[number % len(self._sizes)]
        delta = target - stored_bytes(self._spec, entity)
        for change in (resize_fields, self._lengthen_list, resize_fields):
            if not delta:
                break
            changes, remaining = change(entity, [name for name in self._fillers if getattr(entity, name)], delta)
            if changes:
                try:
                    entity = self._spec.model.model_validate({**entity.__dict__, **changes}, by_name=True)
                except ValidationError:
                    break  # a validator of the model rejects the change
                delta = target - stored_bytes(self._spec, entity) if remaining is None else remaining
        return entity

    def _lengthen_list(self, entity: Entity, names: Sequence[str], delta: int) -> tuple[dict[str, Any], None]:
        """Return a change that makes the list in one of the fields in `names` longer, and adds about `delta` bytes to
        an object.

        The change maps the name of the field to the new list. It is empty if the model has examples or none of the
        fields is a list. The second element of the result is None, because the remaining number of bytes is not known.
        """
        for name in () if examples_of(self._spec.model) else names:
            stored, value = self._spec.fields[name], getattr(entity, name)
            if stored.type_code == "L" and isinstance(value, (list, tuple)):
                max_length = length_limits(stored.info.annotation, stored.info.metadata)[1]
                members = min(max_length, len(value) + delta // _average_element_bytes(stored, value))
                longer = list(value)
                while len(longer) < members:
                    longer += self._value_generator.field(self._spec.model, name)
                if len(longer) > len(value):
                    return {name: longer[:members]}, None
        return {}, None


def fillers(spec: EntitySpec, design: Design, owners: Owners) -> list[str]:
    """Return the fields whose length can be changed so that items have the declared size. Changing them does not affect
    keys, unique values, references or declared values.

    Strings come first, and fields that patterns compare come last.
    """
    fixed = {name for bound in (spec.key, *spec.indexes) for name in bound.depends_on}
    fixed |= {name for rule in spec.uniques for name in rule.fields}
    fixed |= {name for names in spec.found_by for name in names}
    fixed |= set(spec.volume.distinct) if spec.volume is not None else set()
    free = [
        stored
        for stored in spec.fields.values()
        if stored.name not in fixed
        and (stored.annotation is str or stored.type_code in {"L", "M"})
        and not (stored.name in owners and same_type(owners[stored.name][0], stored))
    ]
    tested = {path.field for pattern in design.patterns for path in _compared_fields(pattern.plan)}
    return [
        stored.name for stored in sorted(free, key=lambda stored: (stored.name in tested, stored.annotation is not str))
    ]


def _compared_fields(plan: Plan) -> Iterator[FieldPath]:
    """Yield the fields that the conditions of a pattern compare. The size adjustment changes the length of these fields
    only if no other field is available.
    """
    for condition in (plan.filter, plan.condition, plan.replaceable):
        yield from paths_of(condition)


def stored_bytes(spec: EntitySpec, entity: Entity) -> int:
    """Return the size of an entity object's item in bytes, as DynamoDB counts it."""
    return normalise_item(item_builder(spec).item(entity), wire=False)[1]


def _average_element_bytes(stored: StoredField, value: Sequence[Any]) -> int:
    return normalise_item({"value": stored.encode(value)}, wire=False)[1] // len(value)
