"""Rules: projections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyplan.check.finding import Finding, number
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected, fetches
from keyplan.design.conditions.conditions import paths_of
from keyplan.design.conditions.evaluation import stated_values
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.entities import EntitySpec
from keyplan.design.planning.indexes import fetched_attributes, missing_in_plan, projection_fix
from keyplan.design.planning.plan import Plan
from keyplan.design.schema import Index


@design_rule("KP306", "error", "warning")
def attribute_not_projected(subject: Subject) -> Iterator[Finding]:
    """An index lacks what is read from it

    A query of a global index returns what the index projects, and nothing else: it cannot fetch from the table. If a
    required field is missing, the item cannot come back as its entity, so the pattern is refused. If an optional field
    is missing, it comes back as None although the table holds a value; not so where the index's own `when` says that
    its items have none, or the default. No index, global or local, can be filtered by an attribute that it lacks: the
    service refuses such a query, and to a scan the attribute is absent. Where the design does not say what an index
    projects, none of this can be told.

    A pattern that needs only projected fields reads a view, and is not reported:

        @app.view(Task)
        class TaskTitle(Entity):  # the key fields, and some others
            id: UUID
            title: str

        @app.query(TaskTitle, index="by_owner")

    Otherwise add the attributes to `project=[...]`, project all, or read the items by key after the query.

    Source: developer guide, "Using Global Secondary Indexes in DynamoDB", attribute projections.
    """
    yield from subject.errors_of(attribute_not_projected.code)
    for table, index in subject.indexes:
        readers = subject.readers_of(table, index)
        if index.kind != "GSI" or not readers:
            continue
        if index.project is None:
            yield attribute_not_projected.finding(
                index.name,
                f"the design does not say what index {index.name} projects, and {readers[0].name} reads it: an index"
                " returns nothing that it does not hold",
                'say it: project="all", "keys", or a list of attributes',
                index.place,
                readers[0].place,
                severity="warning",
            )
        for pattern in readers:
            yield from _missing_attributes(pattern, pattern.plan, index)


def _missing_attributes(pattern: Pattern[..., Any], plan: Plan, index: Index) -> Iterator[Finding]:
    if plan.select == "count":
        return
    for entity in plan.entities:
        needed = {path.field for path in paths_of(plan.filter)}
        needed |= {name for name, stored in entity.fields.items() if stored.info.is_required()}
        no_loss = needed | _read_as_default(entity, index)
        empty = [name for name in missing_in_plan(plan, entity) if name not in no_loss]
        if empty:
            yield attribute_not_projected.finding(
                pattern.name,
                f"{pattern.name} reads {entity.name} from index {index.name}, which lacks {', '.join(empty)}: they come"
                " back as if the item had none",
                projection_fix(index, [entity.fields[name].attribute for name in empty]),
                pattern.place,
                index.place,
                severity="warning",
            )


def _read_as_default(entity: EntitySpec, index: Index) -> set[str]:
    """Fields that every item in an index lacks, or has at their default: what is not there is read as that."""
    told = [stated_values(bound.when, entity.fields) for bound in entity.indexes if bound.index is index]
    return {
        name
        for fields in told
        for name, value in fields.items()
        if value is None or value == entity.fields[name].info.default
    }


@design_rule("KP307", "warning")
def local_index_fetch(subject: Subject) -> Iterator[Finding]:
    """A local index fetches every item from the table

    A query of a local secondary index may ask for attributes that it does not project. The service then reads each
    item from the table as well, a whole item and at least half a read unit apiece, instead of summing the sizes of
    a page and rounding once: forty entries of 100 bytes cost 0.5 units by themselves and 20 more with the fetches.

    Project what the query returns, or ask for less.

    Source: developer guide, "Local Secondary Indexes", fetches from the table.
    """
    for _, pattern, plan in subject.patterns:
        lacking = fetched_attributes(plan)
        if plan.index is not None and lacking:
            told = expected(pattern)
            more = fetches(plan, told.evaluated)
            yield local_index_fetch.finding(
                pattern.name,
                f"{pattern.name} needs {', '.join(lacking)}, which local index {plan.index.name} lacks: about"
                f" {number(told.evaluated)} fetches a call, {number(more)} read units on top of"
                f" {number(told.units.read - more)}",
                f"project {', '.join(lacking)}, or all",
                pattern.place,
                plan.index.place,
            )
