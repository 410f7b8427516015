"""The capacity that an operation consumed, for each table and index."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from keyplan.engine.tables.catalog import Index, table_name


class Receipt:
    """The capacity units that an operation consumed on one table and its indexes."""

    __slots__ = ("global_units", "local_units", "rejected_units", "table_units")

    def __init__(self) -> None:
        self.table_units = 0.0
        self.rejected_units = 0.0
        """Units of rejected writes, which are included in the total but not in the units of the table or an index."""
        self.global_units: dict[str, float] = {}
        self.local_units: dict[str, float] = {}

    def add_index(self, index: Index, units: float) -> None:
        """Add capacity units consumed on an index. If the number is zero, the index is not added, as in DynamoDB's
        responses.
        """
        if units:
            index_units = self.global_units if index.is_global else self.local_units
            index_units[index.name] = index_units.get(index.name, 0.0) + units

    def add(self, other: Receipt) -> None:
        """Add the capacity units that another operation consumed on the same table."""
        self.table_units += other.table_units
        for units, other_units in ((self.global_units, other.global_units), (self.local_units, other.local_units)):
            for name, count in other_units.items():
                units[name] = units.get(name, 0.0) + count

    @property
    def total(self) -> float:
        """The number of capacity units consumed on the table and all its indexes, including the units of rejected
        writes.
        """
        return self.table_units + self.rejected_units + sum(self.global_units.values()) + sum(self.local_units.values())

    def render(self, detail: str, name: str, kind: str | None = None) -> dict[str, Any]:
        """Return the ConsumedCapacity member of a response. `detail` is TOTAL or INDEXES.

        `name` is the name or ARN of the table, as given in the request. If `kind` is "Read" or "Write", the result also
        has ReadCapacityUnits or WriteCapacityUnits, as in the responses of transactions.
        """
        rendered: dict[str, Any] = {"TableName": name, **_units(self.total, kind)}
        if detail == "INDEXES":
            rendered["Table"] = _units(self.table_units, kind)
            if self.local_units:
                rendered["LocalSecondaryIndexes"] = {
                    name: _units(units, kind) for name, units in self.local_units.items()
                }
            if self.global_units:
                rendered["GlobalSecondaryIndexes"] = {
                    name: _units(units, kind) for name, units in self.global_units.items()
                }
        return rendered


def requested_names(names: Iterable[str]) -> dict[str, str]:
    """Return a dict that maps each table name to the element of `names` that refers to the table. The elements are
    names or ARNs, as given in the request.
    """
    return {table_name(name): name for name in names}


def _units(units: float, kind: str | None) -> dict[str, float]:
    if kind is None:
        return {"CapacityUnits": units}
    return {"CapacityUnits": units, f"{kind}CapacityUnits": units}
