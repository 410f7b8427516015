"""A table has more than five local indexes

A table may have five local secondary indexes. They can only be created with the table and never be removed,
share its partition key, and bind every item collection to 10 GB, so five is a number to stay far below.

Use global indexes, which can be added to a living table, unless reads of the index must be strongly consistent.

Source: developer guide, "Quotas in Amazon DynamoDB", secondary indexes per table.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP106", "local-indexes", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Tables with too many local indexes."""
    yield from subject.errors_of(RULE.code)
