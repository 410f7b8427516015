"""An index could hold only what is read from it

All readers of the index ask for the same few values of a field: only open tasks, only active subscriptions.
Entries of all other items are written, stored, and moved at each change, and never read. An index key with a
condition holds only the items that are wanted, so that it stays small while the table grows.

Give the key a condition: `key("OPEN#{user_id}", "{due_at:utc_ms}", when=F.status == "open")`. Leaving the
state is then one deletion instead of a move.

Source: developer guide, "Take advantage of sparse indexes".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.conditions import All, Compare, Condition, In, Path
from keyplan.design.entities import EntitySpec
from keyplan.design.field_types import plain
from keyplan.design.patterns import Pattern
from keyplan.design.plan import Plan
from keyplan.design.symbols import CALLED, Param

RULE = Rule("KP413", "sparse-opportunity", ("advice",))
_MOST = 0.5


def check(subject: Subject) -> Iterator[Finding]:
    """Fields of few values of which all readers of an index want the same ones."""
    for table, index in subject.indexes:
        for entity in table.entities:
            bound = entity.key_in(index)
            readers = [one for one in subject.readers_of(table, index) if entity in one.plan.entities]
            if bound is None or bound.when is not None or not readers:
                continue
            for name, choices in _closed(entity):
                wanted = _wanted(readers, name)
                if wanted is None or len(wanted) >= len(choices) or any(value not in choices for value in wanted):
                    continue
                share = _share(entity, name, wanted)
                if share is not None and share > _MOST:
                    continue
                told = "" if share is None else f", {share:.0%} of all"
                values = " or ".join(repr(value) for value in wanted)
                listed = ", ".join(repr(value) for value in wanted)
                condition = f"F.{name} == {wanted[0]!r}" if len(wanted) == 1 else f"F.{name}.is_in({listed})"
                yield Finding(
                    RULE.code,
                    "advice",
                    index.name,
                    f"all readers of index {index.name} want {entity.name} whose {name} is {values}{told}, and it holds"
                    " every one",
                    f"make a key attribute that is there only then: key(..., when={condition})",
                    bound.place,
                    index.place,
                )


def _closed(entity: EntitySpec) -> Iterator[tuple[str, tuple[object, ...]]]:
    for name, stored in entity.fields.items():
        if stored.declared.choices is not None:
            yield name, stored.declared.stored_choices
        elif stored.annotation is bool:
            yield name, (True, False)


def _wanted(readers: list[Pattern[..., Any]], name: str) -> list[object] | None:
    """The values that all readers together ask for; None where one of them takes any."""
    found: list[object] = []
    for pattern in readers:
        values = _asked(pattern.plan, name)
        if values is None:
            return None
        found += [value for value in values if value not in found]
    return found


def _asked(plan: Plan, name: str) -> list[object] | None:
    for value in plan.key.values if plan.key is not None else ():
        source = value.sources.get(name)
        if source is not None:
            return None if isinstance(source, CALLED) else [plain(source)]
    return _filtered(plan.filter, name)


def _filtered(condition: Condition | None, name: str) -> list[object] | None:
    for part in condition.parts if isinstance(condition, All) else (condition,):
        values: tuple[object, ...] = ()
        if isinstance(part, Compare) and part.op == "=" and _is_field(part.left, name):
            values = (part.right,)
        elif isinstance(part, In) and _is_field(part.operand, name):
            values = part.choices
        if values and not any(isinstance(value, Param) for value in values):
            return [plain(value) for value in values]
    return None


def _is_field(operand: object, name: str) -> bool:
    return isinstance(operand, Path) and operand.parts == (name,)


def _share(entity: EntitySpec, name: str, wanted: list[object]) -> float | None:
    if entity.items is None or name not in entity.items.distinct:
        return None
    shares = [entity.items.share_of(name, value) for value in wanted]
    return sum(share for share in shares if share is not None)
