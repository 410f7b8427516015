"""TransactWriteItems: shape and rules of its request.

The service checks the actions one at a time, in the order of the request: the rules of one action, its
values and its expressions come before those of the next.
"""

from __future__ import annotations

from typing import Any

from keyplan import limits
from keyplan.engine.requests import members, rules
from keyplan.engine.shapes.model import ITEM, Layer, List, Shape, String, Structure
from keyplan.errors import ValidationError
from keyplan.messages import requests as messages

_COMMON: dict[str, Shape] = {
    "TableName": members.TABLE_NAME,
    "ConditionExpression": members.TEXT,
    "ExpressionAttributeNames": members.NAMES,
    "ExpressionAttributeValues": members.VALUES,
    "ReturnValuesOnConditionCheckFailure": members.RETURN_ON_CONDITION_FAILURE,
}
ACTIONS = ("ConditionCheck", "Put", "Delete", "Update")

_ACTION = Structure(
    "TransactWriteItem",
    {
        "ConditionCheck": Structure(
            "ConditionCheck",
            {"Key": members.KEY, **_COMMON},
            required=("Key", "TableName", "ConditionExpression"),
        ),
        "Put": Structure("Put", {"Item": ITEM, **_COMMON}, required=("Item", "TableName")),
        "Delete": Structure("Delete", {"Key": members.KEY, **_COMMON}, required=("Key", "TableName")),
        "Update": Structure(
            "Update",
            {"Key": members.KEY, "UpdateExpression": members.TEXT, **_COMMON},
            required=("Key", "UpdateExpression", "TableName"),
        ),
    },
)

SHAPE = Structure(
    "TransactWriteItemsInput",
    {
        # The token comes first: it alone is named where the list is too long as well.
        "ClientRequestToken": String(min=1, max=36),
        "TransactItems": List(_ACTION, min=1, max=limits.TRANSACTION_ACTIONS),
        "ReturnConsumedCapacity": members.RETURN_CONSUMED_CAPACITY,
        "ReturnItemCollectionMetrics": members.RETURN_ITEM_COLLECTION_METRICS,
    },
    required=("TransactItems",),
    layer=Layer.FRONT,
)


def check(request: dict[str, Any]) -> None:
    """Each element holds one action. Raises ValidationError."""
    for element in request["TransactItems"]:
        if sum(element.get(kind) is not None for kind in ACTIONS) != 1:
            raise ValidationError(messages.SEVERAL_ACTIONS_IN_ONE)


def check_action(action: dict[str, Any]) -> None:
    """Rules of the members of one action. Raises ValidationError.

    Unlike in requests of one item, placeholders may stand where no expression could use them.
    """
    rules.check_placeholders(action)


def action_of(element: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The kind of the one action that an element holds, and its members."""
    return next((kind, element[kind]) for kind in ACTIONS if element.get(kind) is not None)
