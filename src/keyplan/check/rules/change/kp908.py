"""Values, fields or entities are gone, and stored items may have them

A value that a type no longer allows, a limit that is narrower, a validator that is new: what was stored under the
old declaration does not go through the new one, and reading such an item fails. A field that is gone stays in the
items that have it, is dropped by the next write of the whole item, and is billed until then. The items of an entity
that is gone stay altogether.

Stop writing such values, look for the items that have them (an export, or a scan with a filter), rewrite these, and
narrow the type then. Where the old design declares the share of each value, `distinct={"state": {"open": 0.1, ...}}`,
`keyplan diff` says how many items have one that is gone.

Source: developer guide, "Working with items and attributes": tables have no schema beyond their keys, so that
nothing in them changes with the program.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.diff.changes import Change
from keyplan.diff.comparison import Comparison

RULE = Rule("KP908", "stored-values-dropped", ("warning",))


def check(comparison: Comparison) -> Iterator[Finding]:
    """What stored items may have, and the new design does not know."""
    for change in comparison.of("values narrowed", "field removed", "entity removed"):
        yield Finding(RULE.code, "warning", change.subject, change.what, _fix(change), change.place, change.other)


def _fix(change: Change) -> str:
    if change.kind == "entity removed":
        return "delete its items, or keep the entity declared until they have expired"
    if change.kind == "field removed":
        return "remove the attribute from stored items, or keep the field until nothing writes it"
    return "rewrite the items that have such values while the old type still allows them, and narrow it then"
