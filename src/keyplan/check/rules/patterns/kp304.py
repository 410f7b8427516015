"""A consistent read is asked of a global index

A global secondary index is filled after the write has been acknowledged, so it has no strongly consistent
reads: the service refuses `ConsistentRead` on it.

Read the table by its own key, or a local index, where the answer must show every write. Where it need not,
leave the option out and let the program live with an answer that is a moment old.

Source: developer guide, "DynamoDB read consistency".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP304", "consistent-index-read", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Consistent reads of global indexes."""
    yield from subject.errors_of(RULE.code)
