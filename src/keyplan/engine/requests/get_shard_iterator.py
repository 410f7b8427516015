"""GetShardIterator: shape and rules of its request."""

from __future__ import annotations

from typing import Any

from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import String, Structure, Timestamp
from keyplan.engine.requests import stream_members
from keyplan.errors import ValidationError

SHAPE = Structure(
    "GetShardIteratorInput",
    {
        "StreamArn": stream_members.STREAM_ARN,
        "ShardId": stream_members.SHARD_ID,
        "ShardIteratorType": String(
            enum=("TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "AT_TIMESTAMP")
        ),
        "SequenceNumber": stream_members.SEQUENCE_NUMBER,
        "Timestamp": Timestamp(),
    },
    required=("StreamArn", "ShardId", "ShardIteratorType"),
)

_START = {
    "AT_SEQUENCE_NUMBER": "SequenceNumber",
    "AFTER_SEQUENCE_NUMBER": "SequenceNumber",
    "AT_TIMESTAMP": "Timestamp",
}


def check(request: dict[str, Any]) -> None:
    """The place to start at is given exactly where the type needs one. Raises ValidationError."""
    kind = request["ShardIteratorType"]
    needed = _START.get(kind)
    for member in ("SequenceNumber", "Timestamp"):
        given = request.get(member) is not None
        if member == needed and not given:
            raise ValidationError(messages.iterator_needs(member, kind))
        if member != needed and given:
            raise ValidationError(messages.iterator_takes_no(member, kind))
