"""An index key changes with every call

When a key of an index changes, the service deletes the old entry and writes a new one: two index writes for one
write of the table, of the whole entry each. For a status that changes three times in an item's life that is
nothing; for points, counters and `updated_at` it is most of the bill, and a limit on the rate: all entries with
one partition key share 1,000 write units a second.

Keep such a field out of index keys: order by it in the program, write a snapshot for the list now and then, or
split the index key over shards.

Source: developer guide, "Using Global Secondary Indexes in DynamoDB", write throughput considerations.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import NOTABLE_UNITS, Work, monthly_price, number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import entries_written
from keyplan.design.keys import BoundIndexKey

RULE = Rule("KP405", "mutable-index-key", ("warning", "advice"))


def check(subject: Subject) -> Iterator[Finding]:
    """Updates that move index entries: a warning from what the rate costs, advice where no rate is declared."""
    for work in subject.works:
        if work.plan.operation != "UpdateItem":
            continue
        changed = {action.path.field for action in work.plan.actions}
        for bound, entries in entries_written(work.plan):
            moved = [name for name in bound.fields if name in changed]
            if moved and entries > 1:  # else one comes or goes, or none is there
                yield from _moves(work, bound, moved)


def _moves(work: Work, bound: BoundIndexKey, moved: list[str]) -> Iterator[Finding]:
    units, rate = work.units.indexes.get(bound.index.name, 0.0), work.rate
    problem = (
        f"{work.pattern.name} changes {', '.join(moved)}, a part of the key of index {bound.index.name}: each call"
        f" deletes and writes an entry, {number(units)} units beside {number(work.units.write)} of the table"
    )
    fix = f"keep {', '.join(moved)} out of the index key, or accept it where calls are few"
    if rate is None:
        yield Finding(RULE.code, "advice", work.pattern.name, problem, fix, work.pattern.place, bound.place)
    elif units * rate.average >= NOTABLE_UNITS:
        yield Finding(
            RULE.code,
            "warning",
            work.pattern.name,
            f"{problem}, ${monthly_price(units * rate.average):,.0f} a month at {number(rate.average)} calls a second",
            fix,
            work.pattern.place,
            bound.place,
        )
