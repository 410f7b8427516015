"""Entities brought to the sizes that a design declares: by longer or shorter texts, and by longer collections."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from keyplan.design.conditions import Path, paths_of
from keyplan.design.design import Design
from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.fields import StoredField
from keyplan.design.plan import Plan
from keyplan.design.requests_items import maker_of
from keyplan.dynamodb.values.attribute import normalise_item
from keyplan.verify.amounts import Amount, Owners, same_type
from keyplan.verify.examples import examples_of
from keyplan.verify.samples import Samples
from keyplan.verify.sizing import length_limits, stretched, target_sizes


class Sizer:
    """Gives each entity of a kind a size."""

    def __init__(self, spec: EntitySpec, amount: Amount, design: Design, samples: Samples, owners: Owners) -> None:
        self._spec, self._samples = spec, samples
        self._fillers = fillers(spec, design, owners)
        told = None if spec.items is None else spec.items.bytes
        self._sizes = [] if told is None else target_sizes(told, max(1, amount.count), samples.random)

    def keep(self, names: Collection[str]) -> None:
        """Leave these fields as they are."""
        self._fillers = [name for name in self._fillers if name not in names]

    def sized(self, entity: Entity, number: int) -> Entity:
        """The entity with texts and collections as long as its size asks for, as far as its model's rules let them."""
        if not self._sizes:
            return entity
        target = self._sizes[number % len(self._sizes)]
        by = target - stored_bytes(self._spec, entity)
        for change in (stretched, self._lengthened, stretched):
            changes = change(entity, [name for name in self._fillers if getattr(entity, name)], by) if by else {}
            if changes:
                try:
                    entity = self._spec.model.model_validate({**entity.__dict__, **changes}, by_name=True)
                except ValidationError:
                    break  # a rule of the model's own keeps them as they are
                by = target - stored_bytes(self._spec, entity)
        return entity

    def _lengthened(self, entity: Entity, names: Sequence[str], by: int) -> dict[str, Any]:
        """A collection with more elements, about so many bytes in all; nothing where examples say how long they are."""
        for name in () if examples_of(self._spec.model) else names:
            stored, value = self._spec.fields[name], getattr(entity, name)
            if stored.type_code == "L" and isinstance(value, (list, tuple)):
                most = length_limits(stored.info.annotation, stored.info.metadata)[1]
                wanted = min(most, len(value) + by // _bytes_of_each(stored, value))
                longer = list(value)
                while len(longer) < wanted:
                    longer += self._samples.field(self._spec.model, name)
                if len(longer) > len(value):
                    return {name: longer[:wanted]}
        return {}


def fillers(spec: EntitySpec, design: Design, owners: Owners) -> list[str]:
    """Fields whose texts can be longer or shorter without anything else changing: top-level texts first."""
    fixed = {name for bound in (spec.key, *spec.indexes) for name in bound.depends_on}
    fixed |= {name for rule in spec.uniques for name in rule.fields}
    fixed |= {name for names in spec.found_by for name in names}
    fixed |= set(spec.items.distinct) if spec.items is not None else set()
    free = [
        stored
        for stored in spec.fields.values()
        if stored.name not in fixed
        and (stored.annotation is str or stored.type_code in {"L", "M"})
        and not (stored.name in owners and same_type(owners[stored.name][0], stored))
    ]
    asked = {path.field for one in design.patterns for path in _asked(one.plan)}
    return [one.name for one in sorted(free, key=lambda one: (one.name in asked, one.annotation is not str))]


def _asked(plan: Plan) -> Iterator[Path]:
    """What a pattern compares in filters and conditions: stretched only where nothing else can be."""
    for one in (plan.filter, plan.condition, plan.replace_when):
        yield from paths_of(one)


def stored_bytes(spec: EntitySpec, entity: Entity) -> int:
    """The size of an entity's item as the service counts it."""
    return normalise_item(maker_of(spec).item(entity), wire=False)[1]


def _bytes_of_each(stored: StoredField, value: Sequence[Any]) -> int:
    """The average size of a list's elements."""
    return normalise_item({"value": stored.encode(value)}, wire=False)[1] // len(value)
