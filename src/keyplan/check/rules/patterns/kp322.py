"""A filter does what an index is there for

A filter drops items that were read and paid for. Where the design already has an index whose key begins with the
field that is filtered by, under the same partition, the same question asked there reads only what it returns.

Ask the index: `index="..."`, with the field in `pk(...)` or `sk(...)`. Mind that a global index lags a moment behind
the table; where the answer must show a write just made, the filter may be right.

Source: developer guide, "Querying tables in DynamoDB" (a filter is applied after the read) and "Best practices for
using secondary indexes".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import partition_fields
from keyplan.design.conditions import equal_fields
from keyplan.design.keys import BoundIndexKey
from keyplan.design.plan import Plan

RULE = Rule("KP322", "filter-that-an-index-serves", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Filters for one value of a field that begins the key of another index."""
    for _, pattern, plan in subject.patterns:
        if plan.operation not in {"Query", "Scan"} or plan.consistent or len(plan.entities) > 1:
            continue
        found = _better(plan)
        if found is not None:
            field, bound = found
            yield Finding(
                RULE.code,
                "warning",
                pattern.name,
                f"{pattern.name} reads a whole range and filters by {field}, and index {bound.index.name}"
                f" ({bound.text}) finds the same items by their key",
                f'declare index="{bound.index.name}" and put {field} into the key condition',
                pattern.place,
                bound.place,
            )


def _better(plan: Plan) -> tuple[str, BoundIndexKey] | None:
    asked = equal_fields(plan.filter)
    known = partition_fields(plan, plan.entity)
    for bound in plan.entity.indexes:
        if bound.when is not None or bound.index is plan.index:
            continue
        partition = [name for part in bound.partition for name in part.fields]
        leading = [*partition, *(bound.sort[0].fields[:1] if bound.sort else ())]
        used = [name for name in leading if name in asked]
        if used and partition and all(name in known or name in asked for name in partition) and known <= set(leading):
            return used[0], bound
    return None
