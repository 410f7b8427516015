"""What keys are made of is changed, and stored items have the old ones

A template, its prefix or the condition under which an item is in an index is only how new items are written. Items
that are stored keep their keys: reads by the new ones do not find them, a create does not see that they are there,
and entries of an index stay where they were. The same is so of an entity that is in another table now.

Read both forms first, write the new one when every running version does, rewrite what is stored, and read only the
new form then: `keyplan diff` gives the stages, the items, write units and hours. An item under another primary key is
put there and deleted where it was, in one transaction, with the sentinels of its unique values, which name its key.

Source: developer guide, "Core components of Amazon DynamoDB"; an item's primary key is never updated: API
reference, UpdateItem, Key.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.diff.comparison import Comparison
from keyplan.diff.report import told

RULE = Rule("KP906", "key-template-changed", ("warning",))


def check(comparison: Comparison) -> Iterator[Finding]:
    """Keys that stored items have otherwise, but for those of an index that is new; entities in another table."""
    for change in comparison.of("key changed", "entity moved"):
        if change.facts.get("new"):
            continue
        backfill = comparison.backfill(change)
        cost = "" if backfill is None else f" ({told(backfill)})"
        fix = "read both forms, write the new one, rewrite the stored items, and read only the new form then"
        yield Finding(RULE.code, "warning", change.subject, f"{change.what}{cost}", fix, change.place, change.other)
