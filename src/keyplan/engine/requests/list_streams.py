"""ListStreams: shape of its request."""

from __future__ import annotations

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
