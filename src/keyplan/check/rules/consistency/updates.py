"""Rules for updates that fail or leave invalid items."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import get_args

from keyplan.check.field_names import is_remaining_amount_name
from keyplan.check.finding import Finding
from keyplan.check.rule import design_rule, fault_rule
from keyplan.check.subject import Subject
from keyplan.design.conditions.builders import FieldUpdate
from keyplan.design.conditions.conditions import AndCondition, CompareCondition, Condition, FieldPath, paths_of
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.annotations import type_code
from keyplan.design.fields.stored import StoredField
from keyplan.design.planning.plan import Plan

incomplete_item = fault_rule(
    "KP607",
    "incomplete-item",
    """Update leaves an incomplete item

    Finds updates with `upsert=True` that do not set every required field, and updates that remove a required field or
    set it to None.

    Why is this bad? An upsert of a missing item creates an item that contains only the fields of the update. Such an
    item cannot be read as its entity. This also happens if the update arrives after the item was deleted. keyplan
    therefore raises an error when such a pattern is called.

    Fix: set each required field with `set_if_missing(...)`, give the fields defaults, or remove `upsert` so that the
    update fails if the item does not exist. Key fields are always set, and `add` and `append` create missing counters
    and lists.

    Source: API reference, UpdateItem: adds a new item to the table if it does not already exist.
    """,
)


@design_rule("KP614", "warning")
def missing_parent_map(subject: Subject) -> Iterator[Finding]:
    """Update writes into a map that can be missing

    Finds updates of a path inside a map field, if the field can be None or is missing from items that an upsert
    creates.

    Why is this bad? `SET answers.#category = ...` works only if `answers` exists: DynamoDB does not create maps and
    rejects the update with "The document path provided in the update expression is invalid for update".

    Fix: create items with an empty map (`set_if_missing(answers={})` in an upsert), remove `upsert`, or store the
    values in separate fields or items.

    Source: developer guide, "Update expressions" (nested elements).
    """
    for table, pattern, plan in subject.patterns:
        if plan.operation != "UpdateItem":
            continue
        for action in plan.actions:
            field = plan.entity.fields[action.path.field]
            creates = pattern.name if plan.exists == "may" else _creator_without(table, plan.entity, field.name)
            if len(action.path.parts) == 1 or not (field.optional or creates):
                continue
            why = "can be None" if field.optional else f"is missing in items that {creates} creates"
            yield missing_parent_map.finding(
                pattern.name,
                f"{pattern.name} fails if the parent of {action.path!r} is missing, and"
                f" {plan.entity.name}.{field.name} {why}",
                f"let {creates} start it with set_if_missing({field.name}={{}})"
                if creates and creates != pattern.name and not field.optional
                else f"create items with an empty {field.name} and drop upsert=True, or store the parts as"
                " separate fields or items",
                pattern.place,
                plan.entity.place,
            )
            break


def _creator_without(table: Table, entity: EntitySpec, name: str) -> str | None:
    """Return the name of an update that can create an item of an entity but does not set the field `name`, or None if
    no such update exists.
    """
    for pattern in table.patterns:
        plan = pattern.plan
        if plan.operation == "UpdateItem" and plan.exists == "may" and plan.entity is entity:
            initial_fields = {action.path.field for action in plan.actions if len(action.path.parts) == 1}
            if name not in initial_fields:
                return pattern.name
    return None


@design_rule("KP615", "advice")
def append_stores_duplicates(subject: Subject) -> Iterator[Finding]:
    """Append stores duplicates

    Finds updates that append Strings, Numbers or Binary values to a list without a condition or version.

    Why is this bad? An append does not check whether the list already contains the value: two requests that append the
    same badge store it twice.

    Fix: use a set (`badges: set[str]` with `add_to_set`), or a map with IDs as keys. Suppress the finding for lists
    that may contain duplicates, such as a history.

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
                    f"two calls of {pattern.name} with the same value store it twice in the list"
                    f" {plan.entity.name}.{field.name}",
                    f"declare {field.name} as a set and use add_to_set({field.name}=...)",
                    pattern.place,
                    plan.entity.place,
                )


def _holds_scalars(field: StoredField) -> bool:
    parts = get_args(field.annotation)
    return bool(parts) and type_code(parts[0]) in {"S", "N", "B"}


