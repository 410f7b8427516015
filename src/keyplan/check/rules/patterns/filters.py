"""Rules for filters, which remove items from the result after they were read and billed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from math import inf
from typing import Any

from keyplan.check.finding import Finding, Severity, number
from keyplan.check.rule import design_rule, fault_rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected, items_read_for
from keyplan.cost.prices import HOURS_PER_MONTH
from keyplan.cost.selectivity import matching_share, partition_fields, stated_values
from keyplan.design.conditions.conditions import (
    AndCondition,
    CompareCondition,
    Condition,
    FieldPath,
    equal_fields,
    paths_of,
)
from keyplan.design.conditions.evaluation import holds
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.entity_keys import BoundKey
from keyplan.design.parameters import CALL_SOURCES, Source
from keyplan.design.planning.plan import Plan

_WARNING_SHARE, _ERROR_SHARE = 0.5, 0.9
_MAX_ROUNDED_SHARE = 0.99


@design_rule("KP303", "error", "warning")
def wasteful_filter(subject: Subject) -> Iterator[Finding]:
    """Filter removes most of the items that are read

    Finds queries whose filter removes more than half of the items. The finding is an error if the filter removes more
    than 90% of the items and the pattern is called at least once per second. The share of removed items is computed
    from the pattern's options (`expected_items`, `expected_scanned`) or from the values of its entity
    (`Volume(distinct={"status": {"open": 0.1, "done": 0.9}})`). Also finds filters on fields that another key of the
    entity contains, because a query by that key needs no filter. A filter on a field whose value the key condition
    already specifies is ignored, because it removes nothing. A filter is not reported if the items that it removes cost
    less than the design's `cost_floor` per month at the declared rate. Patterns that filter a table or index by the
    same field are reported in one finding.

    Why is this bad? Items that a filter removes are read and billed. They are also included in the page size of 1 MB,
    so a page can contain few items or none.

    Fix: put the filtered field at the start of the sort key or into the key of an index, or use a sparse index that
    contains only the matching items.

    Source: developer guide, "Filter expressions for the Query operation".
    """
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.faults:
            continue
        condition = _effective_filter(plan)
        if condition is None:
            continue
        removed_share = _removed_share(pattern, plan, condition)
        alternative = _alternative_key(plan, condition)
        if removed_share is not None and removed_share > _WARNING_SHARE:
            if _wasted_dollars(subject, pattern, removed_share) < subject.design.cost_floor:
                continue
            yield _waste_finding(pattern, plan, condition, removed_share, alternative)
        elif removed_share is None and alternative is not None:
            yield wasteful_filter.finding(
                pattern.name,
                f"{pattern.name} filters by {_field_names(condition)} after reading, but {_key_text(alternative)}"
                " finds these items by its key",
                f"query {_key_text(alternative)} instead: it reads only what it returns",
                pattern.place,
                alternative.place,
                severity="warning",
            )


def _wasted_dollars(subject: Subject, pattern: Pattern[..., Any], removed: float) -> float:
    """Return the monthly cost, in dollars, of the items that a filter removes. Return infinity if the pattern has no
    rate.
    """
    rate = pattern.facts.rate
    if rate is None:
        return inf
    return expected(pattern).units.read * rate.average * removed * HOURS_PER_MONTH * 3600 * subject.book["read_unit"]


def _effective_filter(plan: Plan) -> Condition | None:
    """Return the parts of a filter that the key condition does not already imply, or None if no parts remain."""
    if plan.filter is None or len(plan.entities) > 1:
        return plan.filter
    known_values = stated_values(plan, plan.entity)
    values = {name: value for name, value in known_values.items() if not isinstance(value, CALL_SOURCES)}
    parts = plan.filter.parts if isinstance(plan.filter, AndCondition) else (plan.filter,)
    remaining = tuple(part for part in parts if not (_repeats_key(part, known_values) or holds(part, values) is True))
    if len(remaining) == len(parts):
        return plan.filter
    return AndCondition(remaining) if len(remaining) > 1 else next(iter(remaining), None)


def _repeats_key(part: Condition, known_values: Mapping[str, Source]) -> bool:
    """Return True if a part of a filter requires a value that the key condition already requires."""
    if not (isinstance(part, CompareCondition) and part.op == "=" and isinstance(part.left, FieldPath)):
        return False
    return len(part.left.parts) == 1 and part.left.field in known_values and known_values[part.left.field] is part.right


def _removed_share(pattern: Pattern[..., Any], plan: Plan, condition: Condition) -> float | None:
    facts = pattern.facts
    evaluated = facts.expected_scanned or expected(pattern).evaluated
    if facts.expected_items is not None and (facts.expected_scanned or evaluated > facts.expected_items):
        return max(0.0, 1 - facts.expected_items / evaluated)
    share = matching_share(condition, plan.entity) if len(plan.entities) == 1 else None
    return None if share is None else 1 - share


def _waste_finding(
    pattern: Pattern[..., Any], plan: Plan, condition: Condition, removed_share: float, alternative: BoundKey | None
) -> Finding:
    rate = pattern.facts.rate
    at_load = rate is not None and rate.average >= 1
    severity: Severity = "error" if removed_share > _ERROR_SHARE and at_load else "warning"
    cost = ""
    if rate is not None:
        wasted_units = expected(pattern).units.read * rate.average * removed_share
        cost = f", which wastes {number(wasted_units)} read units per second"
    fix = (
        f"query {_key_text(alternative)} instead" if alternative is not None else "put it into a key or a sparse index"
    )
    return wasteful_filter.finding(
        pattern.name,
        f"{pattern.name} reads items and removes {_share_text(removed_share)} of them by"
        f" {_field_names(condition)}{cost}",
        fix,
        pattern.place,
        alternative.place if alternative is not None else plan.entity.place,
        severity=severity,
        item=pattern.name,
        cause=f"{plan.schema.label_of(plan.index)} {next(iter(paths_of(condition))).field}",
    )


def _share_text(removed_share: float) -> str:
    """Format the share of items that a filter removes, such as "95%" or "all but 0.1%"."""
    return f"{removed_share:.0%}" if removed_share <= _MAX_ROUNDED_SHARE else f"all but {1 - removed_share:.1%}"


def _field_names(condition: Condition | None) -> str:
    return ", ".join(dict.fromkeys(path.field for path in paths_of(condition)))


def _alternative_key(plan: Plan, condition: Condition) -> BoundKey | None:
    """Return a key of the entity that contains every field that the filter compares with =. The queried key is not
    considered. Return None if no such key exists.
    """
    if len(plan.entities) != 1 or plan.key is None or plan.consistent:
        return None
    entity: EntitySpec = plan.entity
    equal_names = equal_fields(condition)
    names = partition_fields(plan, entity) | equal_names
    for bound in (entity.key, *entity.indexes):
        if bound.index is plan.index or bound.only_if is not None or not equal_names:
            continue
        partition = {name for part in bound.partition for name in part.fields}
        order = [name for part in bound.sort for name in part.fields]
        key_names = partition | set(takewhile(names.__contains__, order))
        if partition and partition <= names and equal_names <= key_names and names <= key_names:
            return bound
    return None


def _key_text(bound: BoundKey) -> str:
    return f"index {bound.index.name}" if bound.index is not None else "the table by its own key"


_MAX_KEPT_SHARE = 0.8


@design_rule("KP310", "warning")
def limit_with_filter(subject: Subject) -> Iterator[Finding]:
    """Limit is combined with a filter

    Finds queries and scans that have both a limit and a filter, and queries that have both a page size and a filter. A
    pattern is not reported if, according to the design's declarations, at least 80% of the items pass its filter. Scans
    with a page size are not reported, because they are assumed to be background jobs, for which the number of items in
    a page does not matter.

    Why is this bad? DynamoDB applies `Limit` before the filter: of ten items that are read, two or none can remain. The
    `limit` of a pattern, in contrast, is the number of results, so the pattern continues to read until it has found
    enough items. If one item in a hundred passes the filter, ten results require reading a thousand items. With
    `page_size`, pages contain few items or none.

    Fix: select the items with the key: by a prefix of the sort key, or in a sparse index that contains only the items
    that pass the filter.

    Source: developer guide, "Limiting the number of items in the result set" and "Filter expressions".
    """
    for _, pattern, plan in subject.patterns:
        if plan.filter is None or not (plan.limit or plan.page_size) or plan.operation not in {"Query", "Scan"}:
            continue
        if plan.operation == "Scan" and not plan.limit:
            continue
        facts = pattern.facts
        share = matching_share(plan.filter, plan.entity)
        if facts.expected_items is not None and facts.expected_scanned:
            share = facts.expected_items / facts.expected_scanned
        if share is not None and share >= _MAX_KEPT_SHARE:
            continue
        if plan.limit:
            reads = (
                "an unknown number of items"
                if not share
                else f"about {number(items_read_for(plan.limit, share))} items"
            )
            problem = f"{pattern.name} reads {reads} to return {plan.limit}: its limit counts results of a filter"
        else:
            problem = f"{pattern.name} returns short or empty pages: it filters pages of {plan.page_size} items"
        yield limit_with_filter.finding(
            pattern.name,
            problem,
            "let a sort key prefix or a sparse index select, so that every item read is a result",
            pattern.place,
            plan.entity.place,
        )


filter_on_key_attribute = fault_rule(
    "KP318",
    "filter-on-key-attribute",
    """Filter uses a key attribute

    Finds filters on a key attribute of the table or index that is queried.

    Why is this bad? DynamoDB rejects the query: "Filter Expression can only contain non-primary key attributes".

    Fix: move the attribute into the key condition, with `pk(...)` or `.sk(...)`. If a key condition cannot express the
    comparison, also store the value in another attribute.

    Source: developer guide, "Filter expressions for the Query operation".
    """,
)
