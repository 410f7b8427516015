"""UpdateItem: change attributes of an item or create the item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.expressions.compiled import CompiledUpdate
from keyplan.dynamodb.shapes import late_check
from keyplan.dynamodb.shapes.model import LATE_ITEM, VALUE, Layer, Map, String, Structure
from keyplan.dynamodb.values import units
from keyplan.dynamodb.values.attribute import normalise_item
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.items import actions, versions, writes
from keyplan.engine.items.receipts import Receipt
from keyplan.engine.operations import rules, shapes
from keyplan.engine.operations.answers import collection_metrics, prefix_errors
from keyplan.engine.store.rows import Transaction

if TYPE_CHECKING:
    from keyplan.engine.database import Database


_UPDATE = Structure("AttributeValueUpdate", {"Value": VALUE, "Action": String(enum=("ADD", "DELETE", "PUT"))})

SHAPE = Structure(
    "UpdateItemInput",
    {
        "TableName": shapes.TABLE_NAME,
        "Key": LATE_ITEM,
        "AttributeUpdates": Map(_UPDATE),
        "Expected": shapes.EXPECTED,
        "ConditionalOperator": shapes.CONDITIONAL_OPERATOR,
        "ReturnValues": shapes.RETURN_VALUES,
        "ReturnConsumedCapacity": shapes.RETURN_CONSUMED_CAPACITY,
        "ReturnItemCollectionMetrics": shapes.RETURN_ITEM_COLLECTION_METRICS,
        "UpdateExpression": shapes.TEXT,
        "ConditionExpression": shapes.TEXT,
        "ExpressionAttributeNames": shapes.NAMES,
        "ExpressionAttributeValues": LATE_ITEM,
        "ReturnValuesOnConditionCheckFailure": shapes.RETURN_ON_CONDITION_FAILURE,
    },
    required=("TableName", "Key"),
    layer=Layer.ENVELOPED,
    exclusive_enums=("ReturnValues", "ConditionalOperator"),
)


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError if an UpdateItem request contains parameters that cannot be combined.

    DynamoDB performs this check before it checks the key values.
    """
    rules.check_updating(request)


def check_late(request: dict[str, Any]) -> None:
    """Raise ValidationError if an UpdateItem request has invalid legacy conditions or placeholders.

    DynamoDB performs this check after it has checked the key values and before it checks the expressions.
    """
    rules.check_conditions(request)


def run(database: Database, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run UpdateItem: check the request, find the table, and change the item in one transaction."""
    change = prepare(request, form)
    table = database.table(request["TableName"])
    key = change.locate(table)
    change.check_charge()
    detail = request.get("ReturnConsumedCapacity") or "NONE"
    receipt = Receipt() if detail != "NONE" else None
    on_failure = request.get("ReturnValuesOnConditionCheckFailure")

    def update_item(transaction: Transaction) -> tuple[versions.Version | None, versions.Version | None]:
        old = versions.load(transaction, table, key)
        if change.guard is not None:
            change.guard.require(old.item if old is not None else None, form, on_failure)
        new = change.outcome(table, old)
        if receipt is not None:
            receipt.table_units = units.write_units(max(new.size if new else 0, old.size if old else 0))
        writes.apply(database, transaction, table, key, old=old, new=new, receipt=receipt)
        return old, new

    old, new = database.write(table, update_item)
    response: dict[str, Any] = {}
    return_values = request.get("ReturnValues") or "NONE"
    if return_values != "NONE":
        version = old if return_values.endswith("OLD") else new
        if version is not None:
            response.update(_attributes(return_values, change.update, version, form))
    if receipt is not None:
        response["ConsumedCapacity"] = receipt.render(detail, request["TableName"])
    if request.get("ReturnItemCollectionMetrics") == "SIZE":
        response.update(collection_metrics(database, table, key, change.key, form))
    return response


@late_check(SHAPE)
@prefix_errors
def prepare(request: dict[str, Any], form: Form) -> actions.ItemUpdate:
    """Run the checks of an UpdateItem request that do not depend on the table, and return the update action.

    The key values are checked before the expressions.
    """
    check(request)
    measured_key = normalise_item(request["Key"], wire=form.wire)
    check_late(request)
    return actions.update_with_key(measured_key, request, form)


def _attributes(
    return_values: str, update: CompiledUpdate | None, version: versions.Version, form: Form
) -> dict[str, Any]:
    """Return a dict with the response member Attributes, which contains all attributes of an item version or only the
    updated attributes, depending on `return_values`.

    If only updated attributes are requested and the version has none of them, the dict is empty.
    """
    if return_values.startswith("ALL"):
        return {"Attributes": form.from_body(version.body)}
    updated = {} if update is None else update.updated(version.item)
    return {"Attributes": form.item(updated)} if updated else {}
