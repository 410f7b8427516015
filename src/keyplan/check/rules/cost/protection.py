"""Rules: protection."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.relations import always_expires
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.prices import GB

_MANY_ITEMS = 100_000


@design_rule("KP806", "warning")
def no_point_in_time_recovery(subject: Subject) -> Iterator[Finding]:
    """A large table without point-in-time recovery

    A wrong deployment can empty a table in minutes. Point-in-time recovery brings back any second of the last 35 days,
    as a new table. Without it there is what was backed up by hand, if anything.

    Declare `point_in_time_recovery=True`. It is said of tables with 100,000 items and more, unless all of them expire.

    Source: developer guide, "Point-in-time backups for DynamoDB".
    """
    for table, cost in zip(subject.tables, subject.month.tables, strict=True):
        lasting = [
            entity.items.count for entity in table.entities if entity.items is not None and not always_expires(entity)
        ]
        if table.schema.point_in_time_recovery or sum(lasting) < _MANY_ITEMS:
            continue
        price = cost.recovered_bytes / GB * subject.book["point_in_time_gb_month"]
        yield no_point_in_time_recovery.finding(
            table.name,
            f"table {table.name} holds {sum(lasting):,} items and has no point-in-time recovery: what a wrong"
            f" deployment deletes is gone; it costs ${price:,.2f} a month (prices of {subject.book.region},"
            f" {subject.book.dated})",
            "declare point_in_time_recovery=True",
            table.schema.place,
        )


@design_rule("KP807", "advice")
def no_deletion_protection(subject: Subject) -> Iterator[Finding]:
    """A large table that one call deletes

    A table without deletion protection is gone after one DeleteTable, from a script that ran in the wrong account or a
    stack that was renamed. The protection costs nothing and is switched off by hand when it must be.

    Declare `deletion_protection=True`. It is said of tables with 100,000 items and more.

    Source: developer guide, "Using deletion protection to protect your table".
    """
    for table in subject.tables:
        items = sum(entity.items.count for entity in table.entities if entity.items is not None)
        if items >= _MANY_ITEMS and not table.schema.deletion_protection:
            yield no_deletion_protection.finding(
                table.name,
                f"table {table.name} holds {items:,} items, and one call deletes it",
                "declare deletion_protection=True",
                table.schema.place,
            )
