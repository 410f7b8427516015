"""PutItem: shape and rules of its request."""

from __future__ import annotations

from typing import Any

from keyplan.dynamodb.shapes.model import LATE_ITEM, Layer, Structure
from keyplan.engine.requests import members, writes

SHAPE = Structure(
    "PutItemInput",
    {"TableName": members.TABLE_NAME, "Item": LATE_ITEM, **members.REPLACING_WRITE},
    required=("TableName", "Item"),
    layer=Layer.ENVELOPED,
    hidden=2,
)


def is_plain(request: dict[str, Any]) -> bool:
    """Whether no rule between members is about this request."""
    return request.keys() <= writes.WITHOUT_RULES


def check(request: dict[str, Any]) -> None:
    """Rules that come before the item's values. Raises ValidationError."""
    writes.check_replacing(request)


def check_late(request: dict[str, Any]) -> None:
    """Rules that come after them, and before the condition. Raises ValidationError."""
    writes.check_replacing_late(request)
