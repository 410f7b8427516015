"""Rules for attributes that an index does not project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyplan.check.finding import Finding, number
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected, fetch_read_units
from keyplan.design.conditions.conditions import paths_of
from keyplan.design.conditions.evaluation import stated_values
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.entities import EntitySpec
from keyplan.design.planning.indexes import fetched_attributes, missing_in_plan, projection_fix
from keyplan.design.planning.plan import Plan
from keyplan.design.schema import Index


@design_rule("KP306", "error", "warning", conflicts=True)
def attribute_not_projected(subject: Subject) -> Iterator[Finding]:
    """Index does not project an attribute that is read

    Finds patterns that read an index and need attributes that the index does not project. The finding is an error for
    required fields and filters, and a warning for optional fields. An optional field is not reported if a condition on
    the index key (`only_if`) states that items in the index do not have this field. Also finds indexes that patterns
    read but whose projection is not declared.

    Why is this bad? A query on a global index returns only projected attributes. Without a required field, the item
    cannot be returned as its entity. A missing optional field is returned as None although the item in the table has a
    value. A query on an index cannot filter by an attribute that the index does not project.

    Fix: add the attributes to `project=[...]`, or project all. A pattern that needs only projected fields can return a
    view. A pattern that needs whole items can read them by key after the query with `hydrate=True`, with one additional
    read per item:

        class TaskTitle(View[Task]):  # the key fields, and some others
            id: UUID
            title: str

        @app.query(TaskTitle, index="by_owner")

        @app.query(Task, index="by_owner", hydrate=True)

    Source: developer guide, "Using Global Secondary Indexes in DynamoDB" (attribute projections).
    """
    yield from subject.errors_of(attribute_not_projected.code)
    for table, index in subject.indexes:
        readers = subject.readers_of(table, index)
        if index.kind != "GSI" or not readers:
            continue
        if index.project is None:
            yield attribute_not_projected.finding(
                index.name,
                f"{readers[0].name} may miss attributes of index {index.name}: the design does not declare"
                " what the index projects",
                'declare it: project="all", "keys", or a list of attributes',
                index.place,
                readers[0].place,
                severity="warning",
                item=f"index {index.name}",
                cause="undeclared",
            )
        for pattern in readers:
            yield from _missing_attributes(pattern, pattern.plan, index)


def _missing_attributes(pattern: Pattern[..., Any], plan: Plan, index: Index) -> Iterator[Finding]:
    if plan.select == "count":
        return
    for entity in plan.entities:
        needed = {path.field for path in paths_of(plan.filter)}
        needed |= {name for name, field in entity.fields.items() if field.info.is_required()}
        harmless = needed | _read_as_default(entity, index)
        lost = [name for name in missing_in_plan(plan, entity) if name not in harmless]
        if lost:
            yield attribute_not_projected.finding(
                pattern.name,
                f"{pattern.name} reads {entity.name} from index {index.name}, which does not project"
                f" {', '.join(lost)}: they are returned as if the item did not have them",
                projection_fix(index, [entity.fields[name].attribute for name in lost]),
                pattern.place,
                index.place,
                severity="warning",
            )


def _read_as_default(entity: EntitySpec, index: Index) -> set[str]:
    """Return the fields that are missing or have their default value in every item of an index."""
    conditions = [stated_values(bound.only_if, entity.fields) for bound in entity.indexes if bound.index is index]
    return {
        name
        for fields in conditions
        for name, value in fields.items()
        if value is None or value == entity.fields[name].info.default
    }


@design_rule("KP307", "warning")
def local_index_fetch(subject: Subject) -> Iterator[Finding]:
    """Query on a local index fetches every item from the table

    Finds queries on a local secondary index if the index does not project all attributes that the query needs.

    Why is this bad? For such a query, DynamoDB also reads each whole item from the table, which uses at least half a
    read unit per item. The query itself is billed for the total size of the items on a page, but each fetch is rounded
    up: a query for forty items of 100 bytes uses 0.5 read units, and fetching the items adds 20 read units.

    Fix: project the attributes that the query returns, or request fewer attributes.

    Source: developer guide, "Local Secondary Indexes" (fetches from the table).
    """
    for _, pattern, plan in subject.patterns:
        missing = fetched_attributes(plan)
        if plan.index is not None and missing:
            estimate = expected(pattern)
            fetch_units = fetch_read_units(plan, estimate.evaluated)
            yield local_index_fetch.finding(
                pattern.name,
                f"{pattern.name} pays for about {number(estimate.evaluated)} fetches per call,"
                f" {number(fetch_units)} read"
                f" units on top of {number(estimate.units.read - fetch_units)}: local index {plan.index.name} does not"
                f" project {', '.join(missing)}",
                f"project {', '.join(missing)}, or all attributes",
                pattern.place,
                plan.index.place,
            )
