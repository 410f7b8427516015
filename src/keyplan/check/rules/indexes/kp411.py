"""A local index that nobody reads consistently

The one thing that a local index can do and a global one cannot is a strongly consistent read. For that it must
exist from the table's first day, can never be removed, keeps every item collection below 10 GB and its
partition from being split. Where no pattern reads it consistently, all that is paid for nothing.

Make it a global index with the same keys; or declare the reads that need it `consistent=True`.

Source: developer guide, "Best practices for using secondary indexes in DynamoDB", global or local.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP411", "local-index-without-need", ("advice",))


def check(subject: Subject) -> Iterator[Finding]:
    """Local indexes that are read, and never consistently."""
    for table, index in subject.indexes:
        readers = subject.readers_of(table, index)
        if index.kind == "LSI" and readers and not any(pattern.plan.consistent for pattern in readers):
            yield Finding(
                RULE.code,
                "advice",
                index.name,
                f"local index {index.name} is read by {', '.join(pattern.name for pattern in readers)}, and never"
                " consistently",
                f"make it global: GSI({index.name!r}, pk={table.schema.partition!r}, sk={index.sort[0]!r})",
                index.place,
                readers[0].place,
            )
