"""ListStreams: shape of its request; it has no rules between members."""

from __future__ import annotations

from typing import Any

from keyplan.engine.requests import members, stream_members
from keyplan.engine.shapes.model import Structure

SHAPE = Structure(
    "ListStreamsInput",
    {
        "TableName": members.NEW_TABLE_NAME,
        "Limit": stream_members.LISTING_LIMIT,
        "ExclusiveStartStreamArn": stream_members.STREAM_ARN,
    },
)


def check(request: dict[str, Any]) -> None:
    """Nothing beyond the shape."""
