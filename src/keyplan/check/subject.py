"""A design that rules check, with computed results that several rules use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from keyplan.check.finding import Finding
from keyplan.check.load import NOTABLE_UNITS, CapacityUse, PlannedRequest, capacity_uses, monthly_price, requests_of
from keyplan.check.partition_load import HotKey, hot_items_of, hot_keys_of
from keyplan.cost.estimate import Estimate, estimate
from keyplan.cost.prices import PriceBook, book
from keyplan.design.declaring.design import Design
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.table_faults import table_faults
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Fault
from keyplan.design.planning.indexes import all_faults
from keyplan.design.planning.plan import Plan
from keyplan.design.schema import Index


@dataclass(frozen=True)
class Subject:
    """A design, with the computed results that rules use to check it."""

    design: Design

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables of the design."""
        return self.design.tables

    def is_notable(self, write_units_per_second: float) -> bool:
        """Return True if a load is large enough to be reported. This requires at least 25 write units per second, and a
        monthly cost in dollars of at least the design's `cost_floor`.
        """
        price = monthly_price(write_units_per_second)
        return write_units_per_second >= NOTABLE_UNITS and price >= self.design.cost_floor

    @property
    def patterns(self) -> Iterator[tuple[Table, Pattern[..., Any], Plan]]:
        """Yield every pattern of the design except transactions, with its table and plan."""
        for table in self.design.tables:
            for pattern in table.patterns:
                yield table, pattern, pattern.plan

    @property
    def entities(self) -> Iterator[tuple[Table, EntitySpec]]:
        """Yield every entity of the design with its table."""
        return ((table, entity) for table in self.design.tables for entity in table.entities)

    @property
    def indexes(self) -> Iterator[tuple[Table, Index]]:
        """Yield every index of the design with its table."""
        return ((table, index) for table in self.design.tables for index in table.schema.indexes)

    def readers_of(self, table: Table, index: Index) -> list[Pattern[..., Any]]:
        """Return the patterns that read an index."""
        return [pattern for pattern in table.patterns if pattern.plan.reading and pattern.plan.index is index]

    @cached_property
    def requests(self) -> tuple[PlannedRequest, ...]:
        """All requests of all patterns, with the capacity units that they consume. A step of a transaction is listed
        under the transaction's pattern.
        """
        return tuple(requests_of(self.design))

    @cached_property
    def capacity_uses(self) -> tuple[CapacityUse, ...]:
        """The capacity that patterns use on each table and global index."""
        return tuple(capacity_uses(self.tables, self.requests))

    @cached_property
    def book(self) -> PriceBook:
        """The newest prices included with keyplan."""
        return book()

    @cached_property
    def estimate(self) -> Estimate:
        """The estimated monthly cost of the design, at the prices in `book`."""
        return estimate(self.design, self.book)

    @cached_property
    def hot_keys(self) -> tuple[HotKey, ...]:
        """The most used partition key for each key template, with its load."""
        return tuple(hot_keys_of(self.design.tables, self.requests))

    @cached_property
    def hot_items(self) -> tuple[HotKey, ...]:
        """The most used item for each primary key template, with its load."""
        return tuple(hot_items_of(self.design.tables, self.requests))

    def writes_of(self, entity: EntitySpec) -> list[PlannedRequest]:
        """Return the requests that write items of an entity."""
        return [request for request in self.requests if not request.plan.reading and entity in request.plan.entities]

    @cached_property
    def faults(self) -> tuple[tuple[str, Fault], ...]:
        """The faults that the design language detected in tables and patterns, each with the name of its table or
        pattern.
        """
        faults = [(table.name, fault) for table in self.design.tables for fault in table_faults(table)]
        faults += [(pattern.name, fault) for _, pattern, plan in self.patterns for fault in all_faults(plan)]
        return tuple(faults)

    def errors_of(self, code: str) -> Iterator[Finding]:
        """Yield a finding with the severity "error" for each fault in the design that has this rule code."""
        return (Finding.from_fault(fault, "error", name) for name, fault in self.faults if fault.code == code)
