"""A consumer of new items that misses what becomes of them

A consumer that takes `Inserted` alone sees an item once, as it was first written. Where the item is then put again or
its state is changed, that comes as `Modified`, and the consumer never hears of it: an attempt that begins as
"in-progress" and is "completed" later is only seen unfinished.

Take `Modified` as well, and act on what it became: `when=changed("status", becomes="completed")` counts an
insertion that begins so as well. It needs the old and the new image.

Source: developer guide, "Change data capture for DynamoDB Streams" (INSERT, MODIFY and REMOVE records).
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import Work
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import choices_of
from keyplan.design.entities import EntitySpec

RULE = Rule("KP715", "modifications-overlooked", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Consumers of insertions alone, of entities with a state that writes change."""
    for table in subject.tables:
        for consumer in table.consumers:
            if "inserted" not in consumer.events or "modified" in consumer.events:
                continue
            for entity in consumer.entities:
                state = _state(entity)
                works = [work for work in subject.writes_of(entity) if state and _changes(work, state)]
                if works:
                    yield Finding(
                        RULE.code,
                        "warning",
                        consumer.name,
                        f"{consumer.name} takes new {entity.name} items alone, and {works[0].pattern.name} can give one"
                        f" that is there another {state}: that comes as Modified, and is never seen",
                        f'take Modified[{entity.name}] too, with when=changed("{state}", becomes=...)',
                        consumer.place,
                        works[0].pattern.place,
                    )


def _state(entity: EntitySpec) -> str | None:
    """The field with a few declared values whose name says that it is a state."""
    return next(
        (
            name
            for name, field in entity.fields.items()
            if name.lower().endswith(("status", "state", "stage", "phase")) and choices_of(field)
        ),
        None,
    )


def _changes(work: Work, state: str) -> bool:
    if work.plan.operation in {"PutItem", "BatchWriteItem"}:
        return work.plan.item is not None and work.plan.exists != "must_not"
    return any(action.path.field == state for action in work.plan.actions)
