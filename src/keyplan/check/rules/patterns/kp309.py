"""A query has no end

A query without a limit goes on to the end of its partition: what was three items in the test is a thousand
pages in the third year. By the declared numbers there is more than a page to read (1 MB, 128 read units when
eventually consistent); or it reads a partition that all items share, whose size nothing bounds.

Give it `limit=` or `page_size=`, and go on with the cursor; ask for a range of the sort key; or split the
partition by something that grows with the data, such as the month. How much a range holds is not guessed, but taken
to be all: `returns=` says it.

Source: developer guide, "Paginating table query results"; "Best practices for querying and scanning data".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan import limits
from keyplan.check.finding import Finding
from keyplan.check.load import number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected
from keyplan.cost.sizes import read_size
from keyplan.design.plan import Plan
from keyplan.design.symbols import CALLED

RULE = Rule("KP309", "unbounded-result", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Queries without a limit that read more than a page, or a partition that everything shares."""
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.limit or plan.page_size or plan.select == "count" or plan.faults:
            continue
        told = expected(pattern)
        read = told.evaluated * _bytes(plan)
        if told.is_counted and read > limits.PAGE_BYTES:
            problem = (
                f"{pattern.name} has no limit, and {number(told.evaluated)} items to read, {read / 1e6:,.1f} MB for"
                f" {number(told.units.read)} read units to the end"
            )
        elif not told.is_counted and pattern.facts.returns is None and _is_one_partition(plan):
            problem = f"{pattern.name} reads one partition for every call, however many {plan.entity.name} are in it"
        else:
            continue
        yield Finding(
            RULE.code,
            "warning",
            pattern.name,
            problem,
            "set limit= or page_size= and go on with the cursor, or "
            + ("declare returns= with what the range holds" if _is_range(plan) else "ask for a range of the sort key"),
            pattern.place,
            plan.entity.place,
        )


def _is_range(plan: Plan) -> bool:
    return plan.key is not None and any(one.op not in {"=", "begins_with"} for one in plan.key.sort)


def _bytes(plan: Plan) -> float:
    sizes = [read_size(entity, plan.index).average for entity in plan.entities]
    return sum(sizes) / len(sizes)


def _is_one_partition(plan: Plan) -> bool:
    """Whether the partition key is one text for every call, and no field of the sort key is given."""
    if plan.key is None:
        return False
    sources = [source for value in plan.key.partition for source in value.sources.values()]
    fixed = not any(isinstance(source, CALLED) for source in sources)
    return fixed and not any(one.low.sources or one.high is not None for one in plan.key.sort)
