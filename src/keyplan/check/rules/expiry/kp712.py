"""Changes that are delivered only to be dropped

A consumer that takes the changes of one entity of several, or only insertions, is still called for batches of
everything where nothing filters before it. Each call costs, and the batches that matter wait behind those that do not.
Found where more than half of the declared writes are of others.

Say which changes count with `when=` (a condition, or `changed("status")`), and let the export of the consumer put the
entity's key prefix and the kind of change into the filter of the event source.

Source: Lambda developer guide, "Control which events Lambda sends to your function" (event filtering).
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.consumers import Consumer
from keyplan.design.tables import Table

RULE = Rule("KP712", "filter-at-source", ("advice",))
_MOST = 0.5


def check(subject: Subject) -> Iterator[Finding]:
    """Consumers without `when`, for whom most of the declared writes of the table are none of their business."""
    for table in subject.tables:
        for consumer in table.consumers:
            if consumer.when is None:
                yield from _idle(subject, table, consumer)


def _idle(subject: Subject, table: Table, consumer: Consumer) -> Iterator[Finding]:
    writes = [
        work
        for work in subject.works
        if work.plan.schema is table.schema and not work.plan.reading and work.rate is not None
    ]
    total = sum(work.rate.average for work in writes if work.rate is not None)
    other = sum(
        work.rate.average for work in writes if work.rate is not None and work.plan.entity not in consumer.entities
    )
    if total and other > _MOST * total:
        names = ", ".join(entity.name for entity in consumer.entities)
        yield Finding(
            RULE.code,
            "advice",
            consumer.name,
            f"{consumer.name} takes changes of {names}, and {number(other)} of {number(total)} writes a second to table"
            f" {table.name} are of others: {other / total:.0%} of what it is handed is dropped",
            "filter at the event source by the key's prefix, or give the entities a table with a stream of its own",
            consumer.place,
            table.schema.place.at("stream="),
        )
