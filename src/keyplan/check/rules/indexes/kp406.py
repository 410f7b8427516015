"""One write is five

A write of an item is also a write of every index that it is in, and two where an index key changes. A create of
a small item with four indexes costs five write units, not one; so do its delete and each change of a projected
field. Documents that state "1 WCU" for it are wrong by that factor.

Let indexes be sparse (`when=`), share one index between patterns that have the same partition, project keys
only where the readers need no more, or accept the factor.

Source: developer guide, "Using Global Secondary Indexes in DynamoDB", write throughput considerations.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import monthly_price, number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP406", "index-amplification", ("warning", "advice"))
FACTOR = 5.0
"""Write units in all for each of the table: from here on the indexes are four fifths of the bill."""


def check(subject: Subject) -> Iterator[Finding]:
    """Writes whose indexes cost several times what the table does."""
    for work in subject.works:
        if work.plan.reading or not work.units.write or work.units.written < FACTOR * work.units.write:
            continue
        rate = work.rate
        per_second = f", ${monthly_price(work.units.written * rate.average):,.2f} a month" if rate is not None else ""
        parts = ", ".join(f"{name} {number(units)}" for name, units in work.units.indexes.items())
        yield Finding(
            RULE.code,
            "warning" if rate is not None else "advice",
            work.pattern.name,
            f"{work.pattern.name} costs {number(work.units.written)} write units a call, {number(work.units.write)} of"
            f" them for {work.plan.entity.name} itself and the rest for indexes ({parts}){per_second}",
            "make indexes sparse, let patterns share one, or project less",
            work.pattern.place,
            work.plan.entity.place,
        )
