"""Which field each value that a pattern gives goes into: the key's, those compared, those that a write sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from keyplan.design.conditions import Between, Compare, Condition, In, Path
from keyplan.design.plan import KeyValue, Plan
from keyplan.design.symbols import Source

FieldUse = Literal["key", "compared", "set", "changed"]


def field_uses(plan: Plan) -> Iterator[tuple[str, Source, FieldUse]]:
    """Every field with the source of its value, and what that is for."""
    if plan.key is not None:
        values = [*plan.key.partition, *(value for one in plan.key.sort for value in (one.low, one.high) if value)]
        for value in values:
            yield from ((name, source, "key") for name, source in value.sources.items() if not _is_written(value, plan))
    yield from ((name, source, "compared") for name, source in _compared(plan.filter))
    yield from ((name, source, "compared") for name, source in _compared(plan.condition))
    yield from ((name, source, "compared") for name, source in plan.known.items())
    for action in plan.actions:
        if action.name in {"set", "set_if_missing", "add"} and len(action.path.parts) == 1:
            yield action.path.field, action.source, "set" if action.name == "set" else "changed"


def _is_written(value: KeyValue, plan: Plan) -> bool:
    """Whether a key's text was written out in the pattern: its holes are parameters, not fields."""
    if value.template is None:
        return False
    bounds = [entity.key_in(plan.index) for entity in plan.entities]
    own = [part.template for bound in bounds if bound is not None for part in bound.attributes]
    return all(template is not value.template for template in own)


def _compared(condition: Condition | None) -> Iterator[tuple[str, Source]]:
    for operand in condition.operands() if condition is not None else ():
        if isinstance(operand, Condition):
            yield from _compared(operand)
    if isinstance(condition, Compare) and _is_field(condition.left):
        yield condition.left.field, condition.right  # type: ignore[attr-defined]  # _is_field looked
    if isinstance(condition, (Between, In)) and _is_field(condition.operand):
        yield from ((condition.operand.field, one) for one in condition.operands()[1:])  # type: ignore[attr-defined]


def _is_field(operand: object) -> bool:
    return isinstance(operand, Path) and len(operand.parts) == 1
