"""One call as fault injection follows it: which moment its reads see, and what they cost.

A single item is charged when it is read; of a Query or Scan the sizes are summed and rounded once, at
its end, each partition paying for its share of the bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from keyplan.dynamodb.messages import faults as messages
from keyplan.dynamodb.values import units
from keyplan.engine.catalog import Index, Table, table_name
from keyplan.engine.store.rows import Tree
from keyplan.engine.throttling import Throttle
from keyplan.errors import ProvisionedThroughputExceededError

_TRANSACTIONS = frozenset(("TransactGetItems", "TransactWriteItems", "ExecuteTransaction"))


class Call:
    """One call of an operation on data."""

    __slots__ = ("_moment", "_places", "_request", "_skipped", "_spans", "operation", "points")

    def __init__(
        self, operation: str, request: dict[str, Any], moment: float | None, skipped: frozenset[int] = frozenset()
    ) -> None:
        """`moment`: as of when it reads, if stale; `skipped`: which of its single reads are refused."""
        self.operation = operation
        self._skipped = skipped
        self.points = 0
        """How many single rows it has read."""
        self._request = request
        self._moment = moment
        self._places: dict[int, tuple[Table, Index | None]] = {}
        self._spans: dict[int, list[tuple[bytes, int]]] = {}

    @property
    def factor(self) -> int:
        """How many times the units it costs to read or write an item."""
        return units.TRANSACTIONAL if self.operation in _TRANSACTIONS else 1

    def learn(self, tables: Iterable[Table]) -> None:
        """Take note of which tree is which table's or index's."""
        for table in tables:
            self._places[table.tree.number] = (table, None)
            for index in table.indexes.values():
                self._places[index.tree.number] = (table, index)

    def moment_of(self, tree: Tree) -> float | None:
        """As of when the rows of a tree are seen; None: as they are."""
        place = self._places.get(tree.number)
        return None if place is None or self._consistent(*place) else self._moment

    def note(self, throttle: Throttle | None, tree: Tree, key: bytes, size: int, now: float, *, spanned: bool) -> None:
        """A row was read. Raises ProvisionedThroughputExceededError or ThrottlingError for a single one."""
        place = self._places.get(tree.number)
        if place is None:
            return
        if spanned:
            self._spans.setdefault(tree.number, []).append((key, size))
            return
        self.points += 1
        if self.points - 1 in self._skipped:
            raise ProvisionedThroughputExceededError(messages.TABLE_PROVISIONED)
        if throttle is None:
            return
        read_units = units.read_units(size, consistent=self._consistent(*place)) * self.factor
        throttle.read(*place, key, read_units, now)

    def charge_spans(self, throttle: Throttle, now: float) -> None:
        """Charge the rows of a page. Raises ProvisionedThroughputExceededError, ThrottlingError."""
        for number, rows in self._spans.items():
            table, index = place = self._places[number]
            total = sum(size for _, size in rows)
            page_units = units.read_units(total, consistent=self._consistent(*place))
            shares = [(key, size / total if total else 1 / len(rows)) for key, size in rows]
            throttle.read_page(table, index, [(key, page_units * share) for key, share in shares if share], now)

    def _consistent(self, table: Table, index: Index | None) -> bool:
        if self.operation in _TRANSACTIONS:
            return True
        if index is not None and index.is_global:
            return False
        if self.operation == "BatchGetItem":
            blocks = self._request["RequestItems"].items()
            return any(table_name(name) == table.name and block.get("ConsistentRead") for name, block in blocks)
        return bool(self._request.get("ConsistentRead"))
