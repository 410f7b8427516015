"""Rules for the protection of large tables."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.relations import always_expires
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.prices import GB
from keyplan.design.declaring.tables import Table

_MANY_ITEMS = 100_000


@design_rule("KP806", "warning")
def no_point_in_time_recovery(subject: Subject) -> Iterator[Finding]:
    """Table has no point-in-time recovery

    Finds tables that have at least 100,000 non-expiring items but no point-in-time recovery. All such tables are
    reported in one finding.

    Why is this bad? A faulty deployment can empty a table in minutes. Point-in-time recovery restores the state at any
    second of the last 35 days into a new table. Without point-in-time recovery, a table can only be restored from
    manual backups.

    Fix: declare `point_in_time_recovery=True`.

    Source: developer guide, "Point-in-time backups for DynamoDB".
    """
    for table, cost in zip(subject.tables, subject.estimate.tables, strict=True):
        permanent_items = sum(
            entity.volume.count for entity in table.entities if entity.volume is not None and not always_expires(entity)
        )
        if table.schema.point_in_time_recovery or permanent_items < _MANY_ITEMS:
            continue
        items = _items_text(table)
        price = cost.recovered_bytes / GB * subject.book["point_in_time_gb_month"]
        yield no_point_in_time_recovery.finding(
            table.name,
            f"a wrong deployment can delete {items}: it has no"
            f" point-in-time recovery, which costs ${price:,.2f} per month (prices of"
            f" {subject.book.region}, {subject.book.dated})",
            "declare point_in_time_recovery=True",
            table.schema.place,
            item=items,
        )


@design_rule("KP807", "advice")
def no_deletion_protection(subject: Subject) -> Iterator[Finding]:
    """Table has no deletion protection

    Finds tables that have at least 100,000 items but no deletion protection. All such tables are reported in one
    finding.

    Why is this bad? A single DeleteTable call deletes a table with all its items. A script that runs in the wrong
    account or a renamed stack can cause such a call. Deletion protection is free and can be disabled at any time.

    Fix: declare `deletion_protection=True`.

    Source: developer guide, "Using deletion protection to protect your table".
    """
    for table in subject.tables:
        if _items_of(table) >= _MANY_ITEMS and not table.schema.deletion_protection:
            items = _items_text(table)
            yield no_deletion_protection.finding(
                table.name,
                f"one DeleteTable call deletes {items}",
                "declare deletion_protection=True",
                table.schema.place,
                item=items,
            )


def _items_of(table: Table) -> int:
    """Return the declared number of items in a table."""
    return sum(entity.volume.count for entity in table.entities if entity.volume is not None)


def _items_text(table: Table) -> str:
    return f"the {_items_of(table):,} items of table {table.name}"
