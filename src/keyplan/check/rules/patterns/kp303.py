"""A filter throws away most of what was read

Filters save nothing: what they remove has been read and billed, and it counts towards the page of 1 MB, so that
pages come back short or empty. More than half removed is worth another key; more than nine tenths, at a rate,
is an error of the design. The share comes from what the pattern declares (`returns`, `evaluates`) or from the
values its entity declares (`Items(distinct={"status": {"open": 0.1, "done": 0.9}})`).

It is also found where another key of the entity answers the same question without a filter.

Put what is filtered into the key: a leading part of the sort key, an index, or a sparse index that holds only
items of which it is true.

Source: developer guide, "Filter expressions for the Query operation".
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from keyplan.check.finding import Finding, Severity
from keyplan.check.load import number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected
from keyplan.cost.shares import kept_share
from keyplan.design.conditions import Condition, equal_fields, paths_of
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundKey
from keyplan.design.patterns import Pattern
from keyplan.design.plan import Plan

RULE = Rule("KP303", "wasteful-filter", ("error", "warning"))
HALF, MOST = 0.5, 0.9
_NEARLY_ALL = 0.99


def check(subject: Subject) -> Iterator[Finding]:
    """Filters of queries that remove most, or that a key could replace."""
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.filter is None or plan.faults:
            continue
        removed = _removed(pattern, plan)
        better = _better(plan)
        if removed is not None and removed > HALF:
            yield _wasteful(pattern, plan, removed, better)
        elif removed is None and better is not None:
            yield Finding(
                RULE.code,
                "warning",
                pattern.name,
                f"{pattern.name} filters by {_named(plan.filter)} after reading, and {_where(better)} answers that by"
                " its key",
                f"query {_where(better)} instead: only what comes back is read",
                pattern.place,
                better.place,
            )


def _removed(pattern: Pattern[..., Any], plan: Plan) -> float | None:
    facts = pattern.facts
    evaluated = facts.evaluates or expected(pattern).evaluated
    if facts.returns is not None and (facts.evaluates or evaluated > facts.returns):
        return max(0.0, 1 - facts.returns / evaluated)
    assert plan.filter is not None, "the caller looked"
    kept = kept_share(plan.filter, plan.entity) if len(plan.entities) == 1 else None
    return None if kept is None else 1 - kept


def _wasteful(pattern: Pattern[..., Any], plan: Plan, removed: float, better: BoundKey | None) -> Finding:
    rate = pattern.facts.rate
    at_load = rate is not None and rate.average >= 1
    severity: Severity = "error" if removed > MOST and at_load else "warning"
    cost = ""
    if rate is not None:
        wasted = expected(pattern).units.read * rate.average * removed
        cost = f", {number(wasted)} read units a second for nothing"
    fix = f"query {_where(better)} instead" if better is not None else "put it into a key or a sparse index"
    return Finding(
        RULE.code,
        severity,
        pattern.name,
        f"{pattern.name} reads items and removes {_told(removed)} of them by {_named(plan.filter)}{cost}",
        fix,
        pattern.place,
        better.place if better is not None else plan.entity.place,
    )


def _told(removed: float) -> str:
    """A share in words, also close to all."""
    return f"{removed:.0%}" if removed <= _NEARLY_ALL else f"all but {1 - removed:.1%}"


def _named(condition: Condition | None) -> str:
    return ", ".join(dict.fromkeys(path.field for path in paths_of(condition)))


def _better(plan: Plan) -> BoundKey | None:
    """Another key of the entity that says by itself what the filter compares for equality."""
    if len(plan.entities) != 1 or plan.key is None or plan.consistent:
        return None
    entity: EntitySpec = plan.entity
    equal = equal_fields(plan.filter)
    given = {name for value in plan.key.partition for name in value.sources} | equal
    for bound in (entity.key, *entity.indexes):
        if bound.index is plan.index or bound.when is not None or not equal:
            continue
        partition = {name for part in bound.partition for name in part.fields}
        order = [name for part in bound.sort for name in part.fields]
        said = partition | set(takewhile(given.__contains__, order))
        if partition and partition <= given and equal <= said and given <= said:
            return bound
    return None


def _where(bound: BoundKey) -> str:
    return f"index {bound.index.name}" if bound.index is not None else "the table by its own key"
