"""A resource of the infrastructure gets another logical id

`keyplan export` calls the resource of a table by the table's name alone. A table of another name is another
resource: an update of the stack makes the new one, empty, and the old one is in the stack no more. Templates of
`keyplan export` say `DeletionPolicy: Retain`, so the old table stays, and is billed, outside of any stack; a
template that does not say so deletes it with all its items. What depends on it (alarms, policies, triggers) points
to nothing. The same is so of a table that is gone from the design. Terraform refuses to destroy it, as the export
writes it.

It is a warning where the old table is not protected from deletion, and else advice. Switch deletion protection on
and copy the items before the stack is updated, and delete the old table by hand when nothing uses it.

Source: AWS CloudFormation, "Update behaviors of stack resources" (replacement) and "DeletionPolicy attribute".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding, Severity
from keyplan.check.rule import Rule
from keyplan.diff.comparison import Comparison

RULE = Rule("KP911", "logical-id-changed", ("warning", "advice"))


def check(comparison: Comparison) -> Iterator[Finding]:
    """Tables whose resource is another, or gone."""
    protected = {table.name for table in comparison.old.tables if table.schema.deletion_protection}
    for change in comparison.of("table renamed", "table removed"):
        was = str(change.facts["was"])
        guard = "which is protected from deletion" if was in protected else "which nothing protects from deletion"
        problem = f"{change.what}: the stack has no resource for {was} any more, {guard}"
        fix = "see that the stack in use says DeletionPolicy: Retain for it, and copy its items before it is updated"
        severity: Severity = "advice" if was in protected else "warning"
        yield Finding(RULE.code, severity, change.subject, problem, fix, change.place, change.other)
