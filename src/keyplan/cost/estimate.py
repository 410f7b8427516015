"""Estimates a design's monthly cost for each pattern, table and index: requests or provisioned capacity, storage and
point-in-time recovery.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Final

from keyplan import limits
from keyplan.cost.expected import Expected, expected, steps_of
from keyplan.cost.prices import GB, HOURS_PER_MONTH, PriceBook
from keyplan.cost.selectivity import share_in_index
from keyplan.cost.sizes import AS_DECLARED as SIZES_AS_DECLARED
from keyplan.cost.sizes import Growth, applied_growth, count_of, entry_size
from keyplan.cost.units import Units, sum_of
from keyplan.design.declaring.design import Design
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.schema import Index, TableClass
from keyplan.design.workload import Provisioned, Rate

SECONDS_PER_MONTH = HOURS_PER_MONTH * 3600
_COMPARED_PRICES: Final = ("read_unit", "write_unit", "storage_gb_month")
"""The prices that are compared between table classes."""
TARGET_USE = 0.7
"""The target utilization of auto scaling, as a share of the provisioned capacity."""


@dataclass(frozen=True)
class Load:
    """Changes to the declared rates, item counts and item sizes for a what-if estimate."""

    scale: float = 1.0
    """The factor by which all declared rates are multiplied."""
    rates: Mapping[str, Rate] = field(default_factory=dict)
    """Rates that replace the declared rates, by pattern name. `scale` does not apply to them."""
    growth: Growth = SIZES_AS_DECLARED
    """The factors by which the declared item counts and sizes are multiplied."""

    def rate_of(self, pattern: Pattern[..., object]) -> Rate | None:
        """Return the rate of a pattern in this estimate, or None if it has no rate."""
        rate = self.rates.get(pattern.name)
        declared = pattern.facts.rate
        return rate if rate is not None else None if declared is None else declared.scaled(self.scale)


AS_DECLARED: Final = Load()


@dataclass(frozen=True)
class PatternCost:
    """The monthly cost of a pattern."""

    name: str
    table: str
    expected: Expected
    calls: float
    """The number of calls per month, or 0 if the pattern has no rate."""
    requests: float
    """The monthly cost of the pattern's requests at on-demand prices."""

    @property
    def per_million(self) -> float:
        """Return the cost per million calls to the pattern, or 0 if the pattern has no rate."""
        return 0.0 if not self.calls else self.requests / self.calls * 1e6


@dataclass(frozen=True)
class PartCost:
    """The monthly cost of a table (excluding its indexes) or of an index."""

    name: str
    read: float
    """The average number of read units per second on the table or index."""
    write: float
    peak_read: float
    peak_write: float
    on_demand: float
    """The monthly cost of requests to the table or index at on-demand prices."""
    provisioned: float
    """The monthly cost of the declared provisioned capacity, or of the capacity that the peak load requires."""
    storage_bytes: float
    storage: float
    """The monthly cost of storage for the table or index, before free storage is deducted."""
    is_global: bool
    """True for a global index, which has its own capacity. A local index uses the capacity of the table."""


@dataclass(frozen=True)
class TableCost:
    """The monthly cost of a table and its indexes."""

    name: str
    billing: str
    """The table's billing mode: "on demand" or "provisioned"."""
    table_class: TableClass
    parts: tuple[PartCost, ...]
    point_in_time: float
    storage_ia: float
    """The monthly cost of the table's storage in the Standard-Infrequent Access class."""
    requests_ia: float
    """The monthly cost of the table's on-demand requests in the Standard-Infrequent Access class."""

    @property
    def requests(self) -> float:
        """Return the monthly cost of the table's requests (on demand) or of its provisioned capacity."""
        return sum(part.on_demand if self.billing == "on demand" else part.provisioned for part in self.parts)

    @property
    def recovered_bytes(self) -> float:
        """Return the number of bytes for which point-in-time recovery is billed: the size of the table and its local
        indexes.
        """
        return _recovered_bytes(self.parts)

    @property
    def storage(self) -> float:
        """Return the monthly cost of storage for the table and its indexes, before free storage is deducted."""
        return sum(part.storage for part in self.parts)

    @property
    def total(self) -> float:
        """Return the total monthly cost of requests or capacity, storage, and point-in-time recovery."""
        return self.requests + self.storage + self.point_in_time


