"""BatchGetItem: shape and rules of its request."""

from __future__ import annotations

from typing import Any

from keyplan import limits
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import Layer, List, Map, Structure
from keyplan.engine.requests import members, rules
from keyplan.errors import ValidationError

_KEYS_AND_ATTRIBUTES = Structure(
    "KeysAndAttributes",
    {
        "Keys": List(members.KEY, min=1, max=limits.BATCH_GET_KEYS),
        "AttributesToGet": members.ATTRIBUTES_TO_GET,
        "ConsistentRead": members.FLAG,
        "ProjectionExpression": members.TEXT,
        "ExpressionAttributeNames": members.NAMES,
    },
    required=("Keys",),
)

SHAPE = Structure(
    "BatchGetItemInput",
    {
        "RequestItems": Map(
            _KEYS_AND_ATTRIBUTES,
            min=1,
            max=limits.BATCH_GET_KEYS,
            keys=members.MAP_TABLE_NAME,
            json_echo=True,
        ),
        "ReturnConsumedCapacity": members.RETURN_CONSUMED_CAPACITY,
    },
    required=("RequestItems",),
    layer=Layer.FRONT,
)

_EXPRESSIONS = ("ProjectionExpression",)
_REPLACED = ("AttributesToGet",)


def check(request: dict[str, Any]) -> None:
    """Rules between members, of each table and then over all tables. Raises ValidationError."""
    keys = 0
    for block in request["RequestItems"].values():
        given = rules.check_mixture(block, _EXPRESSIONS, _REPLACED)
        rules.check_placeholders_wanted(block, given, value_expressions=())
        rules.check_attributes_to_get(block)
        rules.check_placeholders(block)
        keys += len(block["Keys"])
    if keys > limits.BATCH_GET_KEYS:
        raise ValidationError(messages.too_many_items("BatchGetItem"))
    _check_one_style(request["RequestItems"].values())


def _check_one_style(blocks: Any) -> None:
    """An expression for one table and names for another do not go together either."""
    used = [name for name in (*_EXPRESSIONS, *_REPLACED) if any(block.get(name) is not None for block in blocks)]
    if len(used) > 1:
        raise ValidationError(messages.mixed_parameters(_REPLACED, _EXPRESSIONS))
