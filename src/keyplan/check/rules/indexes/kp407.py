"""An index can hold back the table's writes

A write is accepted only if every index can take its part. On a provisioned table each global index has capacity
of its own: one that is bought too small throttles writes of the table, although the table itself has capacity to
spare.

Declare `GSI(..., billing=Provisioned(read=..., write=...))` with at least what the patterns write to the index at
their peak, or as much as the table where that is not known. (An index that declares none at all is KP511's.)

Source: developer guide, "Understanding global secondary index (GSI) write throttling and back pressure".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import number, units_a_second
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.schema import Index
from keyplan.design.tables import Table
from keyplan.design.workload import Provisioned

RULE = Rule("KP407", "index-back-pressure", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Global indexes of provisioned tables with less capacity than is written to them."""
    for table, index in subject.indexes:
        billing = table.schema.billing
        if index.kind != "GSI" or not isinstance(billing, Provisioned):
            continue
        needed = units_a_second(subject.works, table.schema, index.name, peak=True)
        problem = _problem(table, index, billing, needed)
        if problem:
            write = max(billing.write, int(needed) + 1)
            yield Finding(
                RULE.code,
                "warning",
                index.name,
                problem,
                f"declare billing=Provisioned(read=..., write={write}) of the index",
                index.place,
                table.schema.place,
            )


def _problem(table: Table, index: Index, billing: Provisioned, needed: float) -> str:
    if index.billing is None:
        return ""
    if needed > index.billing.write:
        return (
            f"patterns write {number(needed)} units a second to index {index.name} at their peak, and it has"
            f" {index.billing.write}: the table's writes are throttled"
        )
    if not needed and index.billing.write < billing.write:
        return (
            f"index {index.name} has {index.billing.write} write units and table {table.name} {billing.write}, and no"
            " rates say that less is enough"
        )
    return ""
