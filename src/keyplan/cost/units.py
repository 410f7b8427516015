"""Capacity units of requests, in a form in which predicted and measured units can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.values.attribute import item_bytes
from keyplan.dynamodb.values.types import Item
from keyplan.dynamodb.values.units import (
    TRANSACTIONAL,
    index_write_units,
    read_units,
    transactional_read_units,
    write_units,
)

if TYPE_CHECKING:
    from keyplan.design.schema import Index, Schema

READS = frozenset({"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"})


@dataclass(frozen=True)
class Units:
    """Capacity units of one or more requests."""

    read: float = 0.0
    """Read units on the table or the index that is read."""
    write: float = 0.0
    """Write units on the table."""
    indexes: Mapping[str, float] = field(default_factory=dict)
    """Write units by index name. Indexes without write units are omitted."""

    @property
    def total_write(self) -> float:
        """Return the write units on the table and all its indexes."""
        return self.write + sum(self.indexes.values())

    def __add__(self, other: Units) -> Units:
        names = dict.fromkeys((*self.indexes, *other.indexes))
        indexes = {name: self.indexes.get(name, 0.0) + other.indexes.get(name, 0.0) for name in names}
        return Units(self.read + other.read, self.write + other.write, indexes)

    def __mul__(self, times: float) -> Units:
        indexes = {name: units * times for name, units in self.indexes.items()}
        return Units(self.read * times, self.write * times, indexes)


def sum_of(parts: Iterable[Units]) -> Units:
    """Return the sum of the capacity units in several `Units` objects."""
    total = Units()
    for part in parts:
        total += part
    return total


def point_read(size_bytes: int, *, consistent: bool, transactional: bool = False) -> Units:
    """Return the capacity units for reading one item by its primary key. The size of a missing item is 0."""
    if transactional:
        return Units(read=transactional_read_units(size_bytes))
    return Units(read=read_units(size_bytes, consistent=consistent))


def page_read(sizes_bytes: Sequence[int], *, consistent: bool) -> Units:
    """Return the capacity units for reading one page of a query or scan. The sum of the item sizes is
    rounded up once.
    """
    return Units(read=read_units(sum(sizes_bytes), consistent=consistent))


def item_write(schema: Schema, old: Item | None, new: Item | None, *, transactional: bool = False) -> Units:
    """Return the capacity units of a write that replaces the item `old` with `new`. If one of them is None, the item is
    created or deleted.

    For a write whose condition fails, pass the existing item as both `old` and `new`. A failed write uses as many write
    units on the table as a successful one, but none on indexes.
    """
    sizes = [item_bytes(item) for item in (old, new) if item is not None]
    base = write_units(max(sizes, default=0))
    return Units(write=base * TRANSACTIONAL if transactional else base, indexes=_index_units(schema, old, new))


def _index_units(schema: Schema, old: Item | None, new: Item | None) -> dict[str, float]:
    units_by_index = {}
    for index in schema.indexes:
        before, after = entry_of(schema, index, old), entry_of(schema, index, new)
        units = index_write_units(
            None if before is None else item_bytes(before),
            None if after is None else item_bytes(after),
            same_key=_key(index, before) == _key(index, after),
            same_content=before == after,
        )
        if units:
            units_by_index[index.name] = units
    return units_by_index


def entry_of(schema: Schema, index: Index, item: Item | None) -> Item | None:
    """Return the attributes of an item that an index contains, or None if the item is not in the index."""
    if item is None or any(name not in item for name in index.attributes):
        return None
    return {name: value for name, value in item.items() if index.projects(name, schema.key)}


def _key(index: Index, entry: Item | None) -> list[object] | None:
    return None if entry is None else [entry[name] for name in index.attributes]


@dataclass(frozen=True)
class ConsumedUnits:
    """Read and write units by table name, or by table and index name (table/index). Zeros are omitted."""

    read: Mapping[str, float] = field(default_factory=dict)
    write: Mapping[str, float] = field(default_factory=dict)

    def __add__(self, other: ConsumedUnits) -> ConsumedUnits:
        return ConsumedUnits(_sum(self.read, other.read), _sum(self.write, other.write))

    def divided_by(self, count: int) -> ConsumedUnits:
        """Return the capacity units divided by a number of requests."""
        return ConsumedUnits(
            {name: units / count for name, units in self.read.items()},
            {name: units / count for name, units in self.write.items()},
        )

    @property
    def reads(self) -> float:
        """Return the total number of read units on all tables and indexes."""
        return sum(self.read.values())

    @property
    def writes(self) -> float:
        """Return the total number of write units on all tables and indexes."""
        return sum(self.write.values())

    def text(self) -> str:
        """Format the capacity units as text, such as 5 WCU (app 1, app/due 4), or "nothing"."""
        parts = [_text(self.read, "RCU"), _text(self.write, "WCU")]
        return " + ".join(part for part in parts if part) or "nothing"


def _sum(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    total = {name: first.get(name, 0.0) + second.get(name, 0.0) for name in dict.fromkeys((*first, *second))}
    return {name: units for name, units in total.items() if units}


def _text(units: Mapping[str, float], unit: str) -> str:
    if not units:
        return ""
    parts = ", ".join(f"{name} {value:g}" for name, value in sorted(units.items()))
    return f"{sum(units.values()):g} {unit} ({parts})"


def total(parts: Iterable[ConsumedUnits]) -> ConsumedUnits:
    """Return the sum of the capacity units of several requests."""
    consumed = ConsumedUnits()
    for part in parts:
        consumed += part
    return consumed


def average(calls: Sequence[ConsumedUnits]) -> ConsumedUnits:
    """Return the average capacity units of several calls."""
    return total(calls).divided_by(max(1, len(calls)))


def consumed_units(operation: str, response: Mapping[str, Any]) -> ConsumedUnits:
    """Return the capacity units that a response reports in ConsumedCapacity.

    The request must have set ReturnConsumedCapacity to INDEXES.
    """
    receipts = response.get("ConsumedCapacity") or []
    units: dict[str, float] = {}
    for receipt in receipts if isinstance(receipts, list) else [receipts]:
        table = receipt["TableName"]
        indexes = {
            f"{table}/{name}": entry["CapacityUnits"]
            for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
            for name, entry in receipt.get(kind, {}).items()
        }
        table_units = receipt.get("Table", {}).get("CapacityUnits", receipt["CapacityUnits"] - sum(indexes.values()))
        units = _sum(units, {table: table_units, **indexes})
    return ConsumedUnits(read=units) if operation in READS else ConsumedUnits(write=units)
