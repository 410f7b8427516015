"""A large table that one call deletes

A table without deletion protection is gone after one DeleteTable, from a script that ran in the wrong account or a
stack that was renamed. The protection costs nothing and is switched off by hand when it must be.

Declare `deletion_protection=True`. It is said of tables with 100,000 items and more.

Source: developer guide, "Using deletion protection to protect your table".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP807", "no-deletion-protection", ("advice",))
_MANY = 100_000


def check(subject: Subject) -> Iterator[Finding]:
    """Unprotected tables with many items."""
    for table in subject.tables:
        items = sum(entity.items.count for entity in table.entities if entity.items is not None)
        if items >= _MANY and not table.schema.deletion_protection:
            yield Finding(
                RULE.code,
                "advice",
                table.name,
                f"table {table.name} holds {items:,} items, and one call deletes it",
                "declare deletion_protection=True",
                table.schema.place,
            )
