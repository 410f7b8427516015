"""An index's key or projection is changed in place

A global index keeps the key and the projection that it was created with. An index of the same name and another
shape is deleted and created again, and until it is filled every read of it fails; CloudFormation refuses to do both
in one update.

Declare the new index beside the old one under another name, deploy, move the readers, and drop the old one then.

Source: developer guide, "Managing Global Secondary Indexes in DynamoDB"; API reference, UpdateTable: of an index
that is there only its capacity is updated.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.diff.comparison import Comparison

RULE = Rule("KP903", "index-changed-in-place", ("error",))


def check(comparison: Comparison) -> Iterator[Finding]:
    """Global indexes of one name that are not the same."""
    for change in comparison.of("index changed in place"):
        fix = f"declare the new one as {change.subject}_2 beside it, and drop {change.subject} once nothing reads it"
        problem = f"{change.what}: an index keeps its key and projection"
        yield Finding(RULE.code, "error", change.subject, problem, fix, change.place, change.other)
