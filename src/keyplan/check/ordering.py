"""What the results of a query are ordered by: the parts of the sort key in which they can differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from keyplan.design.entities import EntitySpec
from keyplan.design.plan import Plan
from keyplan.design.template_holes import BoundHole
from keyplan.design.template_parse import Text


@dataclass(frozen=True)
class Ordered:
    """A field that results are ordered by, after those before it."""

    field: str
    in_order: bool
    """Whether its order in the key is that of its values; of an Enum or Literal, the declared one."""
    text: str
    """How the key holds it."""


def order_of(plan: Plan, entity: EntitySpec) -> Iterator[Ordered]:
    """The fields that an entity's results are ordered by, the first one first."""
    bound = entity.key_in(plan.index)
    if bound is None or plan.key is None:
        return
    fixed = {
        name for one in plan.key.sort if one.op in {"=", "begins_with"} and one.low.part != "begins"
        for name in one.low.sources
    }  # fmt: skip
    for part in bound.sort:
        if part.template is None:
            names = [name for name in part.fields if name not in fixed]
            yield from (Ordered(name, _sorts_as_stored(entity, name), part.attribute) for name in names)
            continue
        for piece in part.template.parts:
            if isinstance(piece, Text) or piece.name in fixed:
                continue
            in_order = part.template.keeps_order_from(piece.name) or _is_text(piece)
            if plan.index is None and piece is part.template.parts[-1]:
                in_order = in_order or part.template.ends_in_period(piece.name)
            yield Ordered(piece.name, in_order, f"{part.attribute} = {part.text}")


def _is_text(hole: BoundHole) -> bool:
    """Whether a hole holds any text as it is: its order is then that of the text, but for odd characters."""
    return hole.field.type is str and hole.field.choices is None and hole.encoding.keeps_order


def _sorts_as_stored(entity: EntitySpec, name: str) -> bool:
    """Whether a field's stored values sort by its values: words of an Enum or Literal as they are declared."""
    stored = entity.fields[name]
    values = list(stored.declared.stored_choices)
    return stored.type_code != "S" or values == sorted(values, key=str)
