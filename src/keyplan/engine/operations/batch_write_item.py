"""BatchWriteItem: put and delete up to 25 items, in one or more tables, in a single commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from keyplan import limits
from keyplan.dynamodb.messages import items as item_messages
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes import late_check
from keyplan.dynamodb.shapes.checker import acceptor
from keyplan.dynamodb.shapes.constraints import display_value, key_fault
from keyplan.dynamodb.shapes.model import LATE_ITEM, Layer, List, Map, Structure
from keyplan.dynamodb.values import units
from keyplan.dynamodb.values.attribute import normalise_item
from keyplan.dynamodb.values.encoding import Form
from keyplan.dynamodb.values.types import InvalidValueError, Item
from keyplan.engine.items import versions, writes
from keyplan.engine.items.receipts import Receipt, requested_names
from keyplan.engine.operations import shapes
from keyplan.engine.operations.answers import UNPROCESSED_ERRORS, CollectionMetrics
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables.catalog import Table
from keyplan.errors import TransactionConflictError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


_WRITE = Structure(
    "WriteRequest",
    {
        "PutRequest": Structure("PutRequest", {"Item": LATE_ITEM}, required=("Item",)),
        "DeleteRequest": Structure("DeleteRequest", {"Key": LATE_ITEM}, required=("Key",)),
    },
)
_REQUEST_ITEMS = Map(List(_WRITE), min=1, max=limits.BATCH_WRITE_ITEMS)
_NAMED_ITEMS = Map(_REQUEST_ITEMS.value, keys=shapes.MAP_TABLE_NAME)
_is_valid_name = acceptor(shapes.MAP_TABLE_NAME, wire=True)
_REQUESTS_OF_A_TABLE = [messages.max_length(limits.BATCH_WRITE_ITEMS), messages.min_length(1)]

SHAPE = Structure(
    "BatchWriteItemInput",
    {
        "RequestItems": _REQUEST_ITEMS,
        "ReturnConsumedCapacity": shapes.RETURN_CONSUMED_CAPACITY,
        "ReturnItemCollectionMetrics": shapes.RETURN_ITEM_COLLECTION_METRICS,
    },
    required=("RequestItems",),
    layer=Layer.FRONT,
)


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError if a BatchWriteItem request has an invalid table name, an invalid write or too
    many writes.
    """
    items = request["RequestItems"]
    faults = []
    if not all(map(_is_valid_name, items)):
        fault = key_fault(_NAMED_ITEMS, items, "requestItems")
        if fault is not None:
            faults.append(fault)
    if not all(1 <= len(requests) <= limits.BATCH_WRITE_ITEMS for requests in items.values()):
        text = messages.map_values(_REQUESTS_OF_A_TABLE)
        faults.append(messages.constraint(display_value(_NAMED_ITEMS, items), "requestItems", text))
    if faults:
        raise ValidationError(messages.detected(faults))
    writes = 0
    for requests in items.values():
        for write in requests:
            if (write.get("PutRequest") is None) is (write.get("DeleteRequest") is None):
                raise ValidationError(messages.SEVERAL_WRITES_IN_ONE)
        writes += len(requests)
    if writes > limits.BATCH_WRITE_ITEMS:
        raise ValidationError(messages.too_many_items("BatchWriteItem"))


_Write: TypeAlias = tuple[bytes, Item, versions.Version | None]
"""A put or delete: the stored key, an item that contains the key, and the new version, or None for a delete."""
_TableWrites: TypeAlias = tuple[Table, list[_Write]]
"""A table and the writes to be made to it."""


