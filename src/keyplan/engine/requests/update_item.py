"""UpdateItem: shape and rules of its request."""

from __future__ import annotations

from typing import Any

from keyplan.dynamodb.shapes.model import LATE_ITEM, VALUE, Layer, Map, String, Structure
from keyplan.engine.requests import members, writes

_UPDATE = Structure("AttributeValueUpdate", {"Value": VALUE, "Action": String(enum=("ADD", "DELETE", "PUT"))})

SHAPE = Structure(
    "UpdateItemInput",
    {
        "TableName": members.TABLE_NAME,
        "Key": LATE_ITEM,
        "AttributeUpdates": Map(_UPDATE),
        "Expected": members.EXPECTED,
        "ConditionalOperator": members.CONDITIONAL_OPERATOR,
        "ReturnValues": members.RETURN_VALUES,
        "ReturnConsumedCapacity": members.RETURN_CONSUMED_CAPACITY,
        "ReturnItemCollectionMetrics": members.RETURN_ITEM_COLLECTION_METRICS,
        "UpdateExpression": members.TEXT,
        "ConditionExpression": members.TEXT,
        "ExpressionAttributeNames": members.NAMES,
        "ExpressionAttributeValues": LATE_ITEM,
        "ReturnValuesOnConditionCheckFailure": members.RETURN_ON_CONDITION_FAILURE,
    },
    required=("TableName", "Key"),
    layer=Layer.ENVELOPED,
    alone=("ReturnValues", "ConditionalOperator"),
)


def check(request: dict[str, Any]) -> None:
    """Rules that come before the key's values. Raises ValidationError."""
    writes.check_updating(request)


def check_late(request: dict[str, Any]) -> None:
    """Rules that come after them, and before the expressions. Raises ValidationError."""
    writes.check_conditions(request)
