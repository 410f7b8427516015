"""Entities in one table that need different care

Stream, expiry, recovery, capacity and class belong to the table, so everything in it gets the same. Clicks that are
written a thousand times as often as orders make recovery and the stream of the orders' table as expensive as
their own, and an accident with one is an accident with both.

It is found where a table with a stream or point-in-time recovery takes more than ten times as many writes of
entities that expire as of entities that stay, and ten of them a second.

Give what is written much and kept briefly a table of its own. Transactions and reads work across tables.

Source: developer guide, "Data modeling foundations in DynamoDB" (multi-table design).
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.expiry import always_expires
from keyplan.check.finding import Finding
from keyplan.check.load import number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.tables import Table

RULE = Rule("KP810", "mixed-table", ("warning",))
_TIMES, _NOTABLE = 10, 10.0


def check(subject: Subject) -> Iterator[Finding]:
    """Tables in which passing items outnumber lasting ones, in writes a second."""
    for table in subject.tables:
        if table.schema.stream is None and not table.schema.point_in_time_recovery:
            continue
        passing, lasting = _writes(subject, table, expiring=True), _writes(subject, table, expiring=False)
        if lasting and passing >= _NOTABLE and passing > _TIMES * lasting:
            names = ", ".join(entity.name for entity in table.entities if always_expires(entity))
            care = "stream" if table.schema.stream is not None else "point-in-time recovery"
            yield Finding(
                RULE.code,
                "warning",
                table.name,
                f"table {table.name} takes {number(passing)} writes a second of {names}, which expire, and"
                f" {number(lasting)} of everything else: its {care} is for the few and paid for the many",
                f"give {names} a table of its own; transactions and reads work across tables",
                next(entity.place for entity in table.entities if always_expires(entity)),
                table.schema.place,
            )


def _writes(subject: Subject, table: Table, *, expiring: bool) -> float:
    return sum(
        work.rate.average
        for work in subject.works
        if work.rate is not None
        and not work.plan.reading
        and work.plan.schema is table.schema
        and always_expires(work.plan.entity) is expiring
    )
