"""What the service says of streams, their shards and iterators."""

from __future__ import annotations

INVALID_ARN = "Invalid StreamArn"
INVALID_ITERATOR = "Invalid ShardIterator"
INVALID_SEQUENCE_NUMBER = "Invalid SequenceNumber"
SHARD_NOT_FOUND = "Requested resource not found: Shard does not exist"
SHARD_OF_ITERATOR_NOT_FOUND = "Invalid ShardId in ShardIterator"
TRIMMED = "The data you are trying to access has been trimmed"
ITERATOR_EXPIRED = "The shard iterator has expired. Shard iterators are only valid for 15 minutes"


def stream_not_found(arn: str) -> str:
    """A well-formed ARN of no stream that can be read."""
    return f"Requested resource not found: Stream: {arn} not found"