@dataclass(frozen=True)
class Estimate:
    """The estimated monthly cost of a design."""

    design: str
    book: PriceBook
    patterns: tuple[PatternCost, ...]
    tables: tuple[TableCost, ...]
    free_storage: float
    """The amount that is deducted from the monthly cost for the free storage of the account."""
    guesses: tuple[str, ...] = field(default=())

    @property
    def point_in_time(self) -> float:
        """Return the monthly cost of point-in-time recovery for all tables that declare it."""
        return sum(table.point_in_time for table in self.tables)

    @property
    def unverified(self) -> tuple[str, ...]:
        """Return the names of the prices used in this estimate that were not verified against the AWS price list."""
        used = {f"{name}{suffix}" for name in _COMPARED_PRICES for suffix in ("", "_ia")}
        for table in self.tables:
            suffix = "" if table.table_class == "STANDARD" else "_ia"
            used |= {f"read_unit_hour{suffix}", f"write_unit_hour{suffix}"}
        if self.point_in_time:
            used.add("point_in_time_gb_month")
        return tuple(name for name, price in self.book.prices.items() if name in used and not price.verified)

    @property
    def total(self) -> float:
        """Return the total monthly cost of the design, after free storage is deducted."""
        return sum(table.total for table in self.tables) - self.free_storage


def estimate(design: Design, book: PriceBook, load: Load = AS_DECLARED) -> Estimate:
    """Estimate the monthly cost of a design from its declared rates, item counts and item sizes.

    `load` changes the declared values. Raises ValueError if `load` contains the name of an unknown pattern.
    """
    with applied_growth(load.growth):
        return _estimate(design, book, load)


def _estimate(design: Design, book: PriceBook, load: Load) -> Estimate:
    unknown = sorted(load.rates.keys() - {pattern.name for pattern in design.patterns})
    if unknown:
        raise ValueError(f"no such pattern: {', '.join(unknown)}")
    patterns = tuple(_pattern_cost(pattern, book, load) for pattern in design.patterns)
    tables = tuple(_table_cost(design, table, book, load) for table in design.tables)
    standard = {table.name for table in design.tables if table.schema.table_class == "STANDARD"}
    stored_bytes = sum(part.storage_bytes for cost in tables if cost.name in standard for part in cost.parts)
    free_storage = min(stored_bytes / GB, book.free.get("storage_gb", 0.0)) * book["storage_gb_month"]
    guesses = list(dict.fromkeys(guess for cost in patterns for guess in cost.expected.guesses))
    guesses += [f"{pattern.name} declares no rate" for pattern in design.patterns if load.rate_of(pattern) is None]
    return Estimate(design.name, book, patterns, tables, free_storage, tuple(guesses))


def _pattern_cost(pattern: Pattern[..., object], book: PriceBook, load: Load) -> PatternCost:
    expectation, rate = expected(pattern), load.rate_of(pattern)
    calls = rate.average * SECONDS_PER_MONTH if rate is not None else 0.0
    return PatternCost(
        pattern.name, pattern.plan.schema.name, expectation, calls, price_of_call(pattern, expectation, book) * calls
    )


def price_of_call(pattern: Pattern[..., object], expectation: Expected, book: PriceBook) -> float:
    """Return the on-demand price of one call to a pattern. For a transaction, each step is priced for the table class
    of the table that it writes.
    """
    plan = pattern.plan
    steps = [(step.schema.table_class, units) for step, _, units in steps_of(plan, pattern.facts)]
    by_class: dict[TableClass, list[Units]] = {}
    for table_class, units in steps or [(plan.schema.table_class, expectation.units)]:
        by_class.setdefault(table_class, []).append(units)
    sums = {table_class: sum_of(units) for table_class, units in by_class.items()}
    return sum(book.on_demand(units.read, units.total_write, table_class) for table_class, units in sums.items())


def _table_cost(design: Design, table: Table, book: PriceBook, load: Load) -> TableCost:
    schema = table.schema
    parts = tuple(_part_cost(design, table, index, book, load) for index in (None, *schema.indexes))
    stored_bytes = sum(part.storage_bytes for part in parts)
    recovered_bytes = _recovered_bytes(parts) if schema.point_in_time_recovery else 0.0
    recovery_cost = recovered_bytes / GB * book["point_in_time_gb_month"]
    seconds = SECONDS_PER_MONTH
    requests_ia = sum(
        part.read * seconds * book["read_unit_ia"] + part.write * seconds * book["write_unit_ia"] for part in parts
    )
    billing, table_class = "provisioned" if schema.provisioned else "on demand", schema.table_class
    return TableCost(
        table.name,
        billing,
        table_class,
        parts,
        recovery_cost,
        stored_bytes / GB * book["storage_gb_month_ia"],
        requests_ia,
    )


