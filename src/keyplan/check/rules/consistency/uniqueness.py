"""Rules: uniqueness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyplan.check.finding import Finding, with_article
from keyplan.check.load import Work
from keyplan.check.relations import Guard, guards_of
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Place


@design_rule("KP605", "error")
def uniqueness_not_enforced(subject: Subject) -> Iterator[Finding]:
    """Uniqueness that nothing keeps

    An index refuses no two equal keys, and it lags behind the table: two registrations with one e-mail address both
    look it up, both find nothing, both succeed. The same holds for a look-up in the table by two callers at the
    same time, followed by a write without a condition.

    Only the primary key is unique, and only a condition on it decides. A unique value therefore needs an item of its
    own (a sentinel), written in the same transaction on the condition that it is not there yet: `unique=("email",)`.
    Where the value can be the key itself, make it the key and create with `@table.create`, which refuses a second one.

    Found are unique rules held by an index or by nothing, reads that decide uniqueness, unless they read the table and
    what is decided is then written by a `create`, and batch writes of entities with unique values.

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
            yield from _deciding_read(subject, pattern, plan.entity)


def _unenforced_rule(entity: EntitySpec, fields: tuple[str, ...], by: str) -> Finding:
    names = ", ".join(fields)
    why = (
        "an index refuses no second equal key and lags behind the table: two writers at the same time both succeed"
        if by == "index"
        else "nothing refuses a second item with the same value"
    )
    return uniqueness_not_enforced.finding(
        entity.name,
        f"{entity.name}.{names} is to be unique by {by}, and {why}",
        f"""declare unique=("{'", "'.join(fields)}",): a sentinel item in the same transaction keeps it""",
        entity.place.at("unique="),
    )


def _deciding_read(subject: Subject, pattern: Pattern[..., Any], entity: EntitySpec) -> Iterator[Finding]:
    index = pattern.plan.index
    if index is not None:
        problem = f"index {index.name}, which lags behind the table and refuses no second equal key"
        yield _race(pattern, entity, problem, index.place)
        return
    writes = [work for work in subject.writes_of(entity) if work.plan.operation in {"PutItem", "BatchWriteItem"}]
    open_ = [work for work in writes if work.plan.exists != "must_not" and work.plan.condition is None]
    if not writes:
        yield _race(pattern, entity, "a read, and nothing writes one on the condition that it is new", entity.place)
    elif open_:
        names = ", ".join(dict.fromkeys(work.pattern.name for work in open_))
        problem = f"a read before {names}, which writes whatever was written in between"
        yield _race(pattern, entity, problem, open_[0].pattern.place)


def _race(pattern: Pattern[..., Any], entity: EntitySpec, by: str, other: Place) -> Finding:
    return uniqueness_not_enforced.finding(
        pattern.name,
        f"{pattern.name} decides whether {with_article(entity.name)} is the first of its kind by {by}: two callers at"
        " the same time both go ahead",
        "let the write decide: make the value the primary key and use @table.create, or declare unique=(...), and take"
        " its refusal for the answer",
        pattern.place,
        other,
    )


@design_rule("KP612", "error")
def orphaned_uniqueness_guard(subject: Subject) -> Iterator[Finding]:
    """A guard of a unique value that is never taken away

    An item such as `EMAIL#{email}`, created in one transaction with its user, keeps an address from being used twice.
    It must go when the user goes, and move when the address changes. If nothing deletes it, the address is taken for
    ever, by nobody.

    `unique=("email",)` does all of that: the sentinel is written, moved and deleted with the item. With guards of
    your own, delete the guard in every transaction that deletes the item or changes the value.

    Source: AWS blog, "Simulating Amazon DynamoDB unique constraints using transactions".
    """
    for guard in guards_of(subject):
        for work in subject.writes_of(guard.guarded):
            does = _released_value(work, guard)
            if does and not _deletes_guard(work, guard):
                yield _orphan(work, guard, does)


def _released_value(work: Work, guard: Guard) -> str:
    if work.plan.operation == "DeleteItem":
        return f"deletes {with_article(guard.guarded.name)}"
    changed = [action.path.field for action in work.plan.actions if action.path.field in guard.fields]
    return f"changes {', '.join(changed)} of {guard.guarded.name}" if changed else ""


def _deletes_guard(work: Work, guard: Guard) -> bool:
    """Whether the same call deletes the guard."""
    steps = work.pattern.plan.steps or (work.pattern.plan,)
    return any(step.operation == "DeleteItem" and step.entity is guard.guard for step in steps)


def _orphan(work: Work, guard: Guard, does: str) -> Finding:
    return orphaned_uniqueness_guard.finding(
        work.pattern.name,
        f"{work.pattern.name} {does}, and leaves its {guard.guard.name}, which {guard.transaction.name} created to keep"
        f" {', '.join(guard.fields)} unique: the value stays taken",
        f"delete the {guard.guard.name} in the same transaction, or declare"
        f""" unique=("{'", "'.join(guard.fields)}",) and drop {guard.guard.name}""",
        work.pattern.place,
        guard.guard.place,
    )


@design_rule("KP613", "warning")
def decision_without_condition(subject: Subject) -> Iterator[Finding]:
    """A quota or a state decided by a read alone

    A program reads that 29 of 30 requests are used, or that a job is waiting, and goes on. Another one has read the
    same. Even a consistent read only tells what was true when it was made; where no write has a condition, both go
    ahead.

    A read may propose; a write must decide. Keep a counter item and add to it on the condition that the limit is not
    reached (`add(count=1) & when(F.count < 30)`). Claim an item by an update that names the state it must still have,
    and go on only where the update is accepted.

    Decisions by an index or by an eventually consistent read are KP305's.

    Source: developer guide, "Condition expressions" and "DynamoDB read consistency".
    """
    for _, pattern, plan in subject.patterns:
        decides = pattern.facts.decides in {"quota", "state"}
        if decides and plan.consistent and plan.index is None and not _has_conditional_write(subject, plan.entity):
            yield _unguarded_decision(pattern, plan.entity)


def _has_conditional_write(subject: Subject, entity: EntitySpec) -> bool:
    """Whether some write of the entity has a condition of its own, which may decide."""
    return any(
        work.plan.condition is not None or work.plan.version is not None or work.plan.known
        for work in subject.writes_of(entity)
    )


def _unguarded_decision(pattern: Pattern[..., Any], entity: EntitySpec) -> Finding:
    quota = pattern.facts.decides == "quota"
    return decision_without_condition.finding(
        pattern.name,
        f"{pattern.name} decides about {pattern.facts.decides} by reading {with_article(entity.name)}, and no write"
        " of it has a condition: "
        + ("requests at the same time all pass" if quota else "two callers act on the same state"),
        "keep a counter with add(...) & when(F.count < limit)"
        if quota
        else "let a write claim it: when(...) on the state it must still have, and act only if that is accepted",
        pattern.place,
        entity.place,
    )
