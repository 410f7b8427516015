"""An index of a provisioned table without capacity of its own

On a table whose capacity is provisioned, every global index has read and write units of its own. A table cannot
be created without them, and what is bought for the table does not serve its indexes.

An index needs at least the write units of the writes that reach it, or it holds up the table: a write is only
accepted when the table and all its indexes have room.

Declare `GSI(..., billing=Provisioned(read=..., write=...))`, or use on-demand capacity, where there is nothing to
divide.

Source: developer guide, "Using global secondary indexes: provisioned throughput considerations"; API reference,
GlobalSecondaryIndex.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.workload import Provisioned

RULE = Rule("KP511", "index-without-capacity", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Global indexes of provisioned tables that declare no capacity."""
    for table, index in subject.indexes:
        billing = table.schema.billing
        if index.kind == "GSI" and isinstance(billing, Provisioned) and index.billing is None:
            yield Finding(
                RULE.code,
                "error",
                index.name,
                f"table {table.name} is provisioned with {billing.read} read and {billing.write} write units a second,"
                f" and index {index.name} has no capacity of its own: the table cannot be created",
                f"add billing=Provisioned(read=..., write={billing.write}) to the index, or use OnDemand()",
                index.place,
                table.schema.place,
            )
