"""A table's primary key is changed

The attributes of a primary key, and their types, are fixed when a table is made. UpdateTable takes no key schema;
CloudFormation makes a new table and deletes the old one with everything in it.

Give the new table a name of its own, copy the items, let both versions write to both meanwhile, and delete the old
table last: `keyplan diff` shows the order, the units and the price. Where only what the key attributes hold is to
be other, keep their names: that is a change of templates (KP906).

Source: developer guide, "Core components of Amazon DynamoDB", primary key; API reference, UpdateTable.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.diff.comparison import Comparison

RULE = Rule("KP902", "primary-key-changed", ("error",))


def check(comparison: Comparison) -> Iterator[Finding]:
    """Tables that would need another key."""
    for change in comparison.of("primary key changed"):
        fix = "declare a table of another name, copy the items into it, and drop this one when nothing uses it"
        yield Finding(
            RULE.code, "error", change.subject, f"{change.what}: a table keeps its key", fix, change.place, change.other
        )