@design_rule("KP617", "warning")
def add_out_of_bounds(subject: Subject) -> Iterator[Finding]:
    """Addition can exceed the field's bounds

    Finds updates that subtract from a field with a minimum, or add to a field with a maximum, without a condition on
    the field, an expected value or a version.

    Why is this bad? DynamoDB does not enforce the bounds that the model declares. If two callers book the last seat at
    the same time, both updates succeed. The item then fails validation whenever it is read.

    Fix: add a condition that the amount is sufficient, such as `.subtract(free=n).condition(F.free >= n)`.
    Alternatively, remove the bound from the model.

    Source: developer guide, "Update expressions" (incrementing and decrementing numeric attributes) and "Condition
    expressions".
    """
    for _, pattern, plan in subject.patterns:
        if plan.operation != "UpdateItem" or plan.version is not None:
            continue
        checked_fields = {path.field for path in paths_of(plan.condition)} | set(plan.assumed)
        for action in plan.actions:
            if action.name == "add" and len(action.path.parts) == 1 and action.path.field not in checked_fields:
                yield from _unchecked_bound(pattern, plan, action)


def _unchecked_bound(pattern: Pattern[..., object], plan: Plan, action: FieldUpdate) -> Iterator[Finding]:
    name = action.path.field
    declared = plan.entity.fields[name].declared
    decreases = _decreases(action)
    bound, bound_name = (declared.minimum, "minimum") if decreases else (declared.maximum, "maximum")
    if bound is None:
        return
    verb, sign = ("subtracts from", ">=") if decreases else ("adds to", "<=")
    needed = f"F.{name} >= {action.source!r}" if action.method == "subtract" and not bound else f"F.{name} {sign} ..."
    yield add_out_of_bounds.finding(
        pattern.name,
        f"the item becomes unreadable once {pattern.name} {verb} {plan.entity.name}.{name} beyond its"
        f" {bound_name} of {bound}",
        f"add .condition({needed}), or remove the bound of {name}",
        pattern.place,
        plan.entity.place.at(name),
    )


@design_rule("KP620", "warning", "advice")
def overdrawn_balance(subject: Subject) -> Iterator[Finding]:
    """Balance can be overdrawn

    Finds updates that subtract from a number field without a declared minimum, if the update has neither a condition on
    the field nor an expected value or version. The severity is warning if another write of the entity has a condition
    that requires a sufficient amount. It is advice if the name of the field (balance, stock, available, remaining,
    credits) is the only sign that it contains a remaining amount. KP617 reports fields with a minimum.

    Why is this bad? Two callers read a balance of 50, and each subtracts 40. Both succeed, and the balance is -30.

    Fix: add a condition: `.subtract(balance=amount).condition(F.balance >= amount)`. The second write then fails. Also
    declare the minimum (`Annotated[int, Field(ge=0)]`). Suppress the finding for an account that may be overdrawn.

    Source: developer guide, "Update expressions" (incrementing and decrementing numeric attributes) and "Condition
    expressions".
    """
    required = {
        (plan.entity.name, path.field): pattern
        for _, pattern, plan in subject.patterns
        if not plan.reading
        for path in _fields_with_lower_bound(plan.condition)
    }
    for _, pattern, plan in subject.patterns:
        if plan.operation != "UpdateItem" or plan.version is not None:
            continue
        checked_fields = {path.field for path in paths_of(plan.condition)} | set(plan.assumed)
        for action in plan.actions:
            name = action.path.field
            conditional = required.get((plan.entity.name, name))
            is_plain = action.name == "add" and len(action.path.parts) == 1 and name not in checked_fields
            if not is_plain or not _decreases(action) or plan.entity.fields[name].declared.minimum is not None:
                continue
            if conditional is not None or is_remaining_amount_name(name):
                yield _overdraft(pattern, plan, action, conditional)


def _fields_with_lower_bound(condition: Condition | None) -> Iterator[FieldPath]:
    """Yield the fields for which a condition requires a value that is greater than, or equal to, a lower bound."""
    for part in condition.parts if isinstance(condition, AndCondition) else (condition,):
        if isinstance(part, CompareCondition) and part.op in {">", ">="} and isinstance(part.left, FieldPath):
            yield part.left


def _overdraft(
    pattern: Pattern[..., object], plan: Plan, action: FieldUpdate, conditional: Pattern[..., object] | None
) -> Finding:
    name = action.path.field
    needed = f"F.{name} >= {action.source!r}" if action.method == "subtract" else f"F.{name} >= ..."
    return overdrawn_balance.finding(
        pattern.name,
        f"two concurrent calls of {pattern.name} succeed although {plan.entity.name}.{name} suffices for one: it"
        " subtracts without a condition" + (f", which {conditional.name} has" if conditional is not None else ""),
        f"add .condition({needed})",
        pattern.place,
        plan.entity.place.at(name) if conditional is None else conditional.place,
        severity="warning" if conditional is not None else "advice",
    )


def _decreases(action: FieldUpdate) -> bool:
    """Return True if an update action that adds or subtracts decreases the number. Arguments from callers are assumed
    to be positive.
    """
    source = action.source
    return (isinstance(source, (int, float, Decimal)) and source < 0) != action.negative
