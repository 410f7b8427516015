"""A table has more than twenty global indexes

Twenty global secondary indexes a table is the default quota; creating a table with more is refused until the
account's quota is raised. Every index is another write for each item in it, so a design that needs more than
twenty usually asks one table to be a search engine.

Drop indexes that no pattern reads, let entities share an index with general names (GSI1PK, GSI1SK), or send
changes to a search service by the table's stream.

Source: developer guide, "Quotas in Amazon DynamoDB", secondary indexes per table.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP107", "global-indexes", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Tables with too many global indexes."""
    yield from subject.errors_of(RULE.code)
