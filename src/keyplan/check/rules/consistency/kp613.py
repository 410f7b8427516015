"""A quota or a state decided by a read alone

A program reads that 29 of 30 requests are used, or that a job is waiting, and goes on. Another one has read the same.
Even a consistent read only tells what was true when it was made; where no write has a condition, both go ahead.

A read may propose; a write must decide. Keep a counter item and add to it on the condition that the limit is not
reached (`add(count=1) & when(F.count < 30)`). Claim an item by an update that names the state it must still have,
and go on only where the update is accepted.

Decisions by an index or by an eventually consistent read are KP305's.

Source: developer guide, "Condition expressions" and "DynamoDB read consistency".
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

RULE = Rule("KP613", "decided-by-reading", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Consistent reads that decide a quota or a state, of entities that no write has a condition for."""
    for _, pattern, plan in subject.patterns:
        decides = pattern.facts.decides in {"quota", "state"}
        if decides and plan.consistent and plan.index is None and not _decided(subject, plan.entity):
            yield _finding(pattern, plan.entity)


def _decided(subject: Subject, entity: EntitySpec) -> bool:
    """Whether some write of the entity has a condition of its own, which may decide."""
    return any(
        work.plan.condition is not None or work.plan.version is not None or work.plan.known
        for work in subject.writes_of(entity)
    )


def _finding(pattern: Pattern[..., Any], entity: EntitySpec) -> Finding:
    quota = pattern.facts.decides == "quota"
    return Finding(
        RULE.code,
        "warning",
        pattern.name,
        f"{pattern.name} decides about {pattern.facts.decides} by reading {a(entity.name)}, and no write of it has a"
        " condition: " + ("requests at the same time all pass" if quota else "two callers act on the same state"),
        "keep a counter with add(...) & when(F.count < limit)"
        if quota
        else "let a write claim it: when(...) on the state it must still have, and act only if that is accepted",
        pattern.place,
        entity.place,
    )
