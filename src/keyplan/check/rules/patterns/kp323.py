"""A query for the one item that a get reads

Where an entity's sort key is one text, or the table has none, its partition key names one item. A query for it gives a
page with at most one result, reads whatever else lies in the partition if the sort key is not said, and cannot be
part of a batch. A get is one read of one item, and `consistent=True` makes it right after a write.

Declare it with `@table.get` and `key_of(...)`.

Source: API reference, GetItem and Query; developer guide, "DynamoDB read consistency".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.check.wording import a

RULE = Rule("KP323", "query-for-one-item", ("advice",))


def check(subject: Subject) -> Iterator[Finding]:
    """Queries of a table whose partition key names one item."""
    for _, pattern, plan in subject.patterns:
        single = len(plan.entities) == 1 and plan.index is None and plan.select == "all"
        if plan.operation != "Query" or not single or plan.walk is not None or plan.faults:
            continue
        bound = plan.entity.key
        if bound.partition[0].fields and not any(part.fields for part in bound.sort):
            names = ", ".join(name for part in bound.partition for name in part.fields)
            yield Finding(
                RULE.code,
                "advice",
                pattern.name,
                f"{pattern.name} queries for {a(plan.entity.name)}, of which there is one for each {names}: a get reads"
                " it, alone and consistently if it must",
                f"use @table.get(...) and key_of({', '.join(f'{name}=...' for name in bound.fields)})",
                pattern.place,
                bound.place,
            )
