"""A field is stored as another type than its stored items have

Attribute values have types, and nothing converts what is stored. The old values are compared with the new ones as
values of another type: conditions are false, sort orders have two parts, index entries of the wrong type are left
out, and a moment that was seconds is read as milliseconds.

Store the new form under another attribute, `Annotated[..., Attribute("due_at_s")]`, write both, rewrite what is
stored, and drop the old field then. A version that runs beside the one that writes the new form has to read it too.

Source: developer guide, "Supported data types and naming rules in Amazon DynamoDB"; "Comparison operator and
function reference": operands of different types do not match.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.diff.comparison import Comparison

RULE = Rule("KP907", "attribute-type-changed", ("error",))


def check(comparison: Comparison) -> Iterator[Finding]:
    """Fields whose stored form is another."""
    for change in comparison.of("type changed"):
        fix = "store it under another Attribute(name), rewrite the stored items, and drop the old field then"
        yield Finding(RULE.code, "error", change.subject, change.what, fix, change.place, change.other)
