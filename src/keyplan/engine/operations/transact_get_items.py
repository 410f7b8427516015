"""TransactGetItems: read up to 100 items, from one or more tables, in one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from keyplan import limits
from keyplan.dynamodb.expressions.compiled import CompiledProjection
from keyplan.dynamodb.messages import items as messages
from keyplan.dynamodb.shapes.model import Layer, List, Structure
from keyplan.dynamodb.values import encoding, units
from keyplan.dynamodb.values.attribute import normalise_item
from keyplan.dynamodb.values.encoding import Form
from keyplan.dynamodb.values.types import Item
from keyplan.engine.items import reads
from keyplan.engine.items.conditions import check_placeholder_maps
from keyplan.engine.items.receipts import Receipt, requested_names
from keyplan.engine.items.transactions import locate
from keyplan.engine.operations import shapes
from keyplan.engine.tables.catalog import Table
from keyplan.errors import ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


_GET = Structure(
    "Get",
    {
        "Key": shapes.KEY,
        "TableName": shapes.TABLE_NAME,
        "ProjectionExpression": shapes.TEXT,
        "ExpressionAttributeNames": shapes.NAMES,
    },
    required=("Key", "TableName"),
)

SHAPE = Structure(
    "TransactGetItemsInput",
    {
        "TransactItems": List(
            Structure("TransactGetItem", {"Get": _GET}, required=("Get",)), min=1, max=limits.TRANSACTION_ACTIONS
        ),
        "ReturnConsumedCapacity": shapes.RETURN_CONSUMED_CAPACITY,
    },
    required=("TransactItems",),
    layer=Layer.FRONT,
)


def check_action(get: dict[str, Any]) -> None:
    """Raise ValidationError if a Get of a TransactGetItems request has invalid name placeholders.

    Unlike in GetItem, name placeholders are allowed without a projection.
    """
    check_placeholder_maps(get)


class _Get(NamedTuple):
    """One Get of a TransactGetItems request, after all checks that do not depend on the table."""

    table: str
    key: Item
    projection: CompiledProjection | None

    def locate(self, table: Table) -> bytes:
        """Return the stored form of the key. Raises ValidationError if the key or projection is invalid for
        the table.
        """
        reads.check_scalar_keys(table, self.projection)
        return table.key.of_key(self.key)


class TransactionRead(NamedTuple):
    """An item to read in a transaction: the table's name as given in the request, the table, the item's stored key, and
    the projection. A projection of None returns all attributes.
    """

    name: str
    table: Table
    key: bytes
    project: Callable[[Item], Item] | None


def run(database: Database, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run TransactGetItems: check the request, find the tables, and return the items as of one point in time."""
    gets = [_prepare(element["Get"], form) for element in request["TransactItems"]]
    tables = [database.table(get.table) for get in gets]
    keys = locate(list(zip(tables, gets, strict=True)))
    item_reads = [
        TransactionRead(get.table, table, key, None if get.projection is None else get.projection.apply)
        for get, table, key in zip(gets, tables, keys, strict=True)
    ]
    return read_in_snapshot(database, item_reads, request.get("ReturnConsumedCapacity") or "NONE", form)


def read_in_snapshot(
    database: Database, item_reads: Sequence[TransactionRead], detail: str, form: Form
) -> dict[str, Any]:
    """Read the items as of one point in time and return the response.

    `detail` is the value of ReturnConsumedCapacity. Raises ValidationError if the total size of the items exceeds 4 MB.
    """
    with database.snapshot() as view:
        rows = [view.point(read.table.tree, read.key) for read in item_reads]
    total = sum(row[0] for row in rows if row is not None)
    if total > limits.TRANSACTION_BYTES:
        raise ValidationError(messages.payload_too_large(total))
    response: dict[str, Any] = {
        "Responses": [_response(read, row, form) for read, row in zip(item_reads, rows, strict=True)]
    }
    if detail != "NONE":
        receipts: dict[str, Receipt] = {}
        for read, row in zip(item_reads, rows, strict=True):
            receipt = receipts.setdefault(read.table.name, Receipt())
            receipt.table_units += units.transactional_read_units(row[0] if row else 0)
        names = requested_names(read.name for read in item_reads)
        response["ConsumedCapacity"] = [
            receipt.render(detail, names[name], "Read") for name, receipt in receipts.items()
        ]
    return response


def _prepare(get: dict[str, Any], form: Form) -> _Get:
    check_action(get)
    key, _ = normalise_item(get["Key"], wire=form.wire)
    return _Get(get["TableName"], key, reads.compile_single_read_projection(get))


def _response(read: TransactionRead, row: tuple[int, bytes] | None, form: Form) -> dict[str, Any]:
    """Return the part of the TransactGetItems response for one item, given its size and stored body in `row`.

    The result does not contain the member Item if the item does not exist or has none of the projected attributes.
    """
    if row is None:
        return {}
    if read.project is None:
        return {"Item": form.from_body(row[1])}
    projected = read.project(encoding.decode(row[1]))
    return {"Item": form.item(projected)} if projected else {}
