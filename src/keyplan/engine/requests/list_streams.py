"""ListStreams: shape of its request."""

from __future__ import annotations

from keyplan.dynamodb.shapes.model import Structure
from keyplan.engine.requests import members, stream_members

SHAPE = Structure(
    "ListStreamsInput",
    {
        "TableName": members.NEW_TABLE_NAME,
        "Limit": stream_members.LISTING_LIMIT,
        "ExclusiveStartStreamArn": stream_members.STREAM_ARN,
    },
)
