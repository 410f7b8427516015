"""DeleteItem: shape and rules of its request."""

from __future__ import annotations

from typing import Any

from keyplan.dynamodb.shapes.model import LATE_ITEM, Layer, Structure
from keyplan.engine.requests import members, writes

SHAPE = Structure(
    "DeleteItemInput",
    {"TableName": members.TABLE_NAME, "Key": LATE_ITEM, **members.REPLACING_WRITE},
    required=("TableName", "Key"),
    layer=Layer.ENVELOPED,
    hidden=2,
)


def check(request: dict[str, Any]) -> None:
    """Rules between members. Raises ValidationError."""
    if request.keys() <= writes.WITHOUT_RULES:
        return
    writes.check_replacing(request)
    writes.check_replacing_late(request)
