"""An update inside a map that may not be there

`SET answers.#category = ...` works only while `answers` exists: the service makes no maps on the way, and refuses
the update with a message about an invalid document path. A field that may be None has no map, and neither has an
item that this update, or another one with `upsert=True`, creates: a default of the model is stored by those who put
whole items.

Give the field an empty map when the item is created (`set_if_missing(answers={})` in an upsert), leave `upsert` out of
the change itself, or store the parts as fields or items of their own.

Source: developer guide, "Update expressions" (nested elements); the service's own refusal: the document path
provided in the update expression is invalid for update.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.tables import Table

RULE = Rule("KP614", "parent-may-be-missing", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Changes of what lies in a field that may be absent."""
    for table, pattern, plan in subject.patterns:
        if plan.operation != "UpdateItem":
            continue
        for action in plan.actions:
            field = plan.entity.fields[action.path.field]
            creates = pattern.name if plan.exists == "may" else _leaves_out(table, plan.entity, field.name)
            if len(action.path.parts) == 1 or not (field.optional or creates):
                continue
            why = "may be None" if field.optional else f"is not there in the item that {creates} creates"
            yield Finding(
                RULE.code,
                "warning",
                pattern.name,
                f"{pattern.name} changes {action.path!r}, and {plan.entity.name}.{field.name} {why}: the service"
                " refuses a path whose parent is missing",
                f"let {creates} begin it with set_if_missing({field.name}={{}})"
                if creates and creates != pattern.name and not field.optional
                else f"create items with an empty {field.name} and drop upsert=True, or keep the parts as fields or"
                " items of their own",
                pattern.place,
                plan.entity.place,
            )
            break


def _leaves_out(table: Table, entity: EntitySpec, name: str) -> str | None:
    """An update that creates items of an entity without a field."""
    for pattern in table.patterns:
        plan = pattern.plan
        if plan.operation == "UpdateItem" and plan.exists == "may" and plan.entity is entity:
            begun = {action.path.field for action in plan.actions if len(action.path.parts) == 1}
            if name not in begun:
                return pattern.name
    return None
