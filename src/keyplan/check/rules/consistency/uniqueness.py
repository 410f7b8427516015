"""Rules for unique values, and for decisions that require a conditional write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyplan.check.finding import Finding, with_article
from keyplan.check.load import PlannedRequest
from keyplan.check.relations import (
    Guard,
    guarded_writes,
    guards_of,
    is_conditional,
    keeps_looked_up_unique,
    writes_another_entity,
)
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Place


@design_rule("KP605", "error")
def uniqueness_not_enforced(subject: Subject) -> Iterator[Finding]:
    """Uniqueness is not enforced

    Finds unique constraints that rely on an index or are not enforced at all, and batch writes of entities with unique
    values. Also finds reads that are used to check uniqueness (`decides=`), if the write that depends on the read
    (`guards=`) can succeed for two items with the same value.

    Why is this bad? An index accepts duplicate keys and is updated only after the table. Two concurrent registrations
    with the same email address both query the index, find nothing, and succeed. The same happens if a read of the table
    is followed by a write without a condition. A write that follows a read of an index fails for an existing value only
    if the value is part of the primary key or is reserved by an additional item, called a guard item or sentinel.

    Fix: declare `unique=("email",)`. keyplan then reserves the value with a guard item, which is written in the same
    transaction as the item, on the condition that no guard item for the value exists yet. Alternatively, use the value
    as the primary key and create items with `@table.create`.

    Source: developer guide, "Using global secondary indexes" (keys need not be unique, propagation is asynchronous);
    AWS blog, "Simulating Amazon DynamoDB unique constraints using transactions".
    """
    yield from subject.errors_of(uniqueness_not_enforced.code)
    for _, entity in subject.entities:
        for rule in entity.uniques:
            if rule.by != "sentinel":
                yield _unenforced_rule(entity, rule.fields, rule.by)
    for _, pattern, plan in subject.patterns:
        if pattern.facts.decides == "uniqueness":
            yield from _unsafe_read(subject, pattern, plan.entity)


def _unenforced_rule(entity: EntitySpec, fields: tuple[str, ...], mechanism: str) -> Finding:
    names = ", ".join(fields)
    reason = (
        "an index accepts equal keys and lags behind the table"
        if mechanism == "index"
        else "nothing rejects the second one"
    )
    return uniqueness_not_enforced.finding(
        entity.name,
        f"two items can have the same {entity.name}.{names}: {reason}",
        f"""declare unique=("{'", "'.join(fields)}",): a sentinel item in the same transaction keeps it""",
        entity.place.at("unique="),
    )


def _unsafe_read(subject: Subject, pattern: Pattern[..., Any], entity: EntitySpec) -> Iterator[Finding]:
    plan = pattern.plan
    unguarded = [write for write in guarded_writes(subject, pattern) if not keeps_looked_up_unique(write, plan)]
    if not unguarded:
        return
    if plan.index is not None:
        problem = f"index {plan.index.name}, which lags behind the table and accepts equal keys"
        yield _uniqueness_race(pattern, entity, problem, plan.index.place)
        return
    problem = f"a read before {' and '.join(write.name for write in unguarded)}, which has no condition"
    yield _uniqueness_race(pattern, entity, problem, unguarded[0].place)


def _uniqueness_race(pattern: Pattern[..., Any], entity: EntitySpec, mechanism: str, related_place: Place) -> Finding:
    return uniqueness_not_enforced.finding(
        pattern.name,
        f"two concurrent callers both create {with_article(entity.name)}: {pattern.name} decides uniqueness by"
        f" {mechanism}",
        "make the value the primary key and use @table.create, or declare unique=(...), and handle the failed write",
        pattern.place,
        related_place,
    )


@design_rule("KP612", "error")
def orphaned_uniqueness_guard(subject: Subject) -> Iterator[Finding]:
    """Uniqueness guard is never deleted

    Finds guard entities whose items remain when the owner is deleted or the value changes. An item of a guard entity
    reserves a unique value for its owner. For example, an item with the key `EMAIL#{email}` is created in the same
    transaction as a user and reserves the user's email address.

    Why is this bad? The value cannot be used again, although its owner no longer exists or has another value.

    Fix: declare `unique=("email",)`. keyplan then writes, replaces or deletes the item that reserves the value in the
    same transaction as the owner. If you declare a guard entity yourself, delete the guard item in each transaction
    that deletes the owner or changes the value.

    Source: AWS blog, "Simulating Amazon DynamoDB unique constraints using transactions".
    """
    for guard in guards_of(subject):
        for write in subject.writes_of(guard.guarded):
            release = _released_value(write, guard)
            if release and not _deletes_guard(write, guard):
                yield _orphan(write, guard, release)


def _released_value(write: PlannedRequest, guard: Guard) -> str:
    if write.plan.operation == "DeleteItem":
        return f"deletes {with_article(guard.guarded.name)}"
    changed = [action.path.field for action in write.plan.actions if action.path.field in guard.fields]
    return f"changes {', '.join(changed)} of {guard.guarded.name}" if changed else ""


def _deletes_guard(write: PlannedRequest, guard: Guard) -> bool:
    """Return True if the call that makes `write` also deletes a guard item, which reserves a unique value."""
    steps = write.pattern.plan.steps or (write.pattern.plan,)
    return any(step.operation == "DeleteItem" and step.entity is guard.guard for step in steps)


def _orphan(write: PlannedRequest, guard: Guard, release: str) -> Finding:
    return orphaned_uniqueness_guard.finding(
        write.pattern.name,
        f"{', '.join(guard.fields)} stays taken after {write.pattern.name} {release}: the"
        f" {guard.guard.name} of {guard.transaction.name} remains",
        f"delete the {guard.guard.name} in the same transaction, or declare"
        f""" unique=("{'", "'.join(guard.fields)}",) and drop {guard.guard.name}""",
        write.pattern.place,
        guard.guard.place,
    )


@design_rule("KP613", "warning")
def decision_without_condition(subject: Subject) -> Iterator[Finding]:
    """Decision has no conditional write

    Finds consistent reads that are used to check a quota or a state (`decides=`), if the write that depends on the read
    (`guards=`) has neither a condition nor an expected version and does not create the item that was looked up. A read
    is not reported if its result only decides whether a write of another entity is allowed. KP305 reports decisions
    that use stale reads.

    Why is this bad? A program reads that 29 of 30 requests are used, and accepts another one. A concurrent program
    reads the same number and also accepts a request. The limit is then exceeded.

    Fix: check the quota or state in the write. Add to a counter on the condition that the limit is not reached
    (`.add(count=1).condition(F.count < 30)`), or update an item on the condition that it is still in the expected
    state.

    Source: developer guide, "Condition expressions" and "DynamoDB read consistency".
    """
    for _, pattern, plan in subject.patterns:
        if pattern.facts.decides in {"quota", "state"} and plan.consistent and plan.index is None:
            for write in guarded_writes(subject, pattern):
                is_permission = pattern.facts.decides == "state" and writes_another_entity(write, plan)
                if not is_conditional(write, plan) and not is_permission:
                    yield _unguarded_decision(pattern, write)


def _unguarded_decision(pattern: Pattern[..., Any], write: Pattern[..., Any]) -> Finding:
    is_quota = pattern.facts.decides == "quota"
    return decision_without_condition.finding(
        pattern.name,
        ("concurrent requests all succeed" if is_quota else "two callers act on the same state")
        + f": {pattern.name} decides about {pattern.facts.decides} by reading {with_article(pattern.plan.entity.name)},"
        f" and {write.name} has no condition",
        "update a counter with .add(...).condition(F.count < limit), in the transaction of what is counted"
        if is_quota
        else f"add .condition(...) on the required state to {write.name}, and act only if the write succeeds",
        pattern.place,
        write.place,
    )
