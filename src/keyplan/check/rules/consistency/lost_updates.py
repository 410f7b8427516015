"""Rules about writes that overwrite the changes of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from keyplan.check.field_names import is_assignee_name, is_time_name
from keyplan.check.finding import Finding
from keyplan.check.partition_load import is_constant
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


@design_rule("KP606", "warning")
def unconditional_put(subject: Subject) -> Iterator[Finding]:
    """Put overwrites an existing item

    Finds `@table.put` patterns without a condition or version.

    Why is this bad? A put replaces an existing item: counters that an update raised, a response that another request
    stored, an event of the same millisecond.

    Fix: use `@table.create` for new items, which fails if the item exists (`.replace_if(...)` allows exceptions), and
    `@table.replace` with a version for existing items. Suppress the finding for caches and latest values, which are
    meant to be overwritten.

    Source: API reference, PutItem: an existing item with the same key is replaced completely.
    """
    for _, pattern, plan in subject.patterns:
        if pattern.kind == "put" and plan.condition is None and plan.version is None:
            yield _overwrite(subject, pattern, plan.entity)


def _overwrite(subject: Subject, pattern: Pattern[..., Any], entity: EntitySpec) -> Finding:
    updates = [work.pattern for work in subject.writes_of(entity) if work.plan.operation == "UpdateItem"]
    timestamp = _timestamp_identity(entity)
    if timestamp is not None:
        consequence = f": two with the same {timestamp} have one key"
    elif updates:
        consequence = f" and the changes of {updates[0].name}"
    else:
        consequence = " without an error"
    return unconditional_put.finding(
        pattern.name,
        f"{pattern.name} overwrites an existing {entity.name}{consequence}",
        (f"add an ID to the key after {timestamp}, and use" if timestamp is not None else "use")
        + " @table.create for new items and @table.replace for existing ones; suppress this if overwriting is intended",
        pattern.place,
        entity.key.place if timestamp is not None else updates[0].place if updates else entity.place,
    )


def _timestamp_identity(entity: EntitySpec) -> str | None:
    """Return the timestamp that alone identifies items within a partition, or None."""
    names = [name for part in entity.key.sort for name in part.fields]
    return names[-1] if names and all(is_time_name(name) for name in names) else None


@design_rule("KP608", "warning", "advice")
def lost_update(subject: Subject) -> Iterator[Finding]:
    """Lost update

    Finds updates, without a condition on the field, a version or a comparison with the new value, that set a field
    with declared choices from a parameter, or a field that another pattern adds to; replacements of whole items
    without a version; and updates that set a state and assign the item to a field whose name suggests a worker or
    holder (advice).

    Why is this bad? A program reads a pending booking and approves it, while another has rejected it in between.
    Without a condition, the later write wins and both callers believe that they decided.

    Fix: require the expected state: `.condition(F.status == "pending")`; a failed write then means "already decided".
    Or declare a version and pass it with `.if_version(...)`, or pass what was read with `.assuming(status=...)`. If the
    latest value wins, compare timestamps: `.set(seen_at=at).condition(F.seen_at < at)`.

    Source: developer guide, "Condition expressions" and "Optimistic locking with version number".
    """
    adding = {
        (plan.entity.name, action.path.field): pattern.name
        for _, pattern, plan in subject.patterns
        for action in plan.actions
        if action.name == "add" and len(action.path.parts) == 1
    }
    for _, pattern, plan in subject.patterns:
        if plan.version is not None:
            continue
        if pattern.kind == "replace" and plan.condition is None:
            yield _lost_replacement(pattern, plan)
        elif plan.operation == "UpdateItem":
            yield from _lost_set(pattern, plan, adding)


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


def _lost_set(pattern: Pattern[..., Any], plan: Plan, adding: Mapping[tuple[str, str], str]) -> Iterator[Finding]:
    looked_at = {path.field for path in paths_of(plan.condition)} | set(plan.assumed)
    counted = [action.path.field for action in plan.actions if action.name == "add"]
    for action in plan.actions:
        name = action.path.field
        if action.name != "set" or len(action.path.parts) > 1 or action.source is None or name in looked_at:
            continue
        if is_constant(action.source):
            taker = _assignee(plan, looked_at)
            if taker is not None and choices_of(plan.entity.fields[name]) and not _is_ordered(plan):
                yield _lost_claim(pattern, plan, name, action.source, taker)
                return
            continue
        if (plan.entity.name, name) in adding:
            yield _lost_addition(pattern, plan, name, adding[plan.entity.name, name])
            return
        choices = choices_of(plan.entity.fields[name])
        if choices is None or plan.entity.fields[name].type_code == "BOOL" or _is_ordered(plan):
            continue
        counts = f" (and adds to {', '.join(counted)})" if counted else ""
        yield lost_update.finding(
            pattern.name,
            f"of two callers of {pattern.name}, both succeed and the later wins: it sets"
            f" {plan.entity.name}.{name} to one of {choices} states{counts} without a condition",
            f"add .condition(F.{name} == ...) with the expected state, or a version and .if_version(...)",
            pattern.place,
            plan.entity.place,
        )
        return


def _assignee(plan: Plan, looked_at: Set[str]) -> str | None:
    """Return an optional field whose name suggests an assignee and that the write sets without a condition on it."""
    for action in plan.actions:
        stored = plan.entity.fields[action.path.field]
        given = action.name == "set" and isinstance(action.source, Param) and len(action.path.parts) == 1
        if given and stored.optional and stored.name not in looked_at and is_assignee_name(stored.name):
            return stored.name
    return None


def _lost_claim(pattern: Pattern[..., Any], plan: Plan, name: str, state: object, taker: str) -> Finding:
    return lost_update.finding(
        pattern.name,
        f"of two callers of {pattern.name}, both believe that they own the item: it sets"
        f" {plan.entity.name}.{name} to {plain_value(state)!r} and {taker} without a condition",
        f"add .condition(F.{name} == ...) with the previous state, .condition(F.{taker}.missing()), or"
        " .if_version(...)",
        pattern.place,
        plan.entity.place,
        severity="advice",
    )


def _is_ordered(plan: Plan) -> bool:
    """Return True if only the latest write succeeds: a field is compared with the value that it is set to."""
    parts = plan.condition.parts if isinstance(plan.condition, AndCondition) else (plan.condition,)
    given = {action.path.field: action.source for action in plan.actions if action.name == "set"}
    return any(all(_is_compared_with_new(one, given) for one in _disjuncts(part)) for part in parts)


def _disjuncts(part: Condition | None) -> tuple[Condition | None, ...]:
    return part.parts if isinstance(part, OrCondition) else (part,)


def _is_compared_with_new(part: Condition | None, given: Mapping[str, Any]) -> bool:
    if isinstance(part, FunctionCondition):
        return part.name == "attribute_not_exists" and part.path.field in given
    if not isinstance(part, CompareCondition) or part.op not in {"<", ">"} or not isinstance(part.left, FieldPath):
        return False
    return repr(part.right) == repr(given.get(part.left.field))


def _lost_addition(pattern: Pattern[..., Any], plan: Plan, name: str, other: str) -> Finding:
    return lost_update.finding(
        pattern.name,
        f"{pattern.name} overwrites what {other} added since the read: it sets"
        f" {plan.entity.name}.{name} without a condition",
        f"add the difference, or .condition(F.{name} == ...) with the value read, or a version and .if_version(...)",
        pattern.place,
        plan.entity.place,
    )


@design_rule("KP611", "error", "warning")
def batch_without_conditions(subject: Subject) -> Iterator[Finding]:
    """Batch write cannot have conditions

    Finds batches that state a condition or bypass a version (error), and batches of entities that other patterns
    update (warning).

    Why is this bad? BatchWriteItem puts and deletes whole items one by one: it has no updates and no conditions, and
    some items can fail. Putting back an item in a batch overwrites what others changed since it was read.

    Fix: use single updates with a condition, which cost the same, or transactions of up to 100. Keep batches for
    loading data and for items that never change.

    Source: API reference, BatchWriteItem: no conditions, no updates, not atomic as a whole.
    """
    yield from subject.errors_of(batch_without_conditions.code)
    for _, pattern, plan in subject.patterns:
        if plan.operation != "BatchWriteItem":
            continue
        updates = [work.pattern for work in subject.writes_of(plan.entity) if work.plan.operation == "UpdateItem"]
        if updates:
            yield _batch_overwrite(pattern, updates[0])


def _batch_overwrite(pattern: Pattern[..., Any], update: Pattern[..., Any]) -> Finding:
    entity = pattern.plan.entity
    puts = pattern.plan.item is not None
    versioned = entity.version is not None and puts
    if puts:
        does = f"replaces whole items of {entity.name} without a condition, and {update.name} updates them"
        consequence = "changes since the read are lost"
    else:
        does = f"deletes items of {entity.name} without a condition, and {update.name} updates them"
        consequence = "an item that changed since the read is deleted too"
    return batch_without_conditions.finding(
        pattern.name,
        f"{pattern.name} {does}: {consequence}" + (f", and {entity.version} is not checked" if versioned else ""),
        "use single updates or deletes with .condition(...), or transactions of up to 100; keep batches for"
        " loading data",
        pattern.place,
        update.place,
        severity="error" if versioned else "warning",
    )
