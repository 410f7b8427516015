"""Query: shape and rules of its request."""

from __future__ import annotations

from typing import Any

from keyplan.dynamodb.messages import expressions as expression_messages
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import Integer, Layer, Structure
from keyplan.engine.requests import members, rules
from keyplan.errors import ValidationError

SHAPE = Structure(
    "QueryInput",
    {
        "TableName": members.TABLE_NAME,
        "IndexName": members.INDEX_NAME,
        "Select": members.SELECT,
        "AttributesToGet": members.ATTRIBUTES_TO_GET,
        "Limit": Integer(min=1),
        "ConsistentRead": members.FLAG,
        "KeyConditions": members.CONDITIONS,
        "QueryFilter": members.CONDITIONS,
        "ConditionalOperator": members.CONDITIONAL_OPERATOR,
        "ScanIndexForward": members.FLAG,
        "ExclusiveStartKey": members.KEY,
        "ReturnConsumedCapacity": members.RETURN_CONSUMED_CAPACITY,
        "ProjectionExpression": members.TEXT,
        "FilterExpression": members.TEXT,
        "KeyConditionExpression": members.TEXT,
        "ExpressionAttributeNames": members.NAMES,
        "ExpressionAttributeValues": members.VALUES,
    },
    required=("TableName",),
    layer=Layer.FRONT,
    alone=("ConditionalOperator",),
)

EXPRESSIONS = ("ProjectionExpression", "FilterExpression", "KeyConditionExpression")
VALUE_EXPRESSIONS = ("FilterExpression", "KeyConditionExpression")
_MOST_KEY_CONDITIONS = 2


def check(request: dict[str, Any]) -> None:
    """Rules between members, before any value is looked at. Raises ValidationError."""
    given = rules.check_mixture(request, EXPRESSIONS, _replaced(request))
    rules.check_placeholders_wanted(request, given, value_expressions=VALUE_EXPRESSIONS)
    rules.check_select(request)
    rules.check_conditional_operator(request, "QueryFilter")


def check_late(request: dict[str, Any]) -> None:
    """Rules that the service looks at after the values of filter and start key."""
    if request.get("KeyConditions") is None and request.get("KeyConditionExpression") is None:
        raise ValidationError(messages.NO_KEY_CONDITION)
    if request.get("KeyConditions") == {}:
        raise ValidationError(expression_messages.KEY_CONDITION_COUNT)
    rules.check_placeholders(request)


def _replaced(request: dict[str, Any]) -> tuple[str, ...]:
    """Parameters that expressions replaced; KeyConditions may stand beside a FilterExpression."""
    replaced = ("AttributesToGet", "QueryFilter", "ConditionalOperator")
    return (*replaced, "KeyConditions") if request.get("KeyConditionExpression") is not None else replaced


def check_key_conditions(request: dict[str, Any]) -> None:
    """Refuse too many KeyConditions; each for itself has been looked at."""
    # An index may have several key attributes per role; how many it has is known later.
    if len(request["KeyConditions"]) > _MOST_KEY_CONDITIONS and request.get("IndexName") is None:
        raise ValidationError(expression_messages.KEY_CONDITION_COUNT)
