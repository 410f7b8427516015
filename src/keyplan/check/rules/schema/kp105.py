"""A large item is rewritten often

A write is billed for the whole item, not for what it changes: setting one flag of a 100 KB item costs 100
write units, and the same again in every index that projects what changed. Above 100 KB, rates that look small
use up a partition, which takes 1,000 write units a second. Found from 25 write units a second on, some forty
dollars a month.

Keep what changes in a small item of its own (the counter, the status, the version), next to the large one in
the same item collection, so that one query still reads both.

Source: developer guide, "Read and write capacity"; "Best practices for storing large items and attributes".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import NOTABLE_UNITS, monthly_price, number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.sizes import item_size

RULE = Rule("KP105", "large-item-rewritten", ("warning",))
LARGE_BYTES = 100 * 1024


def check(subject: Subject) -> Iterator[Finding]:
    """Updates of items over 100 KB whose declared rate makes them costly."""
    for work in subject.works:
        plan, rate = work.plan, work.rate
        rewrites = plan.operation == "UpdateItem" or (plan.operation == "PutItem" and plan.exists != "must_not")
        if not rewrites or rate is None:
            continue
        size = item_size(plan.entity)
        per_second = work.units.written * rate.average
        if size.declared and size.average > LARGE_BYTES and per_second >= NOTABLE_UNITS:
            yield Finding(
                RULE.code,
                "warning",
                work.pattern.name,
                f"{work.pattern.name} rewrites {plan.entity.name}, {size.average:,} bytes on average,"
                f" {number(rate.average)} times a second: {number(work.units.written)} write units each,"
                f" ${monthly_price(per_second):,.0f} a month",
                "keep what changes in a small item beside it",
                work.pattern.place,
                plan.entity.place,
            )
