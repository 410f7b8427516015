"""DescribeStream: shape of its request."""

from __future__ import annotations

from keyplan.dynamodb.shapes.model import String, Structure
from keyplan.engine.requests import stream_members

SHAPE = Structure(
    "DescribeStreamInput",
    {
        "StreamArn": stream_members.STREAM_ARN,
        "Limit": stream_members.LISTING_LIMIT,
        "ExclusiveStartShardId": stream_members.SHARD_ID,
        # The API reference calls neither member required; the service refuses a filter without one of them.
        "ShardFilter": Structure(
            "ShardFilter",
            {"Type": String(enum=("CHILD_SHARDS",)), "ShardId": stream_members.SHARD_ID},
            required=("Type", "ShardId"),
        ),
    },
    required=("StreamArn",),
)
