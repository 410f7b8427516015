"""Functions that several operations use to validate requests and build responses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from keyplan import limits
from keyplan.dynamodb.shapes.constraints import reads_older
from keyplan.dynamodb.values.encoding import Form
from keyplan.dynamodb.values.types import Item
from keyplan.engine.items.keys import partition_bytes_of
from keyplan.engine.operations import rules
from keyplan.engine.store.rows import StoreView
from keyplan.engine.tables.catalog import Table
from keyplan.errors import (
    ProvisionedThroughputExceededError,
    ThrottlingError,
    TransactionConflictError,
    ValidationError,
)

if TYPE_CHECKING:
    from keyplan.engine.database import Database

T = TypeVar("T")

UNPROCESSED_ERRORS = (ProvisionedThroughputExceededError, ThrottlingError, TransactionConflictError)
"""The errors of a single read or write that do not make a batch operation fail. Instead, the operation returns the read
or write as unprocessed.
"""


def prefix_errors(prepare: Callable[[dict[str, Any], Form], T]) -> Callable[[dict[str, Any], Form], T]:
    """Return a function that calls `prepare` and adds a prefix to the messages of its errors.

    `prepare` makes the checks of a single-item write that do not depend on the table. In PutItem, UpdateItem and
    DeleteItem, DynamoDB adds this prefix to the error messages of these checks.
    """

    @functools.wraps(prepare)
    def prepare_with_prefix(request: dict[str, Any], form: Form) -> T:
        try:
            return prepare(request, form)
        except ValidationError as error:
            if reads_older(request):
                raise
            raise rules.prefixed_error(error) from error

    return prepare_with_prefix


def collection_metrics(database: Database, table: Table, key: bytes, item: Item, form: Form) -> dict[str, Any]:
    """Return the ItemCollectionMetrics member of the response for a written item, or an empty dict for a table without
    local indexes.
    """
    if table.collections is None:
        return {}
    return {"ItemCollectionMetrics": _collection(database.store.view(), table, key, item, form)}


class CollectionMetrics:
    """The ItemCollectionMetrics of several writes, by table. Each item collection is included once."""

    __slots__ = ("_form", "_included", "by_table")

    def __init__(self, form: Form) -> None:
        self._form = form
        self._included: set[tuple[str, bytes]] = set()
        self.by_table: dict[str, list[dict[str, Any]]] = {}

    def add(self, view: StoreView, table: Table, key: bytes, item: Item) -> None:
        """Add the current size of the item collection that contains a written item."""
        if table.collections is None:
            return
        partition = (table.name, partition_bytes_of(key))
        if partition not in self._included:
            self._included.add(partition)
            metrics = _collection(view, table, key, item, self._form)
            self.by_table.setdefault(table.name, []).append(metrics)


def _collection(view: StoreView, table: Table, key: bytes, item: Item, form: Form) -> dict[str, Any]:
    assert table.collections is not None
    row = view.point(table.collections, partition_bytes_of(key))
    estimate = (row[0] if row else 0) / limits.GIB
    partition = table.key.names[0]
    return {
        "ItemCollectionKey": form.item({partition: item[partition]}),
        "SizeEstimateRangeGB": [float(int(estimate)), float(int(estimate) + 1)],
    }
