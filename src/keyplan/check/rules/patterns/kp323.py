"""A query for the one item that a get reads

Where an entity's sort key is one text, or the table has none, its partition key names one item; elsewhere partition and
sort key together do. A query for it gives a page with at most one result, reads whatever else lies in the partition if
the sort key is not said, and cannot be part of a batch. A get is one read of one item, and `consistent=True` makes it
right after a write. Through an index that has the same fields the other way round the query lags behind the table too.

Declare it with `@table.get` and `key_of(...)`.

Source: API reference, GetItem and Query; developer guide, "DynamoDB read consistency".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.check.wording import a
from keyplan.design.keys import KeyAttribute
from keyplan.design.plan import KeyValue, Plan

RULE = Rule("KP323", "query-for-one-item", ("advice",))


def check(subject: Subject) -> Iterator[Finding]:
    """Queries that name every field of an item's primary key."""
    for _, pattern, plan in subject.patterns:
        single = len(plan.entities) == 1 and plan.select == "all"
        if plan.operation != "Query" or not single or plan.walk is not None or plan.faults:
            continue
        key = plan.entity.key
        if key.fields and set(key.fields) <= _named(plan):
            yield Finding(
                RULE.code,
                "advice",
                pattern.name,
                f"{pattern.name} queries for {a(plan.entity.name)}, of which there is one for each"
                f" {', '.join(key.fields)}: a get reads it, alone and consistently if it must",
                f"use @table.get(...) and key_of({', '.join(f'{name}=...' for name in key.fields)})",
                pattern.place,
                key.place,
            )


def _named(plan: Plan) -> set[str]:
    """Fields that a query pins to one value each, of a table or of an index that holds the same items whole."""
    bound = plan.entity.key_in(plan.index)
    if bound is None or plan.key is None or bound.when is not None:
        return set()
    if plan.index is not None and plan.index.project not in {"all", None}:
        return set()
    equal = [*plan.key.partition, *(one.low for one in plan.key.sort if one.op == "=")]
    given = {value.attribute: value for value in equal if value.part == "whole"}
    named = [part for part in bound.attributes if part.attribute in given and _is_of(given[part.attribute], part)]
    if plan.index is None and len(named) == len(bound.attributes):
        return set(bound.fields)
    lossy = {
        hole.name for part in named if part.template for hole in part.template.holes if not hole.encoding.reversible
    }
    return {name for part in named for name in part.fields} - lossy


def _is_of(value: KeyValue, part: KeyAttribute) -> bool:
    """Whether a value is made as the entity makes it, and not by a text that is written out otherwise."""
    return part.template is None or (value.template is not None and value.template.text == part.template.text)
