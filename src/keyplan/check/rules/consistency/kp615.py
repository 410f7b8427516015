"""A list that is appended to where each value belongs once

Two requests that append the same badge to a list store it twice: a list has an order and no uniqueness, and an
append cannot look at what is there. A String Set takes a value once, however often it is added.

Use a set (`badges: set[str]`, with `add_to_set`), or a map by id where something is known of each value. Accept
the finding for lists in which a value may well be twice, such as a history.

Source: developer guide, "Supported data types" (sets and lists) and "Update expressions" (list_append, ADD).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.field_types import type_code
from keyplan.design.fields import StoredField

RULE = Rule("KP615", "append-stores-twice", ("advice",))


def check(subject: Subject) -> Iterator[Finding]:
    """Appends of strings, numbers or binary to lists, without a condition."""
    for _, pattern, plan in subject.patterns:
        if plan.condition is not None or plan.version is not None:
            continue
        for action in plan.actions:
            field = plan.entity.fields[action.path.field]
            if action.name == "append" and _of_scalars(field):
                yield Finding(
                    RULE.code,
                    "advice",
                    pattern.name,
                    f"{pattern.name} appends to the list {plan.entity.name}.{field.name}: two calls with the same value"
                    " store it twice",
                    f"declare {field.name} as a set and use add_to_set({field.name}=...)",
                    pattern.place,
                    plan.entity.place,
                )


def _of_scalars(field: StoredField) -> bool:
    parts = get_args(field.annotation)
    return bool(parts) and type_code(parts[0]) in {"S", "N", "B"}
