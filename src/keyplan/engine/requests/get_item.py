"""GetItem: shape and rules of its request."""

from __future__ import annotations

from typing import Any

from keyplan.dynamodb.shapes.model import Layer, Structure
from keyplan.engine.requests import members, rules

SHAPE = Structure(
    "GetItemInput",
    {
        "TableName": members.TABLE_NAME,
        "Key": members.KEY,
        "AttributesToGet": members.ATTRIBUTES_TO_GET,
        "ConsistentRead": members.FLAG,
        "ReturnConsumedCapacity": members.RETURN_CONSUMED_CAPACITY,
        "ProjectionExpression": members.TEXT,
        "ExpressionAttributeNames": members.NAMES,
    },
    required=("TableName", "Key"),
    layer=Layer.FRONT,
)

_EXPRESSIONS = ("ProjectionExpression",)
_WITHOUT_RULES = frozenset(("TableName", "Key", "ConsistentRead", "ReturnConsumedCapacity"))


def is_plain(request: dict[str, Any]) -> bool:
    """Whether no rule between members is about this request."""
    return request.keys() <= _WITHOUT_RULES


def check(request: dict[str, Any]) -> None:
    """Rules that come before the key's values. Raises ValidationError."""
    given = rules.check_mixture(request, _EXPRESSIONS, ("AttributesToGet",))
    rules.check_placeholders_wanted(request, given, value_expressions=())


def check_late(request: dict[str, Any]) -> None:
    """Rules that come after them, and before the projection. Raises ValidationError."""
    rules.check_attributes_to_get(request)
    rules.check_placeholders(request)
