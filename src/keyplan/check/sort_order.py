"""Determines the order of query results from the fields of the sort key that differ between results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from keyplan.design.entities import EntitySpec
from keyplan.design.keys.placeholders import BoundPlaceholder, Text
from keyplan.design.planning.plan import Plan


@dataclass(frozen=True)
class SortField:
    """A field by which query results are sorted if all earlier fields of the sort key are equal."""

    field: str
    in_order: bool
    """True if keys sort in the order of the field's values. For an Enum or Literal, this is the declared order."""
    text: str
    """The name and template of the key attribute that contains the field."""


def order_of(plan: Plan, entity: EntitySpec) -> Iterator[SortField]:
    """Yield the fields by which an entity's query results are sorted, the most significant first."""
    bound = entity.key_in(plan.index)
    if bound is None or plan.key is None:
        return
    fixed_names = {
        name for condition in plan.key.sort if condition.op in {"=", "begins_with"} and condition.low.part != "begins"
        for name in condition.low.sources
    }  # fmt: skip
    for part in bound.sort:
        if part.template is None:
            names = [name for name in part.fields if name not in fixed_names]
            yield from (SortField(name, _keeps_declared_order(entity, name), part.attribute) for name in names)
            continue
        for placeholder in part.template.parts:
            if isinstance(placeholder, Text) or placeholder.name in fixed_names:
                continue
            in_order = part.template.keeps_order_from(placeholder.name) or _is_text(placeholder)
            if plan.index is None and placeholder is part.template.parts[-1]:
                in_order = in_order or part.template.ends_in_period(placeholder.name)
            yield SortField(placeholder.name, in_order, f"{part.attribute} = {part.text}")


def _is_text(placeholder: BoundPlaceholder) -> bool:
    """Return True if a placeholder contains unchanged text, so keys sort in the order of the text."""
    return placeholder.field.type is str and placeholder.field.choices is None and placeholder.encoding.keeps_order


def _keeps_declared_order(entity: EntitySpec, name: str) -> bool:
    """Return True if the stored values of a field sort like its values or, for a field with choices, in the declared
    order of the choices.
    """
    field = entity.fields[name]
    values = list(field.declared.stored_choices)
    return field.type_code != "S" or values == sorted(values, key=str)
