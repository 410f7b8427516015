"""PutItem: create an item or replace the whole item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.shapes import late_check
from keyplan.dynamodb.shapes.model import LATE_ITEM, Layer, Structure
from keyplan.dynamodb.values import units
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.items import actions, versions, writes
from keyplan.engine.items.conditions import write_guard
from keyplan.engine.items.receipts import Receipt
from keyplan.engine.operations import rules, shapes
from keyplan.engine.operations.answers import collection_metrics, prefix_errors
from keyplan.engine.store.rows import Transaction

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "PutItemInput",
    {"TableName": shapes.TABLE_NAME, "Item": LATE_ITEM, **shapes.REPLACING_WRITE},
    required=("TableName", "Item"),
    layer=Layer.ENVELOPED,
    hidden=2,
)


def is_plain(request: dict[str, Any]) -> bool:
    """Return True if a PutItem request has no parameters that depend on other parameters. `check` can then
    be skipped.
    """
    return request.keys() <= rules.WITHOUT_RULES


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError if a PutItem request contains parameters that cannot be combined.

    DynamoDB performs this check before it checks the item's values.
    """
    rules.check_replacing(request)


def check_late(request: dict[str, Any]) -> None:
    """Raise ValidationError if a PutItem request has invalid ReturnValues, legacy conditions or placeholders.

    DynamoDB performs this check after it has checked the item's values and before it checks the condition expression.
    """
    rules.check_replacing_late(request)


def run(database: Database, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run PutItem: check the request, find the table, and write the item in one transaction."""
    action = prepare(request, form)
    guard, new = action
    table = database.table(request["TableName"])
    key = action.locate(table)
    returns_old = request.get("ReturnValues") == "ALL_OLD"
    detail = request.get("ReturnConsumedCapacity") or "NONE"
    needs_old = guard is not None or returns_old or detail != "NONE" or not table.blind
    if not needs_old:
        database.put(table, key, new)
        return {}
    receipt = Receipt() if detail != "NONE" else None
    on_failure = request.get("ReturnValuesOnConditionCheckFailure")

    def put_item(transaction: Transaction) -> versions.Version | None:
        old = versions.load(transaction, table, key)
        if receipt is not None:
            receipt.table_units = units.write_units(max(new.size, old.size if old else 0))
        if guard is not None:
            guard.require(old.item if old is not None else None, form, on_failure)
        writes.apply(database, transaction, table, key, old=old, new=new, receipt=receipt)
        return old

    old = database.write(table, put_item)
    response: dict[str, Any] = {}
    if returns_old and old is not None:
        response["Attributes"] = form.from_body(old.body)
    if receipt is not None:
        response["ConsumedCapacity"] = receipt.render(detail, request["TableName"])
    if request.get("ReturnItemCollectionMetrics") == "SIZE":
        response.update(collection_metrics(database, table, key, new.item, form))
    return response


@late_check(SHAPE)
@prefix_errors
def prepare(request: dict[str, Any], form: Form) -> actions.ItemPut:
    """Run the checks of a PutItem request that do not depend on the table, and return the put action.

    The values are checked first, then the size of the item, and then the condition.
    """
    if is_plain(request):
        return actions.put(request, form)
    check(request)
    new = versions.from_item(request["Item"], wire=form.wire)
    check_late(request)
    return actions.ItemPut(write_guard(request, form), new)
