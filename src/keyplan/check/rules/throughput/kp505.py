"""A peak that a new on-demand table does not serve at once

On-demand tables and their indexes grow with their load, from a floor: a new one serves 4,000 write units and
12,000 read units a second at once, and about double its previous peak after that. A launch, an import or a
morning rush above the floor is throttled for minutes while partitions are added.

It is found where the declared peak of a table or index is above its warm floor and more than twice its average.

Raise the floor before the rush with warm throughput, and say so in the design: `OnDemand(warm_write=...)`. Or let
the load rise over half an hour, or spread imports over time.

Source: developer guide, "On-demand capacity mode" and "Understanding DynamoDB warm throughput".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.capacity import parts_of
from keyplan.check.finding import Finding
from keyplan.check.load import number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.workload import OnDemand

RULE = Rule("KP505", "cold-on-demand-peak", ("warning",))
_GROWTH = 2


def check(subject: Subject) -> Iterator[Finding]:
    """Peaks above the floor that averages do not prepare."""
    for part in parts_of(subject):
        billing = part.table.schema.billing
        if not isinstance(billing, OnDemand):
            continue
        warm_read, warm_write = billing.served
        told = [("write", part.write, part.peak_write, warm_write), ("read", part.read, part.peak_read, warm_read)]
        for what, average, peak, floor in told:
            if peak > floor and peak > _GROWTH * average:
                yield Finding(
                    RULE.code,
                    "warning",
                    part.name,
                    f"{part.where} takes {number(peak)} {what} units a second at the peak and {number(average)} on"
                    f" average; on demand it serves {floor:,} at first, and double the previous peak after that",
                    f"buy warm throughput for the peak and declare it: OnDemand(warm_{what}={int(peak):_})",
                    part.place,
                )
