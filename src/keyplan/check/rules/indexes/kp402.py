"""No pattern reads an index

Every item in an index is written and stored a second time. An index that nothing reads only costs, and may
throttle the table's writes. Global indexes can be added to a living table later, so there is no need to keep
one in reserve.

Drop it, or declare the pattern that reads it.

Source: developer guide, "Best practices for using secondary indexes in DynamoDB".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import monthly_price, units_a_second
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP402", "unused-index", ("advice",))


def check(subject: Subject) -> Iterator[Finding]:
    """Indexes without readers, in tables of which patterns are declared."""
    for table, index in subject.indexes:
        if not table.patterns or subject.readers_of(table, index):
            continue
        written = units_a_second(subject.works, table.schema, index.name)
        cost = f", for ${monthly_price(written):,.2f} a month of writes" if written else ""
        yield Finding(
            RULE.code,
            "advice",
            index.name,
            f"no pattern of table {table.name} reads index {index.name}{cost}",
            "drop it, or declare the pattern that reads it",
            index.place,
            table.schema.place,
        )
