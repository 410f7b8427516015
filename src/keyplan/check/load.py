"""What patterns write and read a second, by table and index, as far as rates are declared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from keyplan.cost.expected import expected, steps_of
from keyplan.cost.prices import HOURS_A_MONTH, book
from keyplan.cost.units import Units
from keyplan.design.design import Design
from keyplan.design.entities import EntitySpec
from keyplan.design.patterns import Pattern
from keyplan.design.plan import Plan
from keyplan.design.schema import Schema
from keyplan.design.workload import Rate


@dataclass(frozen=True, eq=False)
class Work:
    """One request that a pattern makes: the pattern itself, or a step of a transaction."""

    pattern: Pattern[..., Any]
    """Who is called: the transaction, where the request is a step of one."""
    plan: Plan
    units: Units
    """Of one call."""

    @property
    def rate(self) -> Rate | None:
        """Calls a second."""
        return self.pattern.facts.rate


def works_of(design: Design) -> Iterator[Work]:
    """Every request of every pattern, with what a call of it costs.

    A pattern that is a step of a transaction, and by itself has no rate or is never called, is counted there alone.
    """
    steps = {id(step) for transaction in design.transactions for step in transaction.plan.steps}
    for pattern in design.patterns:
        called = pattern.facts.rate is not None and pattern.facts.rate.highest > 0
        if not called and id(pattern.plan) in steps:
            continue
        if pattern.plan.steps:
            for step, _, units in steps_of(pattern.plan, pattern.facts):
                yield Work(pattern, step, units)
        elif pattern.kind != "check":
            yield Work(pattern, pattern.plan, expected(pattern).units)


def units_a_second(
    works: Iterable[Work], schema: Schema, index: str, entity: EntitySpec | None = None, *, peak: bool = False
) -> float:
    """Write units a second of an index, of one entity or all, on average or when every pattern is at its peak."""
    total = 0.0
    for work in works:
        rate = work.rate
        if rate is None or work.plan.schema is not schema or (entity is not None and entity not in work.plan.entities):
            continue
        total += work.units.indexes.get(index, 0.0) * (rate.highest if peak else rate.average)
    return total


@cache
def monthly_price(write_units_per_second: float) -> float:
    """Dollars a month that so many write units a second cost on demand, at the newest prices that are shipped."""
    return write_units_per_second * HOURS_A_MONTH * 3600 * book()["write_unit"]


NOTABLE_UNITS = 25.0
"""Write units a second from which a standing cost is worth a warning: some forty dollars a month on demand."""


def number(value: float) -> str:
    """A number as a reader likes it: 1,234 or 0.5."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"
