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

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.check.wording import a
from keyplan.design.entities import EntitySpec
from keyplan.design.patterns import Pattern
from keyplan.design.places import Place

RULE = Rule("KP605", "uniqueness-not-kept", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Unique rules without a sentinel, and reads that decide uniqueness."""
    yield from subject.errors_of(RULE.code)
    for _, entity in subject.entities:
        for rule in entity.uniques:
            if rule.by != "sentinel":
                yield _rule(entity, rule.fields, rule.by)
    for _, pattern, plan in subject.patterns:
        if pattern.facts.decides == "uniqueness":
            yield from _read(subject, pattern, plan.entity)


def _rule(entity: EntitySpec, fields: tuple[str, ...], by: str) -> Finding:
    names = ", ".join(fields)
    why = (
        "an index refuses no second equal key and lags behind the table: two writers at the same time both succeed"
        if by == "index"
        else "nothing refuses a second item with the same value"
    )
    return Finding(
        RULE.code,
        "error",
        entity.name,
        f"{entity.name}.{names} is to be unique by {by}, and {why}",
        f"""declare unique=("{'", "'.join(fields)}",): a sentinel item in the same transaction keeps it""",
        entity.place.at("unique="),
    )


def _read(subject: Subject, pattern: Pattern[..., Any], entity: EntitySpec) -> Iterator[Finding]:
    index = pattern.plan.index
    if index is not None:
        problem = f"index {index.name}, which lags behind the table and refuses no second equal key"
        yield _finding(pattern, entity, problem, index.place)
        return
    writes = [work for work in subject.writes_of(entity) if work.plan.operation in {"PutItem", "BatchWriteItem"}]
    open_ = [work for work in writes if work.plan.exists != "must_not" and work.plan.condition is None]
    if not writes:
        yield _finding(pattern, entity, "a read, and nothing writes one on the condition that it is new", entity.place)
    elif open_:
        names = ", ".join(dict.fromkeys(work.pattern.name for work in open_))
        problem = f"a read before {names}, which writes whatever was written in between"
        yield _finding(pattern, entity, problem, open_[0].pattern.place)


def _finding(pattern: Pattern[..., Any], entity: EntitySpec, by: str, other: Place) -> Finding:
    return Finding(
        RULE.code,
        "error",
        pattern.name,
        f"{pattern.name} decides whether {a(entity.name)} is the first of its kind by {by}: two callers at the same"
        " time both go ahead",
        "let the write decide: make the value the primary key and use @table.create, or declare unique=(...), and take"
        " its refusal for the answer",
        pattern.place,
        other,
    )
