"""A list, and then a read for each of its members

The declared rates say that items are read one by one about as often as a list of them returns entries, and the
list holds less than the items: an index that projects keys, or entities that only point to them. So the program
lists, and then gets each. Every get costs at least half a read unit and a round trip, while a query sums sizes
before it rounds: forty items of 100 bytes cost 0.5 units by one query and 20 by gets. Found of lists of five entries
and more, where the gets are as often as these, give or take a fifth.

An entity points to another by a field of the same name and type; one that is only called `id` is its own. Nothing is
found where nothing tells how many entries are listed, or where a pattern reads the items in batches.

Project what is shown into the index, keep the items in one collection so that one query returns them, or read
them in one batch.

Source: developer guide, "Read and write capacity", and "Best practices for querying and scanning data".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyplan.check.finding import Finding
from keyplan.check.load import number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected
from keyplan.cost.selectivity import same_field
from keyplan.design.entities import EntitySpec
from keyplan.design.patterns import Pattern
from keyplan.design.plan import Plan

RULE = Rule("KP312", "list-then-get", ("warning",))
_FEW = 5
_NEAR = 0.2


def check(subject: Subject) -> Iterator[Finding]:
    """Gets whose rate is that of a query which lists them, times what it returns."""
    for table in subject.tables:
        lists = [one for one in table.patterns if one.plan.operation == "Query" and one.plan.select == "all"]
        in_batches = {one.plan.entity for one in table.patterns if one.plan.operation == "BatchGetItem"}
        for one in table.patterns:
            if one.plan.operation != "GetItem" or one.facts.rate is None or one.plan.entity in in_batches:
                continue
            listed = next((many for many in lists if _leads_to(many, one, one.facts.rate.average)), None)
            if listed is not None and listed.facts.rate is not None:
                yield Finding(
                    RULE.code,
                    "warning",
                    one.name,
                    f"{one.name} is called {number(one.facts.rate.average)} times a second, about once for each of the"
                    f" {number(expected(listed).returned)} entries that {listed.name} lists"
                    f" {number(listed.facts.rate.average)} times a second",
                    "project what is shown into what is listed, or read the members in one batch",
                    one.place,
                    listed.place,
                )


def _leads_to(many: Pattern[..., Any], one: Pattern[..., Any], gets: float) -> bool:
    """Whether a list holds too little of what is got, and is called so often that each entry is got once."""
    wanted, rate = one.plan.entity, many.facts.rate
    index = many.plan.index
    if wanted in many.plan.entities:
        points = index is not None and (index.project == "keys" or isinstance(index.project, tuple))
    else:
        needed = set(wanted.key.fields)
        points = not needed <= _given(many.plan) and any(_points(entity, wanted) for entity in many.plan.entities)
    if not points or rate is None:
        return False
    told = expected(many)
    listed = rate.average * told.returned
    return told.is_counted and told.returned >= _FEW and abs(gets - listed) <= _NEAR * listed


def _points(entity: EntitySpec, wanted: EntitySpec) -> bool:
    """Whether an entity names the key of another: a field that is only called id is its own."""
    return all(name != "id" and same_field(entity, wanted, name) for name in wanted.key.fields)


def _given(plan: Plan) -> set[str]:
    """Fields that are the same in all that a query returns."""
    if plan.key is None:
        return set()
    return {name for value in plan.key.partition for name in value.sources}
