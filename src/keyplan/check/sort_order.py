"""The order of query results, which is determined by the parts of the sort key that can differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from keyplan.design.entities import EntitySpec
from keyplan.design.keys.placeholders import BoundPlaceholder, Text
from keyplan.design.planning.plan import Plan


@dataclass(frozen=True)
class Ordered:
    """A field that determines the order of results, after all earlier fields."""

    field: str
    in_order: bool
    """True if the key sorts as the values do; for an Enum or Literal, in the declared order."""
    text: str
    """The part of the key that contains the field."""


def order_of(plan: Plan, entity: EntitySpec) -> Iterator[Ordered]:
    """Yield the fields that determine the order of an entity's results, in order."""
    bound = entity.key_in(plan.index)
    if bound is None or plan.key is None:
        return
    fixed = {
        name for condition in plan.key.sort if condition.op in {"=", "begins_with"} and condition.low.part != "begins"
        for name in condition.low.sources
    }  # fmt: skip
    for part in bound.sort:
        if part.template is None:
            names = [name for name in part.fields if name not in fixed]
            yield from (Ordered(name, _keeps_declared_order(entity, name), part.attribute) for name in names)
            continue
        for piece in part.template.parts:
            if isinstance(piece, Text) or piece.name in fixed:
                continue
            in_order = part.template.keeps_order_from(piece.name) or _is_text(piece)
            if plan.index is None and piece is part.template.parts[-1]:
                in_order = in_order or part.template.ends_in_period(piece.name)
            yield Ordered(piece.name, in_order, f"{part.attribute} = {part.text}")


def _is_text(hole: BoundPlaceholder) -> bool:
    """Return True if a placeholder contains unchanged text, so that keys sort like the text."""
    return hole.field.type is str and hole.field.choices is None and hole.encoding.keeps_order


def _keeps_declared_order(entity: EntitySpec, name: str) -> bool:
    """Return True if a field's stored values sort by its values, with choices in their declared order."""
    stored = entity.fields[name]
    values = list(stored.declared.stored_choices)
    return stored.type_code != "S" or values == sorted(values, key=str)
