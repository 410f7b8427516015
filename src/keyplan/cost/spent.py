"""Capacity units by place: what receipts say was spent, and what is predicted, in one form that can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Spent:
    """Units by place: a table, or table/index. Places that cost nothing are left out."""

    read: Mapping[str, float] = field(default_factory=dict)
    write: Mapping[str, float] = field(default_factory=dict)

    def __add__(self, other: Spent) -> Spent:
        return Spent(_sum(self.read, other.read), _sum(self.write, other.write))

    def divided_by(self, count: int) -> Spent:
        """The part of one of so many."""
        return Spent(
            {place: units / count for place, units in self.read.items()},
            {place: units / count for place, units in self.write.items()},
        )

    @property
    def reads(self) -> float:
        """Read units of all places."""
        return sum(self.read.values())

    @property
    def writes(self) -> float:
        """Write units of all places."""
        return sum(self.write.values())

    def text(self) -> str:
        """In words: 2 RCU; with several places each: 5 WCU (app 1, app/due 4)."""
        told = [_text(self.read, "RCU"), _text(self.write, "WCU")]
        return " + ".join(one for one in told if one) or "nothing"


def _sum(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    total = {name: one.get(name, 0.0) + other.get(name, 0.0) for name in dict.fromkeys((*one, *other))}
    return {name: units for name, units in total.items() if units}


def _text(units: Mapping[str, float], unit: str) -> str:
    if not units:
        return ""
    parts = ", ".join(f"{name} {value:g}" for name, value in sorted(units.items()))
    return f"{sum(units.values()):g} {unit} ({parts})"


def total(parts: Iterable[Spent]) -> Spent:
    """All of them together."""
    found = Spent()
    for part in parts:
        found += part
    return found


def average(calls: Sequence[Spent]) -> Spent:
    """What one of them spends on average."""
    return total(calls).divided_by(max(1, len(calls)))


READS = frozenset({"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"})


def of_receipts(operation: str, answer: Mapping[str, Any]) -> Spent:
    """What an answer's ConsumedCapacity says, asked for with ReturnConsumedCapacity INDEXES."""
    told = answer.get("ConsumedCapacity") or []
    units: dict[str, float] = {}
    for receipt in told if isinstance(told, list) else [told]:
        table = receipt["TableName"]
        indexes = {
            f"{table}/{name}": one["CapacityUnits"]
            for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
            for name, one in receipt.get(kind, {}).items()
        }
        own = receipt.get("Table", {}).get("CapacityUnits", receipt["CapacityUnits"] - sum(indexes.values()))
        units = _sum(units, {table: own, **indexes})
    return Spent(read=units) if operation in READS else Spent(write=units)
