"""A local index is added, removed or changed

Local secondary indexes are made with their table and stay as long as it does: nothing adds, drops or alters one.
What deploys the design refuses the change, or makes a new table in the place of the old one.

Make a global index instead, if no pattern needs consistent reads there: it is added while the table is used. Where
only a local one will do, copy the items into a new table: `keyplan diff` shows in which order.

Source: developer guide, "Local secondary indexes": "Local secondary indexes on a table are created when the table is
created. When you delete a table, any local secondary indexes on that table are also deleted."
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.diff.comparison import Comparison

RULE = Rule("KP901", "local-index-changed", ("error",))


def check(comparison: Comparison) -> Iterator[Finding]:
    """Local indexes that are not as they were."""
    for change in comparison.of("local index changed"):
        fix = "make it a global index, or copy the items into a new table that has it"
        problem = f"{change.what}: a table keeps its local indexes"
        yield Finding(RULE.code, "error", change.subject, problem, fix, change.place, change.other)