def _recovered_bytes(parts: tuple[PartCost, ...]) -> float:
    return sum(part.storage_bytes for part in parts if not part.is_global)


def _part_cost(design: Design, table: Table, index: Index | None, book: PriceBook, load: Load) -> PartCost:
    part_load = _part_load(design, table, index, load)
    table_class = table.schema.table_class
    on_demand = SECONDS_PER_MONTH * book.on_demand(part_load.read, part_load.write, table_class)
    provisioned = 0.0 if index is not None and index.kind == "LSI" else _capacity_cost(design, table, index, book, load)
    stored_bytes = _stored_bytes(table, index)
    storage_cost = stored_bytes / GB * book.price_in_class("storage_gb_month", table_class)
    name = table.name if index is None else f"{table.name}/{index.name}"
    is_global = index is not None and index.kind == "GSI"
    return PartCost(
        name,
        part_load.read,
        part_load.write,
        part_load.peak_read,
        part_load.peak_write,
        on_demand,
        provisioned,
        stored_bytes,
        storage_cost,
        is_global,
    )


def _capacity_cost(design: Design, table: Table, index: Index | None, book: PriceBook, load: Load) -> float:
    """Return the monthly cost of the declared provisioned capacity, or of the capacity that the peak load requires.

    Local indexes use the capacity of their table.
    """
    table_class = table.schema.table_class
    capacity = table.schema.provisioned if index is None else index.billing
    if capacity is None:
        local_indexes = (
            [candidate for candidate in table.schema.indexes if candidate.kind == "LSI"] if index is None else []
        )
        part_loads = [_part_load(design, table, part_index, load) for part_index in (index, *local_indexes)]
        capacity = _sufficient_capacity(
            sum(part_load.peak_read for part_load in part_loads), sum(part_load.peak_write for part_load in part_loads)
        )
    read_hour, write_hour = (
        book.price_in_class("read_unit_hour", table_class),
        book.price_in_class("write_unit_hour", table_class),
    )
    return (capacity.read * read_hour + capacity.write * write_hour) * HOURS_PER_MONTH


@dataclass(frozen=True)
class _PartLoad:
    """The average and peak load on a table or index, in capacity units per second."""

    read: float
    write: float
    peak_read: float
    peak_write: float


def _part_load(design: Design, table: Table, index: Index | None, load: Load) -> _PartLoad:
    """Return the load on a table (excluding its indexes), or on `index` if it is given, in capacity units
    per second.
    """
    rated_units = [
        (units, rate) for pattern, units in _pattern_loads(design, table, index) if (rate := load.rate_of(pattern))
    ]
    return _PartLoad(
        sum(units.read * rate.average for units, rate in rated_units),
        sum(units.write * rate.average for units, rate in rated_units),
        sum(units.read * rate.highest for units, rate in rated_units),
        sum(units.write * rate.highest for units, rate in rated_units),
    )


def _sufficient_capacity(read: float, write: float) -> Provisioned:
    return Provisioned(_at_target(read), _at_target(write))


def _at_target(units: float) -> int:
    """Return the minimum provisioned capacity that supports `units` per second at the target utilization.

    Rounding errors of floating-point numbers are ignored.
    """
    return max(1, ceil(round(units / TARGET_USE, 6)))


def _pattern_loads(design: Design, table: Table, index: Index | None) -> Iterator[tuple[Pattern[..., object], Units]]:
    """Yield each pattern with the capacity units that one call uses on a table (excluding its indexes), or on `index`
    if it is given.
    """
    for pattern in design.patterns:
        plan = pattern.plan
        if plan.steps:
            step_units = [units for step, _, units in steps_of(plan, pattern.facts) if step.schema is table.schema]
            units = sum_of(step_units)
            read = units.read if index is None else 0.0
        elif plan.schema is table.schema:
            expectation = expected(pattern)
            units, read = expectation.units, expectation.read_from(plan, index)
        else:
            continue
        write = units.write if index is None else units.indexes.get(index.name, 0.0)
        yield pattern, Units(read=read, write=write)


def _stored_bytes(table: Table, index: Index | None) -> float:
    return sum(
        count_of(entity.volume)
        * share_in_index(entity, bound)
        * (entry_size(entity, bound).average + limits.STORAGE_OVERHEAD_BYTES)
        for entity in table.entities
        if entity.volume is not None and (bound := entity.key_in(index)) is not None
    )
