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

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.patterns import Pattern

RULE = Rule("KP611", "batch-taken-for-updates", ("error", "warning"))


def check(subject: Subject) -> Iterator[Finding]:
    """Batches with conditions, and batches of entities that other patterns update."""
    yield from subject.errors_of(RULE.code)
    for _, pattern, plan in subject.patterns:
        if plan.operation != "BatchWriteItem":
            continue
        updates = [work.pattern for work in subject.writes_of(plan.entity) if work.plan.operation == "UpdateItem"]
        if updates:
            yield _finding(pattern, updates[0])


def _finding(pattern: Pattern[..., Any], update: Pattern[..., Any]) -> Finding:
    entity = pattern.plan.entity
    puts = pattern.plan.item is not None
    versioned = entity.version is not None and puts
    if puts:
        does = f"replaces whole items of {entity.name}, without a condition, and {update.name} updates them"
        lost = "what changed after they were read is lost"
    else:
        does = f"deletes items of {entity.name} without a condition, and {update.name} changes their state"
        lost = "an item that changed after it was found is deleted all the same"
    return Finding(
        RULE.code,
        "error" if versioned else "warning",
        pattern.name,
        f"{pattern.name} {does}: {lost}" + (f", past its {entity.version}" if versioned else ""),
        "use single updates or deletes with when(...), or transactions of up to 100; keep batches for loading data",
        pattern.place,
        update.place,
    )
