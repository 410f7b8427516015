"""Rules: lost updates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from keyplan.check.field_names import is_assignee_name, is_time_name
from keyplan.check.finding import Finding, with_article
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
    """A whole item is put, whatever is there

    `@table.put` writes the item whether or not one is there, and what was there is gone without a word: the
    counters that an update had raised, the answer that another request had stored, the event of the same millisecond.

    Use `@table.create` for new items: it refuses where one is there, and `replace_when` says when an old one may be
    replaced after all. Use `@table.replace` for items that are there, with a version that tells whether they
    changed since they were read. Where overwriting is what is meant, as for a cache or the last value of
    a sensor, accept the finding and say so.

    Source: API reference, PutItem: an existing item with the same key is replaced completely.
    """
    for _, pattern, plan in subject.patterns:
        if pattern.kind == "put" and plan.condition is None and plan.version is None:
            yield _overwrite(subject, pattern, plan.entity)


def _overwrite(subject: Subject, pattern: Pattern[..., Any], entity: EntitySpec) -> Finding:
    updates = [work.pattern for work in subject.writes_of(entity) if work.plan.operation == "UpdateItem"]
    moment = _timestamp_identity(entity)
    if moment is not None:
        lost = f": two of the same {moment} have one key, and the first is lost"
    elif updates:
        lost = f", and with it what {updates[0].name} changed in the meantime"
    else:
        lost = " without a word"
    return unconditional_put.finding(
        pattern.name,
        f"{pattern.name} puts {with_article(entity.name)} whether or not one is there, and replaces it{lost}",
        (f"add an id to the key after {moment}, and use" if moment is not None else "use")
        + " @table.create for new items and @table.replace for known ones; accept this where overwriting is meant",
        pattern.place,
        entity.key.place if moment is not None else updates[0].place if updates else entity.place,
    )


def _timestamp_identity(entity: EntitySpec) -> str | None:
    """The moment that alone tells items of one partition apart."""
    names = [name for part in entity.key.sort for name in part.fields]
    return names[-1] if names and all(is_time_name(name) for name in names) else None


@design_rule("KP608", "warning")
def lost_update(subject: Subject) -> Iterator[Finding]:
    """A state that is set without looking at the one before

    A program reads a booking, sees that it is pending, and approves it. Another one has rejected it in between. If
    the write does not say which state it expects, the later one wins, and both callers believe that they decided.
    The same is true of a whole item that is read, changed and put back.

    State the expected state in the write: `when(F.status == "pending")`; the refusal is the answer "already decided".
    Or give the entity a version and pass it with `at_version(...)`, or pass what is known with `known(status=...)`.
    Where the latest news wins, compare its moment in the same write: `set_(seen_at=at) & when(F.seen_at < at)`.

    Found are updates that set a field with a few declared values from a parameter, or one that another pattern adds to,
    without a condition on that field, a version or a comparison with what takes the place of a field, replacements of
    whole items of entities without a version, and updates that set a state and give the item a worker, a holder or the
    like, without a condition on either: two workers then have one job.

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
        f"{pattern.name} replaces a whole {name} that was read before, and nothing tells whether it changed since:"
        " the change of another caller is lost",
        f'give {name} a version (version="version"), or update only the fields that change',
        pattern.place,
        plan.entity.place,
    )


def _lost_set(pattern: Pattern[..., Any], plan: Plan, adding: Mapping[tuple[str, str], str]) -> Iterator[Finding]:
    looked_at = {path.field for path in paths_of(plan.condition)} | set(plan.known)
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
        beside = f", which may depend on {', '.join(counted)} that it counts in the same write" if counted else ""
        yield lost_update.finding(
            pattern.name,
            f"{pattern.name} sets {plan.entity.name}.{name} to one of {choices} states{beside}, whatever it was"
            " before: of two callers that decided on the same old state both succeed, and the later one wins",
            f"add when(F.{name} == ...) with the expected state, or a version and at_version(...)",
            pattern.place,
            plan.entity.place,
        )
        return


def _assignee(plan: Plan, looked_at: Set[str]) -> str | None:
    """An optional id that a write gives an item, whether or not it has one: that of who has it from now on."""
    for action in plan.actions:
        stored = plan.entity.fields[action.path.field]
        given = action.name == "set" and isinstance(action.source, Param) and len(action.path.parts) == 1
        if given and stored.optional and stored.name not in looked_at and is_assignee_name(stored.name):
            return stored.name
    return None


def _lost_claim(pattern: Pattern[..., Any], plan: Plan, name: str, state: object, taker: str) -> Finding:
    return lost_update.finding(
        pattern.name,
        f"{pattern.name} sets {plan.entity.name}.{name} to {plain_value(state)!r} and {taker} to who calls, whatever"
        " they were before: of two callers both succeed, and each believes that it is its own",
        f"add when(F.{name} == ...) with the state before, when(F.{taker}.missing()), or at_version(...)",
        pattern.place,
        plan.entity.place,
    )


def _is_ordered(plan: Plan) -> bool:
    """Whether a write that is not the latest is refused: a field is below, or above, what it then becomes."""
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
        f"{pattern.name} sets {plan.entity.name}.{name}, which {other} adds to, whatever it was before: what was added"
        " since it was read is lost",
        f"add the difference, or when(F.{name} == ...) with what was read, or a version and at_version(...)",
        pattern.place,
        plan.entity.place,
    )


@design_rule("KP611", "error", "warning")
def batch_without_conditions(subject: Subject) -> Iterator[Finding]:
    """A batch that is taken for updates, conditions or a transaction

    BatchWriteItem puts and deletes whole items, each by itself: it cannot update a part of one, it takes no
    condition, and some of its items may be written while others are not. Putting a changed item back in a batch
    replaces it with what was read, and takes away what others changed since; deleting in a batch deletes an item that
    changed state after it was found.

    A batch is right for loading data and for items that are never changed. Otherwise use single updates with a
    condition, which cost the same, or transactions of up to 100.

    It is an error where a batch states a condition or goes around a version, and a warning where other patterns
    update the same entity.

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
        does = f"replaces whole items of {entity.name}, without a condition, and {update.name} updates them"
        lost = "what changed after they were read is lost"
    else:
        does = f"deletes items of {entity.name} without a condition, and {update.name} changes their state"
        lost = "an item that changed after it was found is deleted all the same"
    return batch_without_conditions.finding(
        pattern.name,
        f"{pattern.name} {does}: {lost}" + (f", past its {entity.version}" if versioned else ""),
        "use single updates or deletes with when(...), or transactions of up to 100; keep batches for loading data",
        pattern.place,
        update.place,
        severity="error" if versioned else "warning",
    )
