"""The load of a design: the requests of its patterns, and the capacity units that they use on tables and indexes.

A pattern without a declared rate adds no load.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from keyplan.cost.expected import expected, steps_of
from keyplan.cost.prices import HOURS_PER_MONTH, book
from keyplan.cost.units import Units
from keyplan.design.declaring.design import Design
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Place
from keyplan.design.planning.plan import Plan
from keyplan.design.schema import Index, Schema
from keyplan.design.workload import Provisioned, Rate

NOTABLE_UNITS = 25.0
"""The lowest sustained load for which rules report a write, in write units per second: about $40 per month
on demand.
"""


@dataclass(frozen=True, eq=False)
class PlannedRequest:
    """A request that a pattern sends to DynamoDB. For a transaction, each step is a separate object."""

    pattern: Pattern[..., Any]
    """The pattern that a program calls. For a step of a transaction, this is the transaction."""
    plan: Plan
    units: Units
    """The capacity units that the request uses in one call to the pattern."""

    @property
    def rate(self) -> Rate | None:
        """The declared rate of the pattern in calls per second, or None if no rate is declared."""
        return self.pattern.facts.rate


def requests_of(design: Design) -> Iterator[PlannedRequest]:
    """Yield the requests of all patterns, with their capacity units. A transaction is represented by its steps.

    A pattern that is a step of a transaction and has no rate is counted only as part of the transaction.
    """
    steps = {id(step) for transaction in design.transactions for step in transaction.plan.steps}
    for pattern in design.patterns:
        has_rate = pattern.facts.rate is not None and pattern.facts.rate.highest > 0
        if not has_rate and id(pattern.plan) in steps:
            continue
        if pattern.plan.steps:
            for step, _, units in steps_of(pattern.plan, pattern.facts):
                yield PlannedRequest(pattern, step, units)
        elif pattern.kind != "check":
            yield PlannedRequest(pattern, pattern.plan, expected(pattern).units)


def is_declared(request: PlannedRequest) -> bool:
    """Return True if the load of a request is known: it has a rate, and its capacity units do not depend on an assumed
    number of items.
    """
    if request.rate is None:
        return False
    return not request.plan.reading or request.plan.operation == "GetItem" or not expected(request.pattern).guesses


def index_units_per_second(
    requests: Iterable[PlannedRequest],
    schema: Schema,
    index: str,
    entity: EntitySpec | None = None,
    *,
    peak: bool = False,
) -> float:
    """Compute the write units per second that `requests` consume on the index named `index`, at average rates or, if
    `peak` is True, at peak rates.

    If `entity` is given, only writes of this entity are counted.
    """
    total = 0.0
    for request in requests:
        rate = request.rate
        if (
            rate is None
            or request.plan.schema is not schema
            or (entity is not None and entity not in request.plan.entities)
        ):
            continue
        total += request.units.indexes.get(index, 0.0) * (rate.highest if peak else rate.average)
    return total


@cache
def monthly_price(write_units_per_second: float) -> float:
    """Return the monthly on-demand cost of a load in dollars, at the newest prices included with keyplan."""
    return write_units_per_second * HOURS_PER_MONTH * 3600 * book()["write_unit"]


@dataclass(frozen=True, eq=False)
class CapacityUse:
    """The capacity that patterns use on a table (excluding its global indexes) or on a global index, in capacity units
    per second.
    """

    table: Table
    index: Index | None
    read: float
    write: float
    peak_read: float
    peak_write: float

    @property
    def name(self) -> str:
        """The name of the table or index whose capacity is used."""
        return self.table.name if self.index is None else self.index.name

    @property
    def label(self) -> str:
        """The description of the table or index in messages, such as "table app" or "index by_owner"."""
        return self.table.schema.label_of(self.index)

    @property
    def place(self) -> Place:
        """The source location of the table's or index's declaration."""
        return self.table.schema.place if self.index is None else self.index.place

    @property
    def provisioned(self) -> Provisioned | None:
        """The provisioned capacity of the table or index, or None in on-demand mode."""
        return self.table.schema.provisioned if self.index is None else self.index.billing


def capacity_uses(tables: Iterable[Table], requests: Iterable[PlannedRequest]) -> Iterator[CapacityUse]:
    """Yield the capacity that patterns use on each table and each global index."""
    known_requests = [request for request in requests if is_declared(request)]
    for table in tables:
        table_requests = [request for request in known_requests if request.plan.schema is table.schema]
        for index in (None, *(index for index in table.schema.indexes if index.kind == "GSI")):
            yield _capacity_use(table, index, table_requests)


def _capacity_use(table: Table, index: Index | None, requests: list[PlannedRequest]) -> CapacityUse:
    loads = [
        (_read_units(request, index), _write_units(request, table, index), rate)
        for request in requests
        if (rate := request.rate)
    ]
    return CapacityUse(
        table,
        index,
        read=sum(read * rate.average for read, _, rate in loads),
        write=sum(write * rate.average for _, write, rate in loads),
        peak_read=sum(read * rate.highest for read, _, rate in loads),
        peak_write=sum(write * rate.highest for _, write, rate in loads),
    )


def _read_units(request: PlannedRequest, index: Index | None) -> float:
    """Return the read units that one call uses on a table, or on `index` if it is a global index.

    Reads of a local index use the read units of the table.
    """
    read = request.plan.index
    if index is None and read is not None and read.kind == "LSI":
        return request.units.read
    if request.plan.hydrated:
        return expected(request.pattern).read_from(request.plan, index)
    return request.units.read if read is index else 0.0


def _write_units(request: PlannedRequest, table: Table, index: Index | None) -> float:
    """Return the write units that one call uses on a table, or on `index` if it is a global index.

    The write units of local indexes are included in those of the table.
    """
    if index is not None:
        return request.units.indexes.get(index.name, 0.0)
    local = [index.name for index in table.schema.indexes if index.kind == "LSI"]
    return request.units.write + sum(request.units.indexes.get(name, 0.0) for name in local)
