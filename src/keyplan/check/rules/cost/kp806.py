"""A large table without point-in-time recovery

A wrong deployment can empty a table in minutes. Point-in-time recovery brings back any second of the last 35 days,
as a new table. Without it there is what was backed up by hand, if anything.

Declare `point_in_time_recovery=True`. It is said of tables with 100,000 items and more, unless all of them expire.

Source: developer guide, "Point-in-time backups for DynamoDB".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.expiry import always_expires
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.prices import GB

RULE = Rule("KP806", "no-point-in-time-recovery", ("warning",))
_MANY = 100_000


def check(subject: Subject) -> Iterator[Finding]:
    """Tables with many lasting items."""
    for table, cost in zip(subject.tables, subject.month.tables, strict=True):
        lasting = [
            entity.items.count for entity in table.entities if entity.items is not None and not always_expires(entity)
        ]
        if table.schema.point_in_time_recovery or sum(lasting) < _MANY:
            continue
        price = cost.recovered_bytes / GB * subject.book["point_in_time_gb_month"]
        yield Finding(
            RULE.code,
            "warning",
            table.name,
            f"table {table.name} holds {sum(lasting):,} items and has no point-in-time recovery: what a wrong"
            f" deployment deletes is gone; it costs ${price:,.2f} a month (prices of {subject.book.region},"
            f" {subject.book.dated})",
            "declare point_in_time_recovery=True",
            table.schema.place,
        )
