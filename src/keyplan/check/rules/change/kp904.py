"""Several indexes of a table change in one deploy

UpdateTable creates or deletes one global index at a time, and takes no other while that one is being made or
filled. CloudFormation refuses an update that creates or deletes several of one table: it has to be deployed in
steps.

Deploy one after the other, each once the one before is ACTIVE.

Source: API reference, UpdateTable (one global index is created or deleted by an operation); CloudFormation,
AWS::DynamoDB::Table, GlobalSecondaryIndexes.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.diff.comparison import Comparison
from keyplan.diff.rollout import by_table

RULE = Rule("KP904", "several-index-changes", ("warning",))
_SEVERAL = 2


def check(comparison: Comparison) -> Iterator[Finding]:
    """Tables of which more than one index comes or goes."""
    for table, changes in by_table(comparison.of("index added", "index removed", "index changed in place")):
        if len(changes) >= _SEVERAL:
            names = ", ".join(dict.fromkeys(change.subject for change in changes))
            problem = f"{len(changes)} global indexes of table {table} change at once: {names}"
            fix = "deploy them one after the other, each once the one before is ACTIVE"
            yield Finding(RULE.code, "warning", table, problem, fix, changes[0].place, changes[0].other)
