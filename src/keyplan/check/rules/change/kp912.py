"""Stored items lack what the new design needs

A field that is new and required, one that was optional and is not any more, one that is stored under another
attribute: the items that are stored do not have it, and reading each of them fails until it is rewritten.

Give the field a default, or let it be optional, and make it required once every item has been rewritten. Keep a
field's attribute when its name changes: `Annotated[str, Attribute("old_name")]`.

Source: developer guide, "Working with items and attributes": tables have no schema beyond their keys, so that
nothing in them changes with the program.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.diff.comparison import Comparison

RULE = Rule("KP912", "stored-items-lack-field", ("error",))


def check(comparison: Comparison) -> Iterator[Finding]:
    """Fields that stored items do not have, and cannot be read without, or not with their values."""
    for change in comparison.of("field lacking"):
        fix = "give it a default or keep its attribute, rewrite the stored items, and require it then"
        yield Finding(RULE.code, "error", change.subject, change.what, fix, change.place, change.other)
