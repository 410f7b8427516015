"""TransactWriteItems: shape and rules of its request.

The service checks the actions one at a time, in the order of the request: the rules of one action, its
values and its expressions come before those of the next.
"""

from __future__ import annotations

from typing import Any

from keyplan import limits
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import LATE_ITEM, Layer, List, Shape, Structure
from keyplan.engine.requests import members, rules
from keyplan.errors import ValidationError

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
            {"Key": LATE_ITEM, **_COMMON},
            required=("Key", "TableName", "ConditionExpression"),
        ),
        "Put": Structure("Put", {"Item": LATE_ITEM, **_COMMON}, required=("Item", "TableName")),
        "Delete": Structure("Delete", {"Key": LATE_ITEM, **_COMMON}, required=("Key", "TableName")),
        "Update": Structure(
            "Update",
            {"Key": LATE_ITEM, "UpdateExpression": members.TEXT, **_COMMON},
            required=("Key", "UpdateExpression", "TableName"),
        ),
    },
)

SHAPE = Structure(
    "TransactWriteItemsInput",
    {
        # The token comes first: it alone is named where the list is too long as well.
        "ClientRequestToken": members.CLIENT_REQUEST_TOKEN,
        "TransactItems": List(_ACTION, min=1, max=limits.TRANSACTION_ACTIONS),
        "ReturnConsumedCapacity": members.RETURN_CONSUMED_CAPACITY,
        "ReturnItemCollectionMetrics": members.RETURN_ITEM_COLLECTION_METRICS,
    },
    required=("TransactItems",),
    layer=Layer.FRONT,
)


def actions_of(request: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The action of each element: its kind and its members. Raises ValidationError unless it holds exactly one."""
    found = []
    for element in request["TransactItems"]:
        actions = [(kind, element[kind]) for kind in ACTIONS if kind in element and element[kind] is not None]
        if len(actions) != 1:
            raise ValidationError(messages.SEVERAL_ACTIONS_IN_ONE)
        found += actions
    return found


def check_action(action: dict[str, Any]) -> None:
    """Rules of the members of one action. Raises ValidationError.

    Unlike in requests of one item, placeholders may stand where no expression could use them.
    """
    rules.check_placeholders(action)
