"""An update inside a map that may not be there

`SET answers.#category = ...` works only while `answers` exists: the service makes no maps on the way, and refuses
the update with a message about an invalid document path. A field that may be None, or an item that the same
update creates, has no map.

Give the field an empty map when the item is created and leave `upsert` out, or store the parts as fields or
items of their own.

Source: developer guide, "Update expressions" (nested elements); the service's own refusal: the document path
provided in the update expression is invalid for update.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP614", "parent-may-be-missing", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Changes of what lies in a field that may be absent."""
    for _, pattern, plan in subject.patterns:
        if plan.operation != "UpdateItem":
            continue
        for action in plan.actions:
            field = plan.entity.fields[action.path.field]
            if len(action.path.parts) == 1 or not (field.optional or plan.exists == "may"):
                continue
            why = "may be None" if field.optional else f"is not there in the item that {pattern.name} creates"
            yield Finding(
                RULE.code,
                "warning",
                pattern.name,
                f"{pattern.name} changes {action.path!r}, and {plan.entity.name}.{field.name} {why}: the service"
                " refuses a path whose parent is missing",
                f"create items with an empty {field.name} and drop upsert=True, or keep the parts as fields or items of"
                " their own",
                pattern.place,
                plan.entity.place,
            )
            break
