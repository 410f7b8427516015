"""TransactGetItems: shape and rules of its request."""

from __future__ import annotations

from typing import Any

from keyplan import limits
from keyplan.dynamodb.shapes.model import Layer, List, Structure
from keyplan.engine.requests import members, rules

_GET = Structure(
    "Get",
    {
        "Key": members.KEY,
        "TableName": members.TABLE_NAME,
        "ProjectionExpression": members.TEXT,
        "ExpressionAttributeNames": members.NAMES,
    },
    required=("Key", "TableName"),
)

SHAPE = Structure(
    "TransactGetItemsInput",
    {
        "TransactItems": List(
            Structure("TransactGetItem", {"Get": _GET}, required=("Get",)), min=1, max=limits.TRANSACTION_ACTIONS
        ),
        "ReturnConsumedCapacity": members.RETURN_CONSUMED_CAPACITY,
    },
    required=("TransactItems",),
    layer=Layer.FRONT,
)


def check_action(get: dict[str, Any]) -> None:
    """Rules of the members of one Get, checked in the order of the request; names may stand without a projection.

    Raises ValidationError.
    """
    rules.check_placeholders(get)
