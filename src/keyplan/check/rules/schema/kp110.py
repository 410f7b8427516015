"""A value is nested deeper than 32 levels

Lists and maps may lie in one another 32 levels deep; the write of a deeper value is refused. Hardly any type
declares so many levels, but a model that holds itself (a comment with replies, a folder with folders) has no
end, and its depth is decided by whoever sends the data.

Store such trees flat: an item for each node, with its parent's id or its path in the key, so that one query
reads a branch.

Source: developer guide, "Quotas in Amazon DynamoDB", nested attribute depth.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.item_bytes import nesting
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP110", "nesting", ("error", "warning"))


def check(subject: Subject) -> Iterator[Finding]:
    """Fields whose types are too deep, or have no end."""
    for _, entity in subject.entities:
        for name, stored in entity.fields.items():
            levels = nesting(stored.info.annotation)
            if levels is not None and levels <= limits.NESTING_LEVELS:
                continue
            deep = "has no end of levels" if levels is None else f"has {levels} levels"
            yield Finding(
                RULE.code,
                "warning" if levels is None else "error",
                entity.name,
                f"{entity.name}.{name} {deep} of lists and maps in one another, and a value may have"
                f" {limits.NESTING_LEVELS}",
                "store an item for each node, with its parent or its path in the key",
                entity.place.at(f"{name}: "),
            )
