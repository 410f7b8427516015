"""Scan: shape and rules of its request."""

from __future__ import annotations

from typing import Any

from keyplan import limits
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import Integer, Layer, Structure
from keyplan.engine.requests import members, rules
from keyplan.errors import ValidationError

SHAPE = Structure(
    "ScanInput",
    {
        "TableName": members.TABLE_NAME,
        "IndexName": members.INDEX_NAME,
        # Before AttributesToGet: the two meet in one place of the order of faults (see shapes.order).
        "Limit": Integer(min=1),
        "AttributesToGet": members.ATTRIBUTES_TO_GET,
        "Select": members.SELECT,
        "ScanFilter": members.CONDITIONS,
        "ConditionalOperator": members.CONDITIONAL_OPERATOR,
        "ExclusiveStartKey": members.KEY,
        "ReturnConsumedCapacity": members.RETURN_CONSUMED_CAPACITY,
        "TotalSegments": Integer(min=1, max=limits.SCAN_SEGMENTS),
        "Segment": Integer(min=0, max=limits.SCAN_SEGMENTS - 1),
        "ProjectionExpression": members.TEXT,
        "FilterExpression": members.TEXT,
        "ExpressionAttributeNames": members.NAMES,
        "ExpressionAttributeValues": members.VALUES,
        "ConsistentRead": members.FLAG,
    },
    required=("TableName",),
    layer=Layer.FRONT,
    alone=("ConditionalOperator",),
)

_EXPRESSIONS = ("ProjectionExpression", "FilterExpression")


def check(request: dict[str, Any]) -> None:
    """Rules between members, before any value is looked at. Raises ValidationError."""
    given = rules.check_mixture(request, _EXPRESSIONS, ("AttributesToGet", "ScanFilter", "ConditionalOperator"))
    rules.check_placeholders_wanted(request, given, value_expressions=("FilterExpression",))
    rules.check_select(request)
    rules.check_attributes_to_get(request)
    rules.check_conditional_operator(request, "ScanFilter")


def check_late(request: dict[str, Any]) -> None:
    """Rules that the service looks at after the values of filter and start key."""
    _check_segments(request.get("Segment"), request.get("TotalSegments"))
    rules.check_placeholders(request)


def _check_segments(segment: int | None, total: int | None) -> None:
    if segment is not None and total is None:
        raise ValidationError(messages.TOTAL_SEGMENTS_MISSING)
    if total is not None and segment is None:
        raise ValidationError(messages.SEGMENT_MISSING)
    if segment is not None and total is not None and segment >= total:
        raise ValidationError(messages.SEGMENT_TOO_LARGE)
