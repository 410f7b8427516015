"""DescribeStream: return a stream and its shards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.dynamodb.shapes.model import String, Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import shapes
from keyplan.engine.store.rows import StoreView
from keyplan.engine.streams import records, retention

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "DescribeStreamInput",
    {
        "StreamArn": shapes.STREAM_ARN,
        "Limit": shapes.LISTING_LIMIT,
        "ExclusiveStartShardId": shapes.SHARD_ID,
        # In the API reference, both members are optional, but the service rejects a filter without them.
        "ShardFilter": Structure(
            "ShardFilter",
            {"Type": String(enum=("CHILD_SHARDS",)), "ShardId": shapes.SHARD_ID},
            required=("Type", "ShardId"),
        ),
    },
    required=("StreamArn",),
)


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run DescribeStream: find the stream and return it with a page of its shards."""
    arn = request["StreamArn"]
    records.check_arn(arn)
    retention.trim_if_due(database, arn)
    with database.store.snapshot() as view:
        document = records.find_readable(view, arn, database.clock.now())
        shards = [_shard(view, document, shard) for shard in range(document["shards"])]
    description = {
        "StreamArn": arn,
        "StreamLabel": document["label"],
        "StreamStatus": "ENABLED" if document["ended_at"] is None else "DISABLED",
        "StreamViewType": document["view_type"],
        "CreationRequestDateTime": int(document["created_at"] * 1000) / 1000,
        "TableName": document["table"],
        "KeySchema": document["key_schema"],
    }
    _add_shards(description, shards, request)
    return {"StreamDescription": description}


def _add_shards(description: dict[str, Any], shards: list[dict[str, Any]], request: dict[str, Any]) -> None:
    if request.get("ShardFilter") is not None:
        shards = []  # a filter requests the children of a shard, but the engine never splits shards
    start = request.get("ExclusiveStartShardId") or ""
    limit = request.get("Limit") or limits.SHARD_LISTING
    later_shards = [shard for shard in shards if shard["ShardId"] > start]
    description["Shards"] = later_shards[:limit]
    if len(later_shards) > limit:
        description["LastEvaluatedShardId"] = later_shards[limit - 1]["ShardId"]


def _shard(view: StoreView, document: dict[str, Any], shard: int) -> dict[str, Any]:
    first = records.last_trimmed(document, shard) + 1
    sequences = {"StartingSequenceNumber": records.sequence_number(first)}
    if document["ended_at"] is not None:
        sequences["EndingSequenceNumber"] = records.sequence_number(
            max(first, records.last_sequence(view, document, shard))
        )
    return {"ShardId": records.shard_id(document, shard), "SequenceNumberRange": sequences}
