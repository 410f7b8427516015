"""Rules: updates."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import get_args

from keyplan.check.finding import Finding
from keyplan.check.rule import design_rule, fault_rule
from keyplan.check.subject import Subject
from keyplan.design.conditions.builders import FieldUpdate
from keyplan.design.conditions.conditions import paths_of
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.annotations import type_code
from keyplan.design.fields.stored import StoredField
from keyplan.design.planning.plan import Plan

incomplete_item = fault_rule(
    "KP607",
    "incomplete-item",
    """An update that leaves half an item

    `upsert=True` lets an update create the item where none is. What it creates has only the fields that the update
    sets: a required field that it does not set is missing, and the item cannot be read back as its entity. It also
    happens when an update arrives late, after the item was deleted: a ghost with a counter and no name. The same comes
    of an update that removes a required field, or sets it to None, which is stored as nothing.

    Such a pattern is refused when it is run. Set every required field with `set_if_missing(...)`, give the fields
    defaults, or leave `upsert` out: then the update is refused where no item is. Fields of the key, counts that `add`
    begins and lists that `append` begins are there, and so is what may be None. Do not remove what every item has.

    Source: API reference, UpdateItem: adds a new item to the table if it does not already exist.
    """,
)


@design_rule("KP614", "warning")
def missing_parent_map(subject: Subject) -> Iterator[Finding]:
    """An update inside a map that may not be there

    `SET answers.#category = ...` works only while `answers` exists: the service makes no maps on the way, and refuses
    the update with a message about an invalid document path. A field that may be None has no map, and neither has an
    item that this update, or another one with `upsert=True`, creates: a default of the model is stored by those who put
    whole items.

    Give the field an empty map when the item is created (`set_if_missing(answers={})` in an upsert), leave `upsert` out
    of the change itself, or store the parts as fields or items of their own.

    Source: developer guide, "Update expressions" (nested elements); the service's own refusal: the document path
    provided in the update expression is invalid for update.
    """
    for table, pattern, plan in subject.patterns:
        if plan.operation != "UpdateItem":
            continue
        for action in plan.actions:
            field = plan.entity.fields[action.path.field]
            creates = pattern.name if plan.exists == "may" else _creator_without(table, plan.entity, field.name)
            if len(action.path.parts) == 1 or not (field.optional or creates):
                continue
            why = "may be None" if field.optional else f"is not there in the item that {creates} creates"
            yield missing_parent_map.finding(
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


def _creator_without(table: Table, entity: EntitySpec, name: str) -> str | None:
    """An update that creates items of an entity without a field."""
    for pattern in table.patterns:
        plan = pattern.plan
        if plan.operation == "UpdateItem" and plan.exists == "may" and plan.entity is entity:
            begun = {action.path.field for action in plan.actions if len(action.path.parts) == 1}
            if name not in begun:
                return pattern.name
    return None


@design_rule("KP615", "advice")
def append_stores_duplicates(subject: Subject) -> Iterator[Finding]:
    """A list that is appended to where each value belongs once

    Two requests that append the same badge to a list store it twice: a list has an order and no uniqueness, and an
    append cannot look at what is there. A String Set takes a value once, however often it is added.

    Use a set (`badges: set[str]`, with `add_to_set`), or a map by id where something is known of each value. Accept
    the finding for lists in which a value may well be twice, such as a history.

    Source: developer guide, "Supported data types" (sets and lists) and "Update expressions" (list_append, ADD).
    """
    for _, pattern, plan in subject.patterns:
        if plan.condition is not None or plan.version is not None:
            continue
        for action in plan.actions:
            field = plan.entity.fields[action.path.field]
            if action.name == "append" and _holds_scalars(field):
                yield append_stores_duplicates.finding(
                    pattern.name,
                    f"{pattern.name} appends to the list {plan.entity.name}.{field.name}: two calls with the same value"
                    " store it twice",
                    f"declare {field.name} as a set and use add_to_set({field.name}=...)",
                    pattern.place,
                    plan.entity.place,
                )


def _holds_scalars(field: StoredField) -> bool:
    parts = get_args(field.annotation)
    return bool(parts) and type_code(parts[0]) in {"S", "N", "B"}


@design_rule("KP617", "warning")
def add_out_of_bounds(subject: Subject) -> Iterator[Finding]:
    """A number that an addition takes out of its bounds

    A model says that a stock is at least 0, and an update takes from it whatever is there. The service adds numbers and
    knows nothing of the model: of two callers that take the last one both succeed, and from then on the item is refused
    by its own model wherever it is read.

    Say in the write what must be there: `subtract(free=n) & when(F.free >= n)`; the refusal is the answer "there is no
    more". Or leave the bound out of the model, where the number may pass it.

    Found are updates that subtract from a field with a least value, or add to one with a highest, without a condition
    on that field, what is known of it, or a version.

    Source: developer guide, "Update expressions" (incrementing and decrementing numeric attributes) and "Condition
    expressions".
    """
    for _, pattern, plan in subject.patterns:
        if plan.operation != "UpdateItem" or plan.version is not None:
            continue
        looked_at = {path.field for path in paths_of(plan.condition)} | set(plan.known)
        for action in plan.actions:
            if action.name == "add" and len(action.path.parts) == 1 and action.path.field not in looked_at:
                yield from _unchecked_bound(pattern, plan, action)


def _unchecked_bound(pattern: Pattern[..., object], plan: Plan, action: FieldUpdate) -> Iterator[Finding]:
    name = action.path.field
    declared = plan.entity.fields[name].declared
    falls = _decreases(action)
    bound, least_or_most = (declared.minimum, "least") if falls else (declared.maximum, "most")
    if bound is None:
        return
    does, sign = ("takes from", ">=") if falls else ("adds to", "<=")
    needed = f"F.{name} >= {action.source!r}" if action.word == "subtract" and not bound else f"F.{name} {sign} ..."
    yield add_out_of_bounds.finding(
        pattern.name,
        f"{pattern.name} {does} {plan.entity.name}.{name}, which is at {least_or_most} {bound}, whatever is there: past"
        " that the item is stored, and cannot be read again",
        f"add when({needed}), or leave the bound out of {name}",
        pattern.place,
        plan.entity.place.at(name),
    )


def _decreases(action: FieldUpdate) -> bool:
    """Whether the number gets smaller; what a call gives is taken to be positive."""
    given = action.source
    return (isinstance(given, (int, float, Decimal)) and given < 0) != action.negative
