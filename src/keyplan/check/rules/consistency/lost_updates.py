"""Rules for writes that overwrite concurrent changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from keyplan.check.field_names import id_outside_key, is_assignee_name, is_identifier, is_state_name, kind_of
from keyplan.check.finding import Finding, Severity
from keyplan.check.partition_load import is_constant
from keyplan.check.relations import conditional_fields, is_state, states_condition, steps_in
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import choices_of
from keyplan.design.conditions.conditions import (
    AndCondition,
    CompareCondition,
    Condition,
    FieldPath,
    FunctionCondition,
    OrCondition,
    paths_of,
)
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.annotations import plain_value
from keyplan.design.parameters import Param
from keyplan.design.planning.plan import Plan


@design_rule("KP606", "warning", "advice")
def unconditional_put(subject: Subject) -> Iterator[Finding]:
    """Put overwrites an existing item

    Finds `@table.put` patterns that have neither a condition nor a version, if another pattern updates the same items
    or the entity declares a version. Also finds puts that can replace a different item, because the key does not
    contain the item's ID. The severity is advice if a field's name is the only sign that the field contains an ID.
    Other puts are not reported, for example a put of the latest reading of a sensor, whose key is the sensor's ID.
    KP216 reports keys that are unique only because of a timestamp.

    Why is this bad? A put replaces an existing item, and all values of this item are lost. Examples are a counter that
    an update increased, a decision that another request stored, and another event with the same key.

    Fix: use `@table.create` for new items and `@table.replace` with a version for existing items. A `create` pattern
    fails if the item exists (`.replace_if(...)` allows exceptions). Suppress the finding for cached values and latest
    values, which are meant to be overwritten.

    Source: API reference, PutItem: an existing item with the same key is replaced completely.
    """
    for _, pattern, plan in subject.patterns:
        if pattern.kind == "put" and plan.condition is None and plan.version is None:
            yield from _put_overwrite(subject, pattern, plan.entity)


def _put_overwrite(subject: Subject, pattern: Pattern[..., Any], entity: EntitySpec) -> Iterator[Finding]:
    writes = subject.writes_of(entity)
    update = next((write.pattern for write in writes if write.plan.operation == "UpdateItem"), None)
    id_field = None if any(is_identifier(entity.fields[name]) for name in entity.key.fields) else id_outside_key(entity)
    severity: Severity = "warning"
    if update is not None:
        consequence, other = f" and the changes of {update.name}", update.place
    elif entity.version is not None:
        consequence, other = f", and does not check its {entity.version}", entity.place
    elif id_field is not None:
        consequence, other = (
            f" with another {id_field.name}: the key ({entity.key.text}) does not contain it",
            entity.place,
        )
        severity = "warning" if kind_of(id_field) == "id" else "advice"
    else:
        return
    yield unconditional_put.finding(
        pattern.name,
        f"{pattern.name} overwrites an existing {entity.name}{consequence}",
        "use @table.create for new items and @table.replace for existing ones; suppress this if overwriting is"
        " intended",
        pattern.place,
        other,
        severity=severity,
    )


_CHANGES_A_PART = frozenset({"add", "append", "add_to_set", "remove_from_set"})


@design_rule("KP608", "warning", "advice")
def lost_update(subject: Subject) -> Iterator[Finding]:
    """Lost update

    Finds updates that set a state from a parameter. Also finds updates that overwrite a field that another pattern
    changes in part: by adding to a number, appending to a list, adding or removing set members, or setting a value in a
    map. An update is not reported if it has a version, a condition on the field, or a condition that compares a field
    with the value that the update sets.

    Also finds replacements of whole items without a version. Updates that set a state and assign the item to a holder,
    such as the worker of a job, are reported if they have no condition. The severity of these findings is advice unless
    the holder field has `Attribute(kind="holder")`. An update that sets a state to a constant is reported if another
    pattern changes the state only under a condition on the state. Such an update is not reported if it is only used as
    a step of transactions in which another step has a condition.

    A field with declared choices is a state if something depends on its value: a condition on another write, a read
    with `decides=`, a condition on an index key (`only_if=`), a consumer's filter, or another update that sets it to a
    constant. The severity is advice if the name of the field (status, state, stage or phase) is the only sign that the
    field is a state. Other fields with choices, such as a color or a severity, are assumed to be settings that callers
    may overwrite.

    Why is this bad? A program reads a pending booking and approves it, but another program has already rejected it.
    Without a condition, the later write wins and both callers assume that their decision is stored.

    Fix: require the expected state with a condition such as `.condition(F.status == "pending")`. If the write fails,
    the booking was already approved or rejected. Alternatively, declare a version and pass it with `.if_version(...)`,
    or pass the value that was read with `.assuming(status=...)`. If the latest value should win, compare timestamps:
    `.set(seen_at=at).condition(F.seen_at < at)`.

    Source: developer guide, "Condition expressions" and "Optimistic locking with version number".
    """
    partial_writers = {
        (plan.entity.name, action.path.field): pattern.name
        for _, pattern, plan in subject.patterns
        for action in plan.actions
        if action.name in _CHANGES_A_PART or len(action.path.parts) > 1
    }
    for _, pattern, plan in subject.patterns:
        if plan.version is not None:
            continue
        if pattern.kind == "replace" and plan.condition is None:
            yield _lost_replacement(pattern, plan)
        elif plan.operation == "UpdateItem":
            yield from _lost_set(subject, pattern, plan, partial_writers)


def _lost_replacement(pattern: Pattern[..., Any], plan: Plan) -> Finding:
    name = plan.entity.name
    return lost_update.finding(
        pattern.name,
        f"{pattern.name} overwrites concurrent changes: it replaces a whole {name} that was read"
        " before, without a version",
        f'declare a version of {name} (version="version"), or update only the fields that change',
        pattern.place,
        plan.entity.place,
    )


def _lost_set(
    subject: Subject, pattern: Pattern[..., Any], plan: Plan, partial_writers: Mapping[tuple[str, str], str]
) -> Iterator[Finding]:
    checked_fields = {path.field for path in paths_of(plan.condition)} | set(plan.assumed)
    added_fields = [action.path.field for action in plan.actions if action.name == "add"]
    for action in plan.actions:
        name = action.path.field
        if action.name != "set" or len(action.path.parts) > 1 or action.source is None or name in checked_fields:
            continue
        if is_constant(action.source):
            assignee = _assignee(plan, checked_fields)
            if assignee is not None and choices_of(plan.entity.fields[name]) and not _is_ordered(plan):
                yield _lost_claim(pattern, plan, name, action.source, assignee)
                return
            decided = _guarded_transition(subject, pattern, plan.entity, name)
            if decided is not None and not _is_ordered(plan) and not _is_guarded_step(subject, pattern):
                yield _unguarded_transition(pattern, plan, name, action.source, decided)
                return
            continue
        if (plan.entity.name, name) in partial_writers:
            yield _lost_addition(pattern, plan, name, partial_writers[plan.entity.name, name])
            return
        choices = choices_of(plan.entity.fields[name])
        if choices is None or plan.entity.fields[name].type_code == "BOOL" or _is_ordered(plan):
            continue
        has_evidence = bool(added_fields) or is_state(subject, plan.entity, name, excluded=pattern)
        if not has_evidence and not is_state_name(name):
            continue
        addition_text = f" (and adds to {', '.join(added_fields)})" if added_fields else ""
        yield lost_update.finding(
            pattern.name,
            f"two concurrent calls of {pattern.name} both succeed, and the later wins: it sets"
            f" {plan.entity.name}.{name} to one of {choices} states{addition_text} without a condition",
            f"add .condition(F.{name} == ...) with the expected state, or a version and .if_version(...)",
            pattern.place,
            plan.entity.place,
            severity="warning" if has_evidence else "advice",
        )
        return


def _guarded_transition(
    subject: Subject, pattern: Pattern[..., Any], entity: EntitySpec, name: str
) -> Pattern[..., Any] | None:
    """Return another pattern that sets the field `name` only under a condition on this field.

    Return None if no such pattern exists, or if the field has no declared choices.
    """
    if choices_of(entity.fields[name]) is None or entity.fields[name].type_code == "BOOL":
        return None
    for other in subject.design.patterns:
        for step in steps_in(other) if other is not pattern and not other.plan.reading else ():
            sets = any(action.name == "set" and action.path.field == name for action in step.actions)
            if step.entity is entity and step.pattern != pattern.name and sets and name in conditional_fields(step):
                return other
    return None


def _is_guarded_step(subject: Subject, pattern: Pattern[..., Any]) -> bool:
    """Return True if a pattern is used only in transactions in which another step has a condition."""
    rate = pattern.facts.rate
    if rate is not None and rate.highest > 0:
        return False
    transactions = [
        transaction.plan.steps for transaction in subject.design.transactions if pattern.plan in transaction.plan.steps
    ]
    return bool(transactions) and all(
        any(step is not pattern.plan and states_condition(step) for step in steps) for steps in transactions
    )


def _unguarded_transition(
    pattern: Pattern[..., Any], plan: Plan, name: str, state: object, other: Pattern[..., Any]
) -> Finding:
    return lost_update.finding(
        pattern.name,
        f"{pattern.name} overwrites what {other.name} decided: it sets {plan.entity.name}.{name} to"
        f" {plain_value(state)!r} in any state, but {other.name} requires one",
        f"add .condition(F.{name} == ...) with the states that {pattern.name} may follow",
        pattern.place,
        other.place,
    )


def _assignee(plan: Plan, checked_fields: Set[str]) -> str | None:
    """Return the optional field in which an update stores an assignee, such as the worker of a job, or None if the
    update stores no assignee.

    Fields in `checked_fields`, which the condition of the update compares, are ignored.
    """
    for action in plan.actions:
        field = plan.entity.fields[action.path.field]
        is_parameter = action.name == "set" and isinstance(action.source, Param) and len(action.path.parts) == 1
        is_assignee = kind_of(field) == "holder" or is_assignee_name(field.name)
        if is_parameter and field.optional and field.name not in checked_fields and is_assignee:
            return field.name
    return None


def _lost_claim(pattern: Pattern[..., Any], plan: Plan, name: str, state: object, assignee: str) -> Finding:
    return lost_update.finding(
        pattern.name,
        f"two concurrent calls of {pattern.name} both claim the item: it sets"
        f" {plan.entity.name}.{name} to {plain_value(state)!r} and {assignee} without a condition",
        f"add .condition(F.{name} == ...) with the previous state, .condition(F.{assignee}.missing()), or"
        " .if_version(...)",
        pattern.place,
        plan.entity.place,
        severity="warning" if kind_of(plan.entity.fields[assignee]) == "holder" else "advice",
    )


def _is_ordered(plan: Plan) -> bool:
    """Return True if the condition of an update compares a field with the value that the update sets. An older value
    then cannot overwrite a newer one.
    """
    parts = plan.condition.parts if isinstance(plan.condition, AndCondition) else (plan.condition,)
    sources = {action.path.field: action.source for action in plan.actions if action.name == "set"}
    return any(all(_is_compared_with_new(condition, sources) for condition in _disjuncts(part)) for part in parts)


def _disjuncts(part: Condition | None) -> tuple[Condition | None, ...]:
    return part.parts if isinstance(part, OrCondition) else (part,)


def _is_compared_with_new(part: Condition | None, updates: Mapping[str, Any]) -> bool:
    if isinstance(part, FunctionCondition):
        return part.name == "attribute_not_exists" and part.path.field in updates
    if not isinstance(part, CompareCondition) or part.op not in {"<", ">"} or not isinstance(part.left, FieldPath):
        return False
    return repr(part.right) == repr(updates.get(part.left.field))


def _lost_addition(pattern: Pattern[..., Any], plan: Plan, name: str, other: str) -> Finding:
    is_number = plan.entity.fields[name].type_code == "N"
    fix = "add the difference" if is_number else "update only the changed part"
    return lost_update.finding(
        pattern.name,
        f"{pattern.name} overwrites what {other} {'added' if is_number else 'changed'} since the read: it sets"
        f" {plan.entity.name}.{name} {'' if is_number else 'as a whole '}without a condition",
        f"{fix}, or .condition(F.{name} == ...) with the value read, or a version and .if_version(...)",
        pattern.place,
        plan.entity.place,
    )


@design_rule("KP611", "error", "warning")
def batch_without_conditions(subject: Subject) -> Iterator[Finding]:
    """Batch write cannot have conditions

    Finds batch writes that have a condition or write entities with a version (error). Also finds batch writes of
    entities that other patterns update (warning). A batch of puts is not reported if no other pattern puts these items,
    because it is assumed to be a bulk load.

    Why is this bad? BatchWriteItem puts and deletes whole items one by one. It supports neither updates nor conditions,
    and some of the writes in a batch can fail while others succeed. Putting an item that was read earlier overwrites
    changes that were made since the read.

    Fix: use single updates with a condition, which cost the same, or transactions of up to 100 writes. Keep batches for
    loading data and for items that never change.

    Source: API reference, BatchWriteItem: no conditions, no updates, not atomic as a whole.
    """
    yield from subject.errors_of(batch_without_conditions.code)
    for _, pattern, plan in subject.patterns:
        if plan.operation != "BatchWriteItem":
            continue
        updates = [write.pattern for write in subject.writes_of(plan.entity) if write.plan.operation == "UpdateItem"]
        if updates and not _is_bulk_load(subject, pattern):
            yield _batch_overwrite(pattern, updates[0])


def _is_bulk_load(subject: Subject, pattern: Pattern[..., Any]) -> bool:
    """Return True if a batch puts items that no other pattern puts and that have no version."""
    plan = pattern.plan
    other_writes = [write for write in subject.writes_of(plan.entity) if write.pattern is not pattern]
    puts = [write for write in other_writes if write.plan.operation == "PutItem" or write.plan.item is not None]
    upserts = [write for write in other_writes if write.plan.operation == "UpdateItem" and write.plan.exists == "may"]
    return plan.item is not None and plan.entity.version is None and not puts and not upserts


def _batch_overwrite(pattern: Pattern[..., Any], update: Pattern[..., Any]) -> Finding:
    entity = pattern.plan.entity
    puts = pattern.plan.item is not None
    has_version = entity.version is not None and puts
    if puts:
        behaviour = f"replaces whole items of {entity.name} without a condition, and {update.name} updates them"
        consequence = "changes since the read are lost"
    else:
        behaviour = f"deletes items of {entity.name} without a condition, and {update.name} updates them"
        consequence = "an item that changed since the read is deleted too"
    return batch_without_conditions.finding(
        pattern.name,
        f"{pattern.name} {behaviour}: {consequence}"
        + (f", and {entity.version} is not checked" if has_version else ""),
        "use single updates or deletes with .condition(...), or transactions of up to 100; keep batches for"
        " loading data",
        pattern.place,
        update.place,
        severity="error" if has_version else "warning",
    )
