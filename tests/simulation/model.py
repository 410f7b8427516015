"""A plain-dict model of one table with its indexes, time to live and stream: it predicts every answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.model_expressions import (
    CONDITION_FAILED,
    Clause,
    Condition,
    RefusedError,
    assigned_kinds,
    holds,
    invalid,
    updated,
)
from tests.simulation.model_values import (
    Item,
    Value,
    canon,
    canon_item,
    item_bytes,
    order,
    read_units,
    write_units,
)

FIVE_YEARS_S = 5 * 365 * 86_400
PAGE_BYTES = 1 << 20
Attributes = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class IndexModel:
    """A secondary index: key attributes with their types, and what an entry holds."""

    name: str
    is_global: bool
    partition: Attributes
    sort: Attributes = ()
    projection: str = "ALL"
    included: tuple[str, ...] = ()

    @property
    def attributes(self) -> Attributes:
        """All key attributes."""
        return self.partition + self.sort

    def holds(self, item: Item) -> bool:
        """Whether an item has an entry."""
        return all(item.get(name, {}).get(kind) for name, kind in self.attributes)

    def check(self, item: Item) -> None:
        """Raise RefusedError if an attribute cannot be the key that it is."""
        for name, kind in self.attributes:
            if name in item and not item[name].get(kind):
                raise invalid()

    def request(self) -> dict[str, Any]:
        """Return the index as a member of CreateTable and UpdateTable."""
        projection: dict[str, Any] = {"ProjectionType": self.projection}
        if self.included:
            projection["NonKeyAttributes"] = list(self.included)
        return {"IndexName": self.name, "KeySchema": key_schema(self.partition, self.sort), "Projection": projection}


def key_schema(partition: Attributes, sort: Attributes) -> list[dict[str, str]]:
    """Return a KeySchema."""
    roles = [(partition, "HASH"), (sort, "RANGE")]
    return [{"AttributeName": name, "KeyType": role} for part, role in roles for name, _ in part]


def definitions(*parts: Attributes) -> list[dict[str, str]]:
    """AttributeDefinitions of all these."""
    kinds = {name: kind for part in parts for name, kind in part}
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in sorted(kinds.items())]


@dataclass(frozen=True)
class Record:
    """One record of the stream; images in canonical form."""

    event: str
    key: Any
    old: Any
    new: Any
    by_service: bool = False


@dataclass
class WriteResult:
    """What one write did."""

    old: Item | None
    new: Item | None
    capacity: dict[str, float]


@dataclass
class TableModel:
    """The table."""

    name: str
    partition: tuple[str, str]
    sort: tuple[str, str] | None = None
    indexes: dict[str, IndexModel] = field(default_factory=dict)
    ttl: str | None = None
    items: dict[Any, Item] = field(default_factory=dict)
    stream: list[Record] = field(default_factory=list)

    @property
    def key_attributes(self) -> Attributes:
        """The key's attributes."""
        return (self.partition,) if self.sort is None else (self.partition, self.sort)

    def key_of(self, item: Item) -> Item:
        """Return the key of an item."""
        return {name: item[name] for name, _ in self.key_attributes}

    def place(self, key: Item) -> Any:
        """Where an item lies in `items`."""
        return tuple(canon(key[name]) for name, _ in self.key_attributes)

    def get(self, key: Item) -> Item | None:
        """Return the item with a key."""
        return self.items.get(self.place(key))

    # Writes.

    def put(self, item: Item, condition: Condition | None = None) -> WriteResult:
        """PutItem. Raises RefusedError."""
        return self.apply(self.decide_put(item, condition))

    def update(self, key: Item, clauses: list[Clause], condition: Condition | None = None) -> WriteResult:
        """UpdateItem. Raises RefusedError."""
        return self.apply(self.decide_update(key, clauses, condition))

    def delete(self, key: Item, condition: Condition | None = None) -> WriteResult:
        """DeleteItem. Raises RefusedError."""
        return self.apply(self.decide_delete(key, condition))

    def decide_put(self, item: Item, condition: Condition | None = None) -> tuple[Item | None, Item | None]:
        """Old and new version."""
        return self._check_all(lambda: self._check_item(item), item, condition), item

    def decide_update(
        self, key: Item, clauses: list[Clause], condition: Condition | None = None
    ) -> tuple[Item | None, Item | None]:
        """Old and new version."""
        new: list[Item] = []
        old = self._check_all(lambda: new.append(self._outcome(key, clauses)), key, condition)
        return (old, new[0]) if old is not None or new[0].keys() != key.keys() else (None, None)

    def _outcome(self, key: Item, clauses: list[Clause]) -> Item:
        kinds = {pair for index in self.indexes.values() for pair in index.attributes}
        names = {name for name, _ in kinds}
        if any(name in names and (name, kind) not in kinds for name, kind in assigned_kinds(clauses)):
            raise invalid()
        old = self.get(key)
        return self._check_item(updated(clauses, old or dict(key), exists=old is not None))

    def _check_item(self, item: Item) -> Item:
        for index in self.indexes.values():
            index.check(item)
        return item

    def _check_all(self, check: Callable[[], Any], key: Item, condition: Condition | None) -> Item | None:
        """Return the old version if the request is valid and its condition is true."""
        try:
            check()
        except RefusedError as refused:
            try:
                self._check_condition(key, condition)
            except RefusedError as other_refusal:
                raise RefusedError(*refused.codes, *other_refusal.codes) from None
            raise
        return self._check_condition(key, condition)

    def decide_delete(self, key: Item, condition: Condition | None = None) -> tuple[Item | None, Item | None]:
        """Old version and nothing."""
        return self._check_condition(key, condition), None

    def _check_condition(self, key: Item, condition: Condition | None) -> Item | None:
        old = self.get(key)
        if condition is not None and not holds(condition, old or {}):
            raise RefusedError(CONDITION_FAILED)
        return old

    def apply(
        self, change: tuple[Item | None, Item | None], *, factor: int = 1, by_service: bool = False
    ) -> WriteResult:
        """Put the new version in the old one's place."""
        old, new = change
        capacity = self.cost(old, new, factor)
        version = new or old
        if version is None:
            return WriteResult(None, None, capacity)
        key = self.key_of(version)
        if new is None:
            del self.items[self.place(key)]
        else:
            self.items[self.place(key)] = new
        if canon_item(old) != canon_item(new):
            event = "INSERT" if old is None else "REMOVE" if new is None else "MODIFY"
            self.stream.append(Record(event, canon_item(key), canon_item(old), canon_item(new), by_service))
        return WriteResult(old, new, capacity)

    def cost(self, old: Item | None, new: Item | None, factor: int = 1) -> dict[str, float]:
        """Write units by index; the table's own under the empty name."""
        sizes = [item_bytes(item) for item in (old, new) if item is not None]
        units: dict[str, float] = {"": factor * write_units(*sizes)}
        for index in self.indexes.values():
            consumed = self._index_cost(index, self.entry(index, old), self.entry(index, new))
            if consumed:
                units[index.name] = consumed
        return units

    def _index_cost(self, index: IndexModel, old: Item | None, new: Item | None) -> float:
        if canon_item(old) == canon_item(new):
            return 0
        if old is None or new is None:
            return write_units(*(item_bytes(item) for item in (old, new) if item is not None))
        names = [name for name, _ in index.attributes]
        if all(canon(old[name]) == canon(new[name]) for name in names):
            return write_units(item_bytes(old), item_bytes(new))
        return write_units(item_bytes(old)) + write_units(item_bytes(new))

    def entry(self, index: IndexModel, item: Item | None) -> Item | None:
        """Return the index entry of an item, or None."""
        if item is None or not index.holds(item):
            return None
        if index.projection == "ALL":
            return item
        names = {name for name, _ in self.key_attributes + index.attributes} | set(index.included)
        return {name: value for name, value in item.items() if name in names}

    # Time.

    def sweep(self, now: float) -> int:
        """Remove what has expired; how many."""
        expired = [item for item in self.items.values() if self._is_over(item, now)]
        for item in expired:
            self.apply((item, None), by_service=True)
        return len(expired)

    def _is_over(self, item: Item, now: float) -> bool:
        text = item.get(self.ttl, {}).get("N") if self.ttl is not None else None
        return text is not None and now - FIVE_YEARS_S <= int(float(text)) < now

    # Reads.

    def rows(self, index: IndexModel | None = None) -> list[Item]:
        """Everything that a scan of the table or an index meets."""
        if index is None:
            return list(self.items.values())
        entries = (self.entry(index, item) for item in self.items.values())
        return [entry for entry in entries if entry is not None]

    def collection(self, index: IndexModel | None, partition: list[Value]) -> list[Item]:
        """Return the rows of one partition key, in sort key order."""
        names = [name for name, _ in (index.partition if index is not None else (self.partition,))]
        rows = [
            row
            for row in self.rows(index)
            if all(canon(row[name]) == canon(value) for name, value in zip(names, partition, strict=True))
        ]
        return sorted(rows, key=lambda row: self.sort_order(index, row))

    def sort_order(self, index: IndexModel | None, row: Item) -> list[Any]:
        """Return the values that sort the rows of a partition."""
        attributes = index.sort if index is not None else (self.sort,) if self.sort is not None else ()
        return [order(row[name]) for name, _ in attributes]

    def read_cost(self, index: IndexModel | None, evaluated: list[Item], consistent: bool) -> dict[str, float]:
        """Read units of one page."""
        units = read_units(sum(map(item_bytes, evaluated)), consistent)
        return {"": units} if index is None else {"": 0, index.name: units}


def capacity_of(capacity: dict[str, Any]) -> dict[str, float]:
    """ConsumedCapacity (INDEXES) in the model's form, after checking that its total is its sum."""
    units = {"": capacity["Table"]["CapacityUnits"]}
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        for name, consumed in capacity.get(member, {}).items():
            units[name] = consumed["CapacityUnits"]
    assert capacity["CapacityUnits"] == sum(units.values())
    return units
