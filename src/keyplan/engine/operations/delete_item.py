"""DeleteItem: delete one item by key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.shapes import late_check
from keyplan.dynamodb.shapes.model import LATE_ITEM, Layer, Structure
from keyplan.dynamodb.values import units
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.items import actions, versions, writes
from keyplan.engine.items.receipts import Receipt
from keyplan.engine.operations import rules, shapes
from keyplan.engine.operations.answers import collection_metrics, prefix_errors
from keyplan.engine.store.rows import Transaction

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "DeleteItemInput",
    {"TableName": shapes.TABLE_NAME, "Key": LATE_ITEM, **shapes.REPLACING_WRITE},
    required=("TableName", "Key"),
    layer=Layer.ENVELOPED,
    hidden=2,
)


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError if a DeleteItem request contains parameters that are invalid or cannot be combined."""
    if request.keys() <= rules.WITHOUT_RULES:
        return
    rules.check_replacing(request)
    rules.check_replacing_late(request)


def run(database: Database, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run DeleteItem: check the request, find the table, and delete the item in one transaction."""
    action = prepare(request, form)
    guard = action.guard
    table = database.table(request["TableName"])
    key = action.locate(table)
    detail = request.get("ReturnConsumedCapacity") or "NONE"
    receipt = Receipt() if detail != "NONE" else None
    on_failure = request.get("ReturnValuesOnConditionCheckFailure")

    def delete_item(transaction: Transaction) -> versions.Version | None:
        old = versions.load(transaction, table, key)
        if receipt is not None:
            receipt.table_units = units.write_units(old.size if old else 0)
        if guard is not None:
            guard.require(old.item if old is not None else None, form, on_failure)
        writes.apply(database, transaction, table, key, old=old, new=None, receipt=receipt)
        return old

    old = database.write(table, delete_item)
    response: dict[str, Any] = {}
    if request.get("ReturnValues") == "ALL_OLD" and old is not None:
        response["Attributes"] = form.from_body(old.body)
    if receipt is not None:
        response["ConsumedCapacity"] = receipt.render(detail, request["TableName"])
    if request.get("ReturnItemCollectionMetrics") == "SIZE":
        response.update(collection_metrics(database, table, key, action.key, form))
    return response


@late_check(SHAPE)
@prefix_errors
def prepare(request: dict[str, Any], form: Form) -> actions.ItemDelete:
    """Run the checks of a DeleteItem request that do not depend on the table, and return the delete action.

    The condition is checked before the key values.
    """
    check(request)
    return actions.delete(request, form)