def run(database: Database, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run BatchWriteItem: check the request, find the tables, and write the items in one transaction."""
    requests = prepare(request, form)
    tables = {name: database.table(name) for name in requests}
    writes_by_table = _locate(requests, tables)
    detail = request.get("ReturnConsumedCapacity") or "NONE"
    if detail == "NONE" and all(table.blind for table in tables.values()):
        database.write_all(tables.values(), lambda transaction: _write_blindly(transaction, writes_by_table))
        return _answer(request, {}, CollectionMetrics(form), [])
    batch = [(table, *write) for table, table_writes in writes_by_table for write in table_writes]
    # Decide on faults before the transaction, because its callback may run again.
    skipped = database.unprocessed(len(batch))

    def write_batch(transaction: Transaction) -> tuple[dict[str, Receipt], CollectionMetrics, list[int]]:
        receipts = {table.name: Receipt() for table in tables.values()} if detail != "NONE" else {}
        unprocessed = _write_items(database, transaction, batch, receipts, skipped)
        collections = CollectionMetrics(form)
        if request.get("ReturnItemCollectionMetrics") == "SIZE":
            for number, (table, key, item, _) in enumerate(batch):
                if number in unprocessed:
                    continue
                collections.add(transaction, table, key, item)
        return receipts, collections, unprocessed

    return _answer(request, *database.write_all(tables.values(), write_batch))


@late_check(SHAPE)
def prepare(request: dict[str, Any], form: Form) -> dict[str, list[tuple[Item, versions.Version | None]]]:
    """Run the checks of a BatchWriteItem request that do not depend on the tables, and return the writes, by table.

    Each write is a pair: the item to put and its new version, or the key of the item to delete and None.
    """
    check(request)
    wire = form.wire
    try:
        return {
            name: [_parsed_write(entry, wire) for entry in requests]
            for name, requests in request["RequestItems"].items()
        }
    except InvalidValueError as error:
        raise ValidationError(error.older) from error


def _parsed_write(write: dict[str, Any], wire: bool) -> tuple[Item, versions.Version | None]:
    """Return the item and its new version for a put, or the key of the item and None for a delete.

    Raises ValidationError for an invalid value or an item that is too large.
    """
    put = write.get("PutRequest")
    if put is None:
        return normalise_item(write["DeleteRequest"]["Key"], wire=wire)[0], None
    new = versions.from_item(put["Item"], wire=wire)
    return new.item, new


def _locate(
    requests: dict[str, list[tuple[Item, versions.Version | None]]], tables: dict[str, Table]
) -> list[_TableWrites]:
    writes_by_table: list[_TableWrites] = []
    keys_by_table: dict[str, set[bytes]] = {}
    for name, table_requests in requests.items():
        table = tables[name]
        keys = keys_by_table.setdefault(
            table.name, set()
        )  # a request may name a table twice, by its name and by its ARN
        table_writes: list[_Write] = []
        for item, new in table_requests:
            key = table.key.of_key(item) if new is None else _key_of(table, item)
            if key in keys:
                raise ValidationError(item_messages.DUPLICATE_KEYS)
            keys.add(key)
            if new is not None and table.indexes:
                writes.check_index_keys(table, item)
            table_writes.append((key, item, new))
        writes_by_table.append((table, table_writes))
    return writes_by_table


def _key_of(table: Table, item: Item) -> bytes:
    """Return the stored key of an item to put.

    If the key is invalid, ValidationError is raised with DynamoDB's message for an invalid Key parameter. PutItem uses
    a different message.
    """
    try:
        return table.key.of_item(item)
    except ValidationError:
        return table.key.of_key({name: item[name] for name in table.key.names if name in item})


def _write_items(
    database: Database,
    transaction: Transaction,
    batch: list[tuple[Table, bytes, Item, versions.Version | None]],
    receipts: dict[str, Receipt],
    skipped: frozenset[int],
) -> list[int]:
    """Make the writes in `batch`, but skip the positions in `skipped`. Return the positions of all skipped or rejected
    writes.

    The consumed capacity is added to `receipts`.
    """
    unprocessed = []
    for number, (table, key, _, new) in enumerate(batch):
        if number in skipped:
            unprocessed.append(number)
            continue
        receipt = receipts.get(table.name)
        old = versions.load(transaction, table, key)
        try:
            writes.apply(database, transaction, table, key, old=old, new=new, receipt=receipt)
        except UNPROCESSED_ERRORS as error:
            unprocessed.append(number)
            if len(unprocessed) == len(batch) and not isinstance(error, TransactionConflictError):
                raise  # the service returns the error if no write succeeded
            continue
        if receipt is not None:
            receipt.table_units += units.write_units(max(new.size if new else 0, old.size if old else 0))
    return unprocessed


def _write_blindly(transaction: Transaction, writes_by_table: list[_TableWrites]) -> None:
    for table, table_writes in writes_by_table:
        versions.change_blindly(transaction, table, table_writes)


def _answer(
    request: dict[str, Any], receipts: dict[str, Receipt], collections: CollectionMetrics, unprocessed: list[int]
) -> dict[str, Any]:
    response: dict[str, Any] = {"UnprocessedItems": _unprocessed(request, unprocessed)}
    if request.get("ReturnItemCollectionMetrics") == "SIZE":
        response["ItemCollectionMetrics"] = collections.by_table
    detail = request.get("ReturnConsumedCapacity") or "NONE"
    if detail != "NONE":
        names = requested_names(request["RequestItems"])
        response["ConsumedCapacity"] = [receipt.render(detail, names[name]) for name, receipt in receipts.items()]
    return response


def _unprocessed(request: dict[str, Any], positions: list[int]) -> dict[str, list[dict[str, Any]]]:
    """Return the writes at the given positions in the form of UnprocessedItems."""
    if not positions:
        return {}
    requests = [
        (name, write) for name, requests_of_table in request["RequestItems"].items() for write in requests_of_table
    ]
    unprocessed: dict[str, list[dict[str, Any]]] = {}
    for number in positions:
        name, write = requests[number]
        unprocessed.setdefault(name, []).append(write)
    return unprocessed
